package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
)

// MaxStateFile bounds the state files that are read, in bytes.
const MaxStateFile = 64 << 20

// Durability says how a file is replaced.
type Durability bool

// Durabilities.
const (
	// Quick survives a kill of the process.
	Quick Durability = false
	// Synced survives a crash of the machine.
	Synced Durability = true
)

// ReplaceFile writes data to a temporary file beside path and renames it: a reader sees the old content or the new one.
func ReplaceFile(fsys vfs.FS, path string, data []byte, d Durability) error {
	tmp := path + ".tmp"
	if err := writeFile(fsys, tmp, data, d); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if d == Synced {
		if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("sync directory of %s: %w", path, err)
		}
	}
	return nil
}

func writeFile(fsys vfs.FS, path string, data []byte, d Durability) error {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = fsys.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			f, err = fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	_, err = f.WriteAt(data, 0)
	if err == nil && d == Synced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// QuoteKeys turns JSON as fastjson writes maps with integer keys, {1:5}, into standard JSON, {"1":5}.
func QuoteKeys(data []byte) []byte {
	out := make([]byte, 0, len(data)+len(data)/8)
	inString, keyNext := false, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inString:
			if c == '\\' && i+1 < len(data) {
				out = append(out, c)
				i++
				c = data[i]
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString, keyNext = true, false
		case c == '{' || c == ',':
			keyNext = true
		case keyNext && (c == '-' || c >= '0' && c <= '9'):
			end := integerEnd(data, i)
			if next := skipBlank(data, end); next < len(data) && data[next] == ':' {
				out = append(append(append(out, '"'), data[i:end]...), '"')
				i, keyNext = end-1, false
				continue
			}
			keyNext = false
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			keyNext = false
		}
		out = append(out, c)
	}
	return out
}

func integerEnd(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	for i < len(data) && data[i] >= '0' && data[i] <= '9' {
		i++
	}
	return i
}

func skipBlank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}
