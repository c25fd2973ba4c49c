package webhooks

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"lectern/store"
)

// An Event is what an entry of the log did to one version of a document.
type Event struct {
	Epoch    store.Epoch  `json:"epoch"`
	Sequence uint64       `json:"sequence"` // of the entry
	Index    int          `json:"index"`    // among the events of the entry
	Name     string       `json:"event"`
	Type     string       `json:"type"` // uid of the content-type
	Document string       `json:"documentId"`
	Locale   string       `json:"locale,omitempty"`
	Status   store.Status `json:"status"`
	Time     time.Time    `json:"time"`
}

// id returns the id of the event for a hook. It is the same each time the event is sent, and after each restart.
func (e *Event) id(hook string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s %s %s %s %d", e.Epoch, e.Sequence, hook, e.Name, e.Type,
		e.Document, e.Locale, e.Status))
	return "msg_" + hex.EncodeToString(sum[:16])
}

// key returns the key of the document whose events are sent in order.
func (e *Event) key() string { return e.Type + "/" + e.Document }

// compare orders events as they happened.
func (e *Event) compare(other *Event) int {
	return cmp.Or(cmp.Compare(e.Sequence, other.Sequence), cmp.Compare(e.Index, other.Index))
}

// removes reports whether the event removed its version.
func (e *Event) removes() bool {
	return e.Name == EntryDelete || e.Name == EntryUnpublish || e.Name == MediaDelete
}

// isMedia reports whether the event is about a file.
func (e *Event) isMedia() bool { return strings.HasPrefix(e.Name, "media.") }
