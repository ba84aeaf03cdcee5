// Command bench measures rocketd and Apache RocketMQ side by side: same machine, same disk, same settings, the same load client,
// alternating, several rounds. The first figure of each row is the CPU time of the broker's process per million messages, since
// throughput on shared machines says little. A bare event-loop server that answers the same frames and stores nothing gives the limit,
// and so does what the machine copies, writes and syncs in the same run.
//
// The load client (load.go) writes prebuilt frames and counts answers, so that it is not what is measured. Apache's own benchmark
// programs are a second client (rows_java.go).
//
// Stores lie in BENCH_DIR, or the system's temporary folder.
package main
