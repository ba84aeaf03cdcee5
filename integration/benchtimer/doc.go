// Command benchtimer measures timers and delay levels of rocketd and Apache RocketMQ side by side: same machine, same disk, same client,
// one broker at a time. It prints one table in Markdown, with the target of each figure.
//
// Lateness is the moment at which the delivered message was stored, by the broker's clock, less the moment at which it was wanted; of delay
// levels it contains the time from the client to the broker, which nobody else notes.
//
// Stores lie in BENCH_DIR, or the system's temporary folder.
package main
