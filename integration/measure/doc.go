// Package measure is what the commands that measure brokers share: a host for the helpers of package peer, requests and answers as bytes,
// figures of processes and files, quantiles and tables in Markdown.
package measure
