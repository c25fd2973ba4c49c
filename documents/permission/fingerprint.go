package permission

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A fingerprint is a hash of what an Access allows, made when it is first asked for.
type fingerprint struct {
	once sync.Once
	sum  [sha256.Size]byte
}

// AppendFingerprint appends a hash of what the caller may do. Two callers with the same hash see the same answers.
func (a *Access) AppendFingerprint(dst []byte) []byte {
	a.print.once.Do(func() { a.print.sum = a.hash() })
	return append(dst, a.print.sum[:]...)
}

func (a *Access) hash() [sha256.Size]byte {
	if a.all {
		return sha256.Sum256([]byte("all"))
	}
	text := []byte("these")
	byName := func(a, b grant) int {
		if c := strings.Compare(a.subject, b.subject); c != 0 {
			return c
		}
		return strings.Compare(a.action, b.action)
	}
	for _, g := range slices.SortedFunc(maps.Keys(a.actions), byName) {
		text = fmt.Appendf(text, " %q %q", g.subject, g.action)
	}
	return sha256.Sum256(text)
}
