package remoting

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

func newCutter(max int) *frameCutter { return &frameCutter{pool: new(bufferPool), max: max} }

// cutAll feeds stream in pieces and returns copies of the frames.
func cutAll(f *frameCutter, stream []byte, piece func(left int) int) (frames [][]byte, err error) {
	for len(stream) > 0 {
		in := bytes.Clone(stream[:piece(len(stream))])
		stream = stream[len(in):]
		for {
			frame, rest, err := f.next(in)
			if err != nil {
				return frames, err
			}
			if frame == nil {
				break
			}
			frames = append(frames, bytes.Clone(frame))
			in = rest
		}
		f.recycle()
		for i := range in {
			in[i] = 0xee // the input dies with its turn
		}
	}
	return frames, nil
}

func frameOf(size int, fill byte) []byte {
	b := bytes.Repeat([]byte{fill}, size)
	binary.BigEndian.PutUint32(b, uint32(size-4))
	return b
}

func TestCutterPieces(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var stream []byte
	var want [][]byte
	for i := range 200 {
		f := frameOf(8+rnd.IntN(1+rnd.IntN(5000)), byte(i))
		want = append(want, f)
		stream = append(stream, f...)
	}
	for name, piece := range map[string]func(int) int{
		"whole":  func(left int) int { return left },
		"bytes":  func(int) int { return 1 },
		"threes": func(left int) int { return min(3, left) },
		"reads":  func(left int) int { return min(1024, left) },
		"random": func(left int) int { return 1 + rnd.IntN(min(left, 4000)) },
	} {
		f := newCutter(1 << 20)
		got, err := cutAll(f, stream, piece)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d frames, %v, want %d", name, len(got), err, len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("%s: frame %d differs", name, i)
			}
		}
		if f.held() != 0 {
			t.Errorf("%s: %d bytes held after the last frame", name, f.held())
		}
	}
}

func TestCutterHoldsWhatCameNotWhatWasAnnounced(t *testing.T) {
	f := newCutter(16 << 20)
	frame := frameOf(16<<20, 7)
	if _, err := cutAll(f, frame[:100], func(int) int { return 1 }); err != nil {
		t.Fatal(err)
	}
	if f.held() > 256 {
		t.Errorf("%d bytes held for 100 of an announced 16 MiB", f.held())
	}
}

// A frame of 4 MB in pieces of a read costs less than two copies, not one for each piece.
func TestCutterCopiesLargeFramesLinearly(t *testing.T) {
	f := newCutter(16 << 20)
	frame := frameOf(4<<20, 1)
	grown, cap0 := 0, 0
	for in := frame; len(in) > 0; {
		n := min(len(in), 1000)
		got, _, err := f.next(in[:n])
		if err != nil {
			t.Fatal(err)
		}
		in = in[n:]
		if got == nil && f.held() != cap0 {
			grown += len(f.part)
			cap0 = f.held()
		}
		if got != nil && !bytes.Equal(got, frame) {
			t.Fatal("frame differs")
		}
	}
	if grown > len(frame) {
		t.Errorf("%d bytes copied to grow to %d", grown, len(frame))
	}
}

func TestCutterLimits(t *testing.T) {
	for name, in := range map[string][]byte{
		"too long":  {0, 0, 0, 97, 0, 0, 0, 0},
		"too short": {0, 0, 0, 3, 0, 0, 0},
		"negative":  {0xff, 0xff, 0xff, 0xff},
	} {
		for _, piece := range []int{1, 100} {
			if _, err := cutAll(newCutter(100), in, func(left int) int { return min(piece, left) }); !errors.Is(err, ErrFrame) {
				t.Errorf("%s in pieces of %d: %v", name, piece, err)
			}
		}
	}
	if got, err := cutAll(newCutter(100), frameOf(100, 0), func(left int) int { return left }); err != nil || len(got) != 1 {
		t.Errorf("exactly MaxFrame: %d frames, %v", len(got), err)
	}
}

func TestBufferPool(t *testing.T) {
	var p bufferPool
	a := p.get(1000)
	p.put(a)
	if b := p.get(900); cap(b) != cap(a) || p.bytes != 0 {
		t.Errorf("cap %d, %d bytes pooled", cap(b), p.bytes)
	}
	if b := p.get(2000); cap(b) < 2000 {
		t.Errorf("cap %d", cap(b))
	}
	for range 100 {
		p.put(make([]byte, 1<<20))
	}
	if p.bytes > poolBytes {
		t.Errorf("%d bytes kept", p.bytes)
	}
	p = bufferPool{}
	p.put(make([]byte, 1<<20))
	p.put(make([]byte, 100))
	p.trim()
	if p.bytes != 100 {
		t.Errorf("%d bytes after trim", p.bytes)
	}
}

// FuzzCutter: any stream in pieces cuts as it does whole; frames and rest make up the input.
func FuzzCutter(f *testing.F) {
	f.Add(append(frameOf(12, 1), frameOf(8, 2)...), uint8(3))
	f.Add([]byte{0, 0, 0, 4, 1, 1}, uint8(1))
	f.Add([]byte{0, 0, 1}, uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		const limit = 1 << 12
		whole, wholeErr := cutAll(newCutter(limit), stream, func(left int) int { return left })
		c := newCutter(limit)
		pieces, piecesErr := cutAll(c, stream, func(left int) int { return min(int(piece)+1, left) })
		if (wholeErr == nil) != (piecesErr == nil) || len(whole) != len(pieces) {
			t.Fatalf("whole: %d frames, %v; in pieces: %d, %v", len(whole), wholeErr, len(pieces), piecesErr)
		}
		n := 0
		for i := range whole {
			if !bytes.Equal(whole[i], pieces[i]) || !bytes.Equal(whole[i], stream[n:n+len(whole[i])]) {
				t.Fatalf("frame %d differs", i)
			}
			n += len(whole[i])
		}
		if wholeErr == nil && !bytes.Equal(c.part, stream[n:]) {
			t.Fatalf("held %x, want %x", c.part, stream[n:])
		}
	})
}
