package permission

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"lectern/contenttypes"
)

// A fingerprint is a hash of what an Access allows, made when it is first asked for.
type fingerprint struct {
	once sync.Once
	sum  [sha256.Size]byte
}

// AppendFingerprint appends a hash of what the caller may do. Two callers with the same hash see the same answers, at
// the same time if the Access is Timed.
func (a *Access) AppendFingerprint(dst []byte) []byte {
	a.print.once.Do(func() { a.print.sum = a.hash(true) })
	return append(dst, a.print.sum[:]...)
}

// AppendOutline appends a hash of which actions the caller may use, and on which attributes. It is the same for all
// callers of a role, whatever their values are that its rules compare.
func (a *Access) AppendOutline(dst []byte) []byte {
	a.outline.once.Do(func() { a.outline.sum = a.hash(false) })
	return append(dst, a.outline.sum[:]...)
}

// hash returns a hash of what the caller may do, with or without the values of the variables of rules.
func (a *Access) hash(values bool) [sha256.Size]byte {
	text := []byte("these")
	if a.all {
		text = []byte("all")
	}
	if a.preview != nil {
		text = a.preview.appendTo(text)
	}
	byName := func(a, b grant) int {
		if c := strings.Compare(a.subject, b.subject); c != 0 {
			return c
		}
		return strings.Compare(a.action, b.action)
	}
	for _, g := range slices.SortedFunc(maps.Keys(a.actions), byName) {
		text = fmt.Appendf(text, " %q %q", g.subject, g.action)
	}
	if a.rules != nil {
		text = a.rules.appendTo(text, values)
	}
	return sha256.Sum256(text)
}

// appendTo appends what the rules say to this caller or, without values, to any. The time of the request is no part of
// it.
func (r *rules) appendTo(text []byte, values bool) []byte {
	for _, rule := range r.list {
		text = fmt.Appendf(text, " %q %q %s", rule.Type.UID, rule.action, rule.text)
	}
	if !values {
		return text
	}
	for _, name := range r.variables {
		text = fmt.Appendf(text, " %q %#v", name, r.values[name])
	}
	return text
}

// AppendRule appends what the rules say to this caller about which documents of t they may read; nothing if no rule
// limits that. The time of the request is no part of it.
func (a *Access) AppendRule(dst []byte, t *contenttypes.ContentType) []byte {
	if a.rules == nil {
		return dst
	}
	for _, rule := range a.rules.list {
		if rule.Type != t || rule.action != "find" && rule.action != "findDrafts" {
			continue
		}
		dst = fmt.Appendf(dst, " %q %s", rule.action, rule.text)
		for _, name := range rule.Variables() {
			if name != theTime {
				dst = fmt.Appendf(dst, " %q %#v", name, a.rules.values[name])
			}
		}
	}
	return dst
}
