package remoting

// AppendFrame appends cmd as one frame, its length field included.
func AppendFrame(dst []byte, cmd *Command) []byte { return dst }

// DecodeFrame reads one whole frame, its length field included.
func DecodeFrame(frame []byte, cmd *Command) error { return nil }

func appendPair(dst []byte, k, v string) []byte    { return dst }
func appendKey(dst []byte, k string) []byte        { return dst }
func appendJSONString(dst []byte, v string) []byte { return dst }
