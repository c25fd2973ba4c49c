// Package audit says who changed what and when, from the log of a store.
package audit

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"lectern/backup"
	"lectern/store"
)

// A Filter says which entries of the log are told of. Empty fields let all pass.
type Filter struct {
	Since    string // a point in time as backup.ParsePointInTime reads it: entries after it
	Until    string // a point in time: entries up to it
	Type     string // the uid of a content-type that the entry changed documents of
	Document string // the documentId of a document that the entry changed
	By       string // who made the entry: a kind of principal, or a kind and a name as in token:NAME
}

// Query returns the parameters that FilterOf reads.
func (f Filter) Query() string {
	return url.Values{"since": {f.Since}, "until": {f.Until}, "type": {f.Type}, "document": {f.Document},
		"by": {f.By}}.Encode()
}

// FilterOf reads a Filter from parameters: since, until, type, document, by.
func FilterOf(q url.Values) Filter {
	return Filter{Since: q.Get("since"), Until: q.Get("until"), Type: q.Get("type"), Document: q.Get("document"),
		By: q.Get("by")}
}

// An Entry is an entry of the log, as it is told.
type Entry struct {
	Sequence uint64    `json:"seq"`
	Epoch    string    `json:"epoch"`
	At       time.Time `json:"at"`
	By       Principal `json:"by"`
	// Kind is changes, definitions (they have changed, and perhaps content with them) or epoch (a new one begins).
	Kind    string   `json:"kind"`
	Changes []Change `json:"changes,omitempty"`
	Hash    string   `json:"hash"`
}

// A Principal is who made an entry.
type Principal struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// A Change is what an entry did to a version.
type Change struct {
	Type       string `json:"type"`
	DocumentID string `json:"documentId"`
	Locale     string `json:"locale,omitempty"`
	Status     string `json:"status,omitempty"`
	Action     string `json:"action"`
}

var entryKinds = map[store.EntryKind]string{store.BatchEntry: "changes", store.ConversionEntry: "definitions",
	store.EpochEntry: "epoch"}

// A Reader reads the entries that pass a Filter.
type Reader struct {
	Filter
	since, until backup.PointInTime
}

// Reader returns a Reader of the entries that pass f; an error says which point in time cannot be read.
func (f Filter) Reader() (a Reader, err error) {
	a.Filter = f
	for text, point := range map[string]*backup.PointInTime{f.Since: &a.since, f.Until: &a.until} {
		if text == "" {
			continue
		}
		if *point, err = backup.ParsePointInTime(text, time.Local); err != nil {
			return a, err
		}
	}
	return a, nil
}

// partBytes is how many bytes of lines are made from one snapshot.
const partBytes = 256 << 10

// WriteLines writes a part of the entries after a position, nil for the oldest one, as JSON Lines. It returns the
// position behind them, and whether there are no more.
func (a *Reader) WriteLines(s *store.Snapshot, after *store.Position,
	lines *bytes.Buffer) (at store.Position, done bool, err error) {
	if after == nil {
		at, err = s.OldestPosition()
		if a.since.Sequence > at.Sequence && err == nil {
			at.Sequence = min(a.since.Sequence, s.Sequence())
		}
	} else {
		at = *after
	}
	if err != nil {
		return at, false, err
	}
	entries, err := s.Entries(at)
	if err != nil {
		return at, false, err
	}
	out := json.NewEncoder(lines)
	for e, err := range entries {
		if err != nil {
			return at, false, err
		}
		at.Sequence = e.Sequence
		if a.until.Before(e) {
			return at, true, nil
		}
		line, passes, err := a.line(s, e)
		if err == nil && passes {
			err = out.Encode(line)
		}
		if err != nil || lines.Len() >= partBytes {
			return at, false, err
		}
	}
	return at, true, nil
}

// line returns the line for an entry, and whether it passes the filter.
func (a *Reader) line(s *store.Snapshot, e *store.Entry) (line Entry, passes bool, err error) {
	kind, name, named := strings.Cut(a.By, ":")
	switch {
	case a.By != "" && (e.By.Kind != kind || named && e.By.Name != name):
		return line, false, nil
	case a.isPast(e):
		return line, false, nil
	}
	line = Entry{Sequence: e.Sequence, Epoch: e.Epoch.String(), At: e.Time.UTC(), By: Principal(e.By),
		Kind: entryKinds[e.Kind], Hash: e.Hash().String()}
	if line.Changes, err = changesOf(s, e); err != nil {
		return line, false, err
	}
	passes = a.Type == "" && a.Document == "" || slices.ContainsFunc(line.Changes, func(c Change) bool {
		return (a.Type == "" || c.Type == a.Type) && (a.Document == "" || c.DocumentID == a.Document)
	})
	return line, passes, nil
}

// changesOf returns what an entry did to versions.
func changesOf(s *store.Snapshot, e *store.Entry) (list []Change, err error) {
	versions, err := s.VersionChanges(e)
	for _, c := range versions {
		change := Change{Type: c.Type.UID, DocumentID: c.DocumentID, Locale: c.Locale, Action: c.Action.String()}
		if c.Type.DraftAndPublish {
			change.Status = map[store.Status]string{store.Draft: "draft", store.Published: "published"}[c.Status]
		}
		list = append(list, change)
	}
	return list, err
}

// window is how many entries are read at a time to find the newest ones, since the log is read forwards; searched is
// how many are read at most for one page.
const (
	window   = 256
	searched = 16 * window
)

// Newest returns at most limit entries, the last one first. before is the sequence of the entry before which they end;
// 0 is the end of the log. next is what to ask for as before to go on, even if there are fewer entries than limit: a
// page is made from a bounded part of the log. It is 0 if there are no older ones.
func (a *Reader) Newest(s *store.Snapshot, before uint64, limit int) (page []Entry, next uint64, err error) {
	oldest, err := s.OldestPosition()
	if err != nil {
		return nil, 0, err
	}
	end := s.Sequence()
	if before > 0 {
		end = min(end, before-1)
	}
	for read := 0; end > oldest.Sequence && read < searched; read += window {
		begin := max(oldest.Sequence, end-min(end, window))
		part, past, err := a.between(s, store.Position{Epoch: oldest.Epoch, Sequence: begin}, end)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range slices.Backward(part) {
			if page = append(page, e); len(page) == limit {
				return page, e.Sequence, nil
			}
		}
		if end = begin; past {
			return page, 0, nil
		}
	}
	if end <= oldest.Sequence {
		return page, 0, nil
	}
	return page, end + 1, nil
}

// between returns the entries after a position and up to a sequence, oldest first, and whether some of them are older
// than the filter asks for.
func (a *Reader) between(s *store.Snapshot, after store.Position, end uint64) (part []Entry, past bool, err error) {
	entries, err := s.Entries(after)
	if err != nil {
		return nil, false, err
	}
	for e, err := range entries {
		if err != nil || e.Sequence > end {
			return part, past, err
		}
		past = past || a.isPast(e)
		if line, passes, err := a.line(s, e); err != nil {
			return nil, false, err
		} else if passes && !a.until.Before(e) {
			part = append(part, line)
		}
	}
	return part, past, nil
}

// isPast reports whether the filter asks for later entries than e alone.
func (a *Reader) isPast(e *store.Entry) bool {
	return e.Sequence <= a.since.Sequence || !a.since.Time.IsZero() && !e.Time.After(a.since.Time)
}
