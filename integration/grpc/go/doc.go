// Stories of the Go gRPC client (github.com/apache/rocketmq-clients/golang) against a proxy and the broker behind it: ENDPOINT PREFIX
// [story ...]. For each it prints one line RESULT, name, OK or FAIL, reason and facts, separated by tabs. Topics and groups are there
// before: PREFIX_STORY_KIND and G_PREFIX_STORY. The environment's EXACT=true asks for what rocketd promises beyond Apache.
//
// A module of its own: the product has nothing of gRPC.
package main
