// Package admin is a client of the remoting protocol for administration: what a person or a script asks of name servers and brokers, ours
// or Apache's, answered with plain structs.
//
// Admin finds the brokers through the name server, asks the masters among them, side by side, and puts their answers together. The
// structs have the JSON names of the console's API (docs/openapi.yaml) where that has the same thing.
//
// # Errors
//
//	*Error         a server refused: request, code, remark, and what to do where that is known
//	*Unreachable   no answer from a server
//	*NotFound      the topic, group, message, client or key does not exist
//	*Usage         the question itself makes no sense
//
// # Concurrency
//
// An Admin is safe for concurrent use. Its requests run on the caller's goroutines and a few helpers that end before the call
// returns; Close ends the connections.
package admin
