package filter

import (
	"strings"
	"sync"
)

// maxCachedLength keeps a Cache small: longer expressions are compiled each time.
const maxCachedLength = 4 << 10

// Cache keeps compiled expressions for those who get the same text again and again, as pulls that bring their subscription do. Safe
// for concurrent use.
type Cache struct {
	mu      sync.RWMutex
	size    int
	entries map[cacheKey]*Expression // guarded by mu
}

type cacheKey struct {
	kind   Kind
	source string
}

// NewCache returns a cache of at most size expressions, each of at most 4 KiB of text. When it is full, any one makes room.
func NewCache(size int) *Cache {
	return &Cache{size: size, entries: map[cacheKey]*Expression{}}
}

// Compile is the package's Compile. Errors are not kept. expression may alias a frame: what is kept is a copy.
func (c *Cache) Compile(kind Kind, expression string) (*Expression, error) {
	key := cacheKey{kind, expression}
	c.mu.RLock()
	e := c.entries[key]
	c.mu.RUnlock()
	if e != nil {
		return e, nil
	}
	expression = strings.Clone(expression)
	e, err := Compile(kind, expression)
	if err != nil || len(expression) > maxCachedLength || c.size < 1 {
		return e, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= c.size {
		for old := range c.entries {
			delete(c.entries, old)
			break
		}
	}
	c.entries[cacheKey{kind, expression}] = e
	return e, nil
}
