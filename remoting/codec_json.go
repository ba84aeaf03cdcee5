package remoting

import (
	"strconv"
	"unicode/utf8"
)

// appendJSONHeader writes a JSON header as the reference's encoder does: keys in alphabetical order, no blanks, null
// members left out.
func appendJSONHeader(dst []byte, c *Command) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(c.Code), 10)
	dst = appendExtFields(dst, c)
	dst = append(dst, `,"flag":`...)
	dst = strconv.AppendInt(dst, int64(c.Flag), 10)
	dst = append(dst, `,"language":"`...)
	dst = append(dst, c.Language.String()...)
	dst = append(dst, `","opaque":`...)
	dst = strconv.AppendInt(dst, int64(c.Opaque), 10)
	if c.Remark != "" {
		dst = append(dst, `,"remark":`...)
		dst = appendJSONString(dst, c.Remark)
	}
	dst = append(dst, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	dst = strconv.AppendInt(dst, int64(c.Version), 10)
	return append(dst, '}')
}

func appendExtFields(dst []byte, c *Command) []byte {
	const member = `,"extFields":{`
	before := len(dst)
	dst = append(dst, member...)
	f := &c.set
	f.op, f.out, f.pairs = encodeJSON, dst, 0
	if c.Header != nil {
		c.Header.fields(f)
	}
	for i := range c.Ext {
		if f.pairs > 0 {
			f.out = append(f.out, ',')
		}
		f.out = appendJSONString(f.out, c.Ext[i].Key)
		f.out = append(f.out, ':')
		f.out = appendJSONString(f.out, c.Ext[i].Value)
		f.pairs++
	}
	dst, f.out = f.out, nil
	if f.pairs == 0 {
		return dst[:before]
	}
	return append(dst, '}')
}

// appendJSONString writes s with the escapes that fastjson, fastjson2, encoding/json and jsoncpp read alike: quote,
// backslash and control characters; everything else as UTF-8. Bytes that are no UTF-8 become U+FFFD, as a JSON text
// cannot carry them.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	plain := plainPrefix(s)
	if plain == len(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	start := 0
	for i := plain; i < len(s); {
		b := s[i]
		if b >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
