// Package remoting is RocketMQ's remoting protocol: frames, commands in both header forms, header field lists,
// request and response codes, a server on gnet event loops and a client for the daemon's own calls.
//
// It knows nothing of topics, stores or handlers' business, and nothing of other transports: gnet appears in this
// package only, and the frame codec (AppendFrame, DecodeFrame, frameCutter) does not know gnet.
//
// # Frame
//
//	offset  size          name
//	0       4             length        bytes that follow this field: 4 + headerLength + bodyLength
//	4       1             serializeType 0 JSON, 1 ROCKETMQ
//	5       3             headerLength
//	8       headerLength  header
//	..      the rest      body          may be absent
//
// Integers are big-endian. A frame may be MaxFrame bytes long, its length field included.
//
// # ROCKETMQ header
//
//	size  name
//	2     code          low 16 bits; requestCode maps cut request codes back
//	1     language
//	2     version
//	4     opaque
//	4     flag          bit 0 response, bit 1 one-way
//	4+R   remark        length, UTF-8; length 0 is null
//	4     extLength     bytes of the pairs that follow
//	..    pairs         2-byte key length, key, 4-byte value length, value
//
// # Concurrency
//
// A connection belongs to one event loop. Handlers of lane OnLoop, EndTurn, OnOpen and OnClose run on that loop and must
// not block. Handlers of other lanes run on the lane's workers and own their request. Methods of Conn and Replier may be
// called from any goroutine unless they say otherwise. Every goroutine the server or client starts has ended when
// their Close returns without error.
package remoting
