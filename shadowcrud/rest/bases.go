package rest

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A reading identifies reads of the same basis: those of a route with the same query, by callers with the same permissions.
type reading struct {
	route  *Route
	query  string // as in the URL
	access [sha256.Size]byte
}

func readingOf(rt *Route, r *http.Request, c *Call) reading {
	k := reading{route: rt, query: r.URL.RawQuery}
	c.Access.AppendFingerprint(k.access[:0])
	return k
}

// Limits of what is remembered: about a megabyte.
const (
	maxBases     = 1024
	maxBaseQuery = 512 // bytes
)

// bases remember the basis of reads with If-None-Match, so that the next ones are answered by 304 without parsing and planning their query. They
// are safe for concurrent use.
type bases struct {
	mu sync.RWMutex
	by map[reading]*basis
}

// of returns the basis of a reading, nil if it is not known. It must not be changed.
func (b *bases) of(k reading) *basis {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.by[k]
}

// put remembers the basis of a reading. When there are too many it forgets the others.
func (b *bases) put(k reading, of *basis) {
	if len(k.query) > maxBaseQuery {
		return
	}
	kept := *of
	kept.types = slices.Clone(of.types)
	k.query = strings.Clone(k.query) // not the whole request
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil || len(b.by) >= maxBases {
		b.by = map[reading]*basis{}
	}
	b.by[k] = &kept
}
