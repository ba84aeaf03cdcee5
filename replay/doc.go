// Package replay records what clients and servers say to each other, and plays the clients' part again to other servers.
//
// A Recorder is a proxy in front of a name server and the brokers that its routes name, or of one server alone. It writes every frame of
// both directions to a recording. A Player reads one, sends what the clients sent, waits for the answers where the recording has them,
// and compares: code, fields, and bodies by what they mean. So two releases, or two implementations, are compared on traffic of real
// clients.
//
// # Recording
//
// A recording is text, one JSON object (Event) in each line, in the order in which the proxy saw them. The first line says what it is
// (Header). A frame is in base64, its length field included. What the servers sent is recorded as they sent it, before the proxy put its own
// addresses into routes.
//
//	{"recording":"rocketd","version":1,"began":"2030-01-02T15:04:05Z"}
//	{"ms":0,"conn":1,"what":"open","server":"namesrv"}
//	{"ms":1,"conn":1,"what":"sent","frame":"AAAA…"}       by the client
//	{"ms":2,"conn":1,"what":"got","frame":"AAAA…"}        by the client, of the server
//	{"ms":9,"conn":1,"what":"close"}
//
// # What is carried over
//
// A client repeats what a server told it: message ids, physical offsets, pop handles. Where the recorded server and the one played to told
// different ones, the Player puts the latter's into the requests that follow (carry.go). Everything else is sent byte for byte.
//
// What no two runs have in common is not compared: times, addresses, ids that servers make (compare.go has the list).
package replay
