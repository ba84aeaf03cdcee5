// Command benchstore measures the store: appending, dispatch, pulls, recovery after kills, restarts, stops, the outage that a real
// client sees, and memory with many queues. Beside them stand the machine's limits, measured in the same run: plain sequential writes
// of the same bytes, memory copy, fsync. It prints tables in Markdown.
//
// Appends and pulls call package store in this process; starts and stops are those of the real binary, killed with SIGKILL.
package main
