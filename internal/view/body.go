package view

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"encoding/json"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/rocketd/rocketd/message"
)

// maxInflated bounds what is unpacked of a compressed body, bytes.
const maxInflated = 8 << 20

// Body is the body of a message, for reading.
type Body struct {
	Bytes       int    `json:"bytes"`  // as it was sent, unpacked
	Format      string `json:"format"` // json, text or hex: what Text is
	Text        string `json:"text"`
	Hex         string `json:"hex"`         // a dump of the first KiB
	Cut         bool   `json:"cut"`         // Text is only the beginning
	Compression string `json:"compression"` // zlib, lz4 or zstd; empty: none
	Problem     string `json:"problem"`     // why it cannot be unpacked
}

// DescribeBody describes a stored body: unpacked when sysFlag says that it is compressed, its text cut to shown bytes.
func DescribeBody(raw []byte, sysFlag int32, shown int) Body {
	var b Body
	if sysFlag&message.SysCompressed != 0 {
		var err error
		b.Compression, raw, err = unpack(raw, message.Compression(sysFlag))
		if err != nil {
			b.Problem = err.Error()
		}
	}
	b.Bytes = len(raw)
	b.Hex = hex.Dump(raw[:min(len(raw), shown, 1<<10)])
	head := raw
	if b.Cut = len(raw) > shown; b.Cut {
		head = raw[:shown]
		for len(head) > 0 && !utf8.RuneStart(raw[len(head)]) {
			head = head[:len(head)-1]
		}
	}
	switch {
	case !readable(head):
		b.Format, b.Text = "hex", hex.Dump(head[:min(len(head), 4<<10)])
	case !b.Cut && looksLikeJSON(head):
		b.Format = "text"
		b.Text = string(head)
		var text bytes.Buffer
		if json.Indent(&text, head, "", "  ") == nil {
			b.Format, b.Text = "json", text.String()
		}
	default:
		b.Format, b.Text = "text", string(head)
	}
	return b
}

func looksLikeJSON(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) > 1 && (t[0] == '{' || t[0] == '[')
}

// readable tells whether bytes are text that can be shown.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	return !bytes.ContainsFunc(b, func(r rune) bool {
		return r != '\n' && r != '\r' && r != '\t' && unicode.IsControl(r)
	})
}

// unpack inflates a body; when that fails it returns the body as it is.
func unpack(raw []byte, compression int32) (name string, body []byte, err error) {
	var r io.Reader
	switch compression {
	case message.CompressionLZ4:
		name, r = "lz4", lz4.NewReader(bytes.NewReader(raw))
	case message.CompressionZstd:
		d, derr := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxInflated), zstd.WithDecoderLowmem(true))
		if derr != nil {
			return "zstd", raw, derr
		}
		defer d.Close()
		name, r = "zstd", d
	default: // old clients set no type
		z, zerr := zlib.NewReader(bytes.NewReader(raw))
		if zerr != nil {
			return "zlib", raw, zerr
		}
		name, r = "zlib", z
	}
	body, err = io.ReadAll(io.LimitReader(r, maxInflated))
	if err != nil {
		return name, raw, err
	}
	return name, body, nil
}
