package namesrv

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// orderNamespace is the KV namespace of the order configuration of topics (NamesrvUtil.NAMESPACE_ORDER_TOPIC_CONFIG).
const orderNamespace = "ORDER_TOPIC_CONFIG"

// Bounds of the KV configuration.
const (
	maxKVEntries = 100_000
	maxKVBytes   = 64 << 10  // namespace, key and value of one entry
	maxKVFile    = 256 << 20 // bytes of the file that are read
)

// kvTable is the KV configuration: strings by namespace and key, written to a file after every change.
type kvTable struct {
	fs   vfs.FS
	path string // "": kept in memory only

	mu         sync.Mutex
	namespaces map[string]map[string]string // guarded by mu
	entries    int                          // guarded by mu
}

func newKVTable(fsys vfs.FS, path string) *kvTable {
	return &kvTable{fs: fsys, path: path, namespaces: make(map[string]map[string]string)}
}

// load reads the file, if there is one.
func (k *kvTable) load() (fromBackup bool, err error) {
	if k.path == "" {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fromBackup, err = vfs.ReadFileOrBackup(k.fs, k.path, maxKVFile, func(data []byte) error {
		table, err := body.Decode[body.KVConfigTable](data)
		if err != nil {
			return err
		}
		k.namespaces, k.entries = make(map[string]map[string]string), 0
		for namespace, values := range table.Namespaces {
			k.namespaces[namespace] = values
			k.entries += len(values)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("load KV configuration: %w", err)
	}
	return fromBackup, nil
}

// put sets a value.
func (k *kvTable) put(namespace, key, value string) error {
	if n := len(namespace) + len(key) + len(value); n > maxKVBytes {
		return remoting.Errorf(remoting.SystemError, "KV entry has %d bytes, the limit is %d", n, maxKVBytes)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.namespaces[namespace][key]; !known {
		if k.entries >= maxKVEntries {
			return remoting.Errorf(remoting.SystemError, "there are %d KV entries, the limit is %d", k.entries, maxKVEntries)
		}
		k.entries++
	}
	if k.namespaces[namespace] == nil {
		k.namespaces[namespace] = make(map[string]string)
	}
	k.namespaces[namespace][key] = value
	return k.saveLocked()
}

// remove removes a value. An empty namespace stays, as in the reference.
func (k *kvTable) remove(namespace, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.namespaces[namespace][key]; known {
		delete(k.namespaces[namespace], key)
		k.entries--
	}
	return k.saveLocked()
}

func (k *kvTable) saveLocked() error {
	if k.path == "" {
		return nil
	}
	data := body.Encode(&body.KVConfigTable{Namespaces: k.namespaces})
	if err := vfs.WriteFileAtomic(k.fs, k.path, data); err != nil {
		return remoting.Errorf(remoting.SystemError, "KV configuration is changed and not saved: %v", err)
	}
	return nil
}

func (k *kvTable) get(namespace, key string) (value string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	value, ok = k.namespaces[namespace][key]
	return value, ok
}

// list is a copy of a namespace; ok is false when it does not exist.
func (k *kvTable) list(namespace string) (values map[string]string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	values, ok = k.namespaces[namespace]
	return maps.Clone(values), ok
}
