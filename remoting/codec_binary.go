package remoting

import "encoding/binary"

const binaryFixed = 21 // all lengths zero

// appendBinaryHeader writes a ROCKETMQ header (RocketMQSerializable.rocketMQProtocolEncode).
func appendBinaryHeader(dst []byte, c *Command) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Code))
	dst = append(dst, byte(c.Language))
	dst = binary.BigEndian.AppendUint16(dst, uint16(c.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Opaque))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Flag))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Remark)))
	dst = append(dst, c.Remark...)
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if c.Header != nil {
		f := &c.set
		f.op, f.out, f.pairs = encodeBinary, dst, 0
		c.Header.fields(f)
		dst, f.out = f.out, nil
	}
	for i := range c.Ext {
		dst = appendPair(dst, c.Ext[i].Key, c.Ext[i].Value)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendPair(dst []byte, k, v string) []byte {
	dst = appendKey(dst, k)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(v)))
	return append(dst, v...)
}

// appendKey writes a key, which has a 16-bit length on the wire; what is beyond 32,767 bytes is cut.
func appendKey(dst []byte, k string) []byte {
	const maxKey = 1<<15 - 1
	if len(k) > maxKey {
		k = k[:maxKey]
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(k)))
	return append(dst, k...)
}

// decodeBinaryHeader reads a ROCKETMQ header (RocketMQSerializable.rocketMQProtocolDecode). Unlike the reference it
// does not let a pair run over the end of the ext fields, nor ext fields end before the header does.
func (c *Command) decodeBinaryHeader(b []byte) error {
	if len(b) < binaryFixed {
		return frameErrorf("ROCKETMQ header of %d bytes, shorter than its fixed %d", len(b), binaryFixed)
	}
	c.Code = int32(int16(binary.BigEndian.Uint16(b)))
	c.Language = languageOfCode(int64(int8(b[2])))
	c.Version = int32(int16(binary.BigEndian.Uint16(b[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(b[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(b[9:]))
	if !c.IsResponse() {
		c.Code = widenRequestCode(c.Code)
	}
	remark := int64(int32(binary.BigEndian.Uint32(b[13:])))
	b = b[17:]
	if remark < 0 || remark > int64(len(b)-4) {
		return frameErrorf("remark of %d bytes in a header that has %d left", remark, len(b)-4)
	}
	c.Remark = alias(b[:remark])
	b = b[remark:]
	ext := int64(int32(binary.BigEndian.Uint32(b)))
	b = b[4:]
	if ext != int64(len(b)) {
		return frameErrorf("ext fields of %d bytes in a header that has %d left", ext, len(b))
	}
	var seen keySet
	for len(b) > 0 {
		if len(b) < 2 {
			return frameErrorf("ext field cut off in its key length")
		}
		k := int(int16(binary.BigEndian.Uint16(b)))
		b = b[2:]
		if k < 0 || k+4 > len(b) {
			return frameErrorf("ext field key of %d bytes with %d left", k, len(b))
		}
		key := alias(b[:k])
		v := int64(int32(binary.BigEndian.Uint32(b[k:])))
		b = b[k+4:]
		if v < 0 || v > int64(len(b)) {
			return frameErrorf("ext field value of %d bytes with %d left", v, len(b))
		}
		if err := c.addDecoded(&seen, key, alias(b[:v])); err != nil {
			return err
		}
		b = b[v:]
	}
	c.set.unique = true
	return nil
}

// widenRequestCode maps request codes above 32,767, of which a ROCKETMQ header keeps the low 16 bits, back. The
// reference answers them REQUEST_CODE_NOT_SUPPORTED.
func widenRequestCode(code int32) int32 {
	const cutOff = 3 << 16
	switch wide := code + cutOff; {
	case wide >= PopMessage && wide <= PopRollback,
		wide >= PopLiteMessage && wide <= TriggerLiteDispatch,
		wide == BatchAckMessage:
		return wide
	}
	return code
}
