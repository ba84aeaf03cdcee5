package message

// TagsHash is the tags code of a consume-queue entry: the sign-extended Java hash of the whole TAGS value, 0 for "".
func TagsHash(tags string) int64 { return int64(JavaHash(tags)) }

// JavaHash is String.hashCode of s: h*31 + unit over its UTF-16 units, with 32-bit overflow. Bytes that are not UTF-8 count as
// Java's decoder turns them into U+FFFD, since the reference hashes the decoded string.
func JavaHash(s string) int32 {
	var h int32
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			return javaHashWide(h, s[i:])
		}
		h = h*31 + int32(c)
	}
	return h
}

const replacement = 0xFFFD

func javaHashWide(h int32, s string) int32 {
	for len(s) > 0 {
		r, n := decodeJavaRune(s)
		s = s[n:]
		if r >= 0x10000 {
			r -= 0x10000
			h = h*31 + (0xD800 + r>>10)
			h = h*31 + (0xDC00 + r&0x3FF)
			continue
		}
		h = h*31 + r
	}
	return h
}

// decodeJavaRune takes one character off s, which is not empty, as new String(bytes, UTF_8) does. It differs from Go's
// decoder in how many bytes one U+FFFD stands for: an encoded surrogate is one, and so is a sequence cut off by the end.
func decodeJavaRune(s string) (r int32, size int) {
	b0 := s[0]
	switch {
	case b0 < 0x80:
		return int32(b0), 1
	case b0 >= 0xC2 && b0 <= 0xDF:
		return decodeJava2(s)
	case b0 >= 0xE0 && b0 <= 0xEF:
		return decodeJava3(s)
	case b0 >= 0xF0 && b0 <= 0xF4:
		return decodeJava4(s)
	}
	return replacement, 1
}

func decodeJava2(s string) (int32, int) {
	if len(s) < 2 || !continuation(s[1]) {
		return replacement, 1
	}
	return int32(s[0]&0x1F)<<6 | int32(s[1]&0x3F), 2
}

func decodeJava3(s string) (int32, int) {
	if len(s) < 2 || !continuation(s[1]) || s[0] == 0xE0 && s[1] < 0xA0 {
		return replacement, 1
	}
	if len(s) < 3 || !continuation(s[2]) {
		return replacement, 2
	}
	r := int32(s[0]&0x0F)<<12 | int32(s[1]&0x3F)<<6 | int32(s[2]&0x3F)
	if r >= 0xD800 && r <= 0xDFFF {
		return replacement, 3
	}
	return r, 3
}

func decodeJava4(s string) (int32, int) {
	if len(s) < 2 || !continuation(s[1]) || s[0] == 0xF0 && s[1] < 0x90 || s[0] == 0xF4 && s[1] > 0x8F {
		return replacement, 1
	}
	if len(s) < 3 || !continuation(s[2]) {
		return replacement, 2
	}
	if len(s) < 4 || !continuation(s[3]) {
		return replacement, 3
	}
	return int32(s[0]&0x07)<<18 | int32(s[1]&0x3F)<<12 | int32(s[2]&0x3F)<<6 | int32(s[3]&0x3F), 4
}

func continuation(b byte) bool { return b&0xC0 == 0x80 }
