// Package docs runs what the documentation shows. Every fenced block of README.md and docs/*.md is found; what happens to it is said by an HTML
// comment on the line above it, or by its language:
//
//	sh                         run by bash -eu, in the page's directory, block after block
//	yaml                       read as a configuration of rocketd
//	json                       must be JSON
//	text, or no language       shown output, not run
//	<!-- serve -->             run in the background until it says ready: the page's own server from there on
//	<!-- file: NAME -->        written to a file of that name, for the blocks behind it
//	<!-- needs: A B -->        run when the tools are there, and only with DOCS_TEST=all
//	<!-- slow -->              run only with DOCS_TEST=all
//	<!-- PATH -->              part of this file of the tree, which is tested; brokertest compares them
//	<!-- not run: REASON -->   not run
//
// Anything else fails the test. Before a page's first command a rocketd is started for it. The ports 9876, 10911, 10909 and 10988 in blocks are
// replaced by free ones, and rocketd on the PATH is the one of this tree.
package docs
