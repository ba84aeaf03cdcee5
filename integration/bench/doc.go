// Command bench measures rocketd and Apache RocketMQ side by side: same machine, same disk, same settings, the same load client,
// alternating, several rounds. The first figure of each row is the CPU time of the broker's process per million messages, since
// throughput on shared machines says little. A bare event-loop server that answers the same frames and stores nothing gives the limit.
//
// The load client (load.go) writes prebuilt frames and counts answers, so that it is not what is measured.
package main
