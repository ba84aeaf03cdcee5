// Package body holds the JSON bodies of the remoting protocol and of the reference's configuration files: one Go
// struct per reference class, its members listed once for both ways.
//
// # Writing
//
// Members are written in alphabetical order without blanks, null members are left out, maps are written in
// the order of their keys. Two things of the reference's JSON library (fastjson) are not JSON:
//
//	map with integer keys       {0:"a"}                        Encode quotes them: {"0":"a"}; EncodeBare does not
//	map with MessageQueue keys  {{"brokerName":"b",…}:1}       always written so: no client accepts another form
//
// All clients read quoted keys; the bare form is there for byte parity where the reference asks who the caller is.
//
// # Reading
//
// Decode takes everything fastjson 1 and fastjson 2 take: unquoted and single-quoted keys and strings, object keys
// (or their text in quotes), trailing and doubled commas, comments, numbers and booleans in quotes, numbers with a
// fraction or a type letter for integers, enum constants in any case or as ordinals, null anywhere. Unknown members are skipped, a
// member that is missing keeps the default of the reference's class. "$ref" members are skipped like unknown ones.
//
// Depth and the number of elements of one body are bounded. Nothing panics on any input. What Decode returns does not
// point into the input.
//
// The package knows nothing of frames and of stores, and has no state: all functions are safe for concurrent use.
package body
