package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrBloom says that a bloom filter cannot be made of its settings.
var ErrBloom = errors.New("impossible bloom filter")

// Bloom tells the bit positions the reference writes into consumerFilter.json for each SQL92 subscription. Matching does not use them, but
// the reference drops the whole file at start if they are missing or belong to a filter of other settings.
type Bloom struct {
	positions int
	bits      int
}

// NewBloom follows BloomFilter.createByFn: errorRate in percent, 1 to 99 (maxErrorRateOfBloomFilter), and how many subscriptions are
// expected, 1 to 1000000 (expectConsumerNumUseFilter). The defaults 20 and 32 give 3 positions in 112 bits.
func NewBloom(errorRate, expected int) (Bloom, error) {
	if errorRate < 1 || errorRate > 99 {
		return Bloom{}, fmt.Errorf("%w: maxErrorRateOfBloomFilter is %d, 1 to 99 is possible", ErrBloom, errorRate)
	}
	if expected < 1 || expected > 1e6 {
		return Bloom{}, fmt.Errorf("%w: expectConsumerNumUseFilter is %d, 1 to 1000000 is possible", ErrBloom, expected)
	}
	rate := float64(errorRate) / 100
	positions := math.Ceil(math.Log(rate) / math.Log(0.5))
	n := math.Ceil(float64(expected) * (math.Log(1/rate) / math.Log(2)) * (math.Log(math.E) / math.Log(2)))
	return Bloom{positions: int(positions), bits: int(8 * math.Ceil(n/8))}, nil
}

// Bits is bitNum of bloomFilterData.
func (b Bloom) Bits() int { return b.bits }

// Positions is bitPos of bloomFilterData for a group's subscription to a topic.
func (b Bloom) Positions(group, topic string) []int32 {
	return b.of(group + "#" + topic)
}

func (b Bloom) of(s string) []int32 {
	h := murmur3(s)
	first, second := int32(h), int32(h>>32)
	out := make([]int32, b.positions)
	for i := range out {
		p := first + int32(i+1)*second
		if p < 0 {
			p = ^p
		}
		out[i] = p % int32(b.bits)
	}
	return out
}

// murmur3 is the first half of MurmurHash3 x64 128 with seed 0.
func murmur3(s string) uint64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	mix1 := func(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
	mix2 := func(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }
	var h1, h2 uint64
	data := []byte(s)
	for ; len(data) >= 16; data = data[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(data))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(data[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
	h1 ^= uint64(len(s))
	h2 ^= uint64(len(s))
	h1 += h2
	h2 += h1
	h1, h2 = finalMix(h1), finalMix(h2)
	return h1 + h2
}

func finalMix(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
