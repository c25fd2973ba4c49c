package movein

import (
	"cmp"
	"fmt"
	"slices"
)

// A Note says what of the source did not come along, or came along differently, and how often.
type Note struct {
	What  string `json:"what"`  // such as "links of api::article.article.editor"
	Why   string `json:"why"`   // such as "they lead to admin::user, which does not come along"
	Count int    `json:"count"` // 0: a count means nothing here
}

func (n Note) String() string {
	if n.Count > 0 {
		return fmt.Sprintf("%d %s: %s", n.Count, n.What, n.Why)
	}
	return n.What + ": " + n.Why
}

// notes collects Notes. The same note is counted.
type notes struct {
	counts map[noteKey]int
}

type noteKey struct{ what, why string }

func newNotes() *notes { return &notes{map[noteKey]int{}} }

// add counts one occurrence of a note.
func (n *notes) add(what, why string) { n.counts[noteKey{what, why}]++ }

// say adds a note without a count.
func (n *notes) say(what, format string, args ...any) {
	n.counts[noteKey{what, fmt.Sprintf(format, args...)}] = 0
}

// list returns the notes, sorted.
func (n *notes) list() []Note {
	list := make([]Note, 0, len(n.counts))
	for key, count := range n.counts {
		list = append(list, Note{key.what, key.why, count})
	}
	slices.SortFunc(list, func(a, b Note) int { return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Why, b.Why)) })
	return list
}

// resume adds the notes of an earlier run.
func (n *notes) resume(list []Note) {
	for _, note := range list {
		n.counts[noteKey{note.What, note.Why}] = note.Count
	}
}
