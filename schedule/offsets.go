package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
)

// offsetTable is config/delayOffset.json (DelayOffsetSerializeWrapper).
type offsetTable struct {
	DataVersion dataVersion      `json:"dataVersion"`
	Offsets     map[string]int64 `json:"offsetTable"`
}

// dataVersion is the reference's DataVersion.
type dataVersion struct {
	Counter      int64 `json:"counter"`
	StateVersion int64 `json:"stateVersion"`
	Timestamp    int64 `json:"timestamp"`
}

// loadOffsets reads the file, or its .bak when it is missing or broken. problem tells what was wrong with a file that is there.
// Without either all offsets are 0.
func loadOffsets(fsys vfs.FS, path string) (t offsetTable, problem error) {
	for _, name := range [...]string{path, path + ".bak"} {
		data, err := vfs.ReadFile(fsys, name, relay.MaxStateFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			t, err = parseOffsets(data)
		}
		if err == nil {
			return t, problem
		}
		problem = errors.Join(problem, fmt.Errorf("delay offsets in %s: %w", name, err))
	}
	return offsetTable{}, problem
}

func parseOffsets(data []byte) (offsetTable, error) {
	t := offsetTable{}
	if err := json.Unmarshal(relay.QuoteKeys(data), &t); err != nil {
		return offsetTable{}, err
	}
	for key, offset := range t.Offsets {
		if level, err := strconv.Atoi(key); err != nil || level < 1 || level > MaxLevels || offset < 0 {
			return offsetTable{}, fmt.Errorf("level %q has offset %d, want levels 1 to %d and offsets from 0", key, offset, MaxLevels)
		}
	}
	return t, nil
}

func (t offsetTable) encode() []byte {
	data, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		panic("schedule: a table of numbers cannot be encoded: " + err.Error())
	}
	return data
}
