package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"lectern/backup"
	"lectern/store"
)

// An AuditFilter says which entries of the log Audit writes. Empty fields let all pass.
type AuditFilter struct {
	Since    string // a point in time as backup.ParsePointInTime reads it: entries after it
	Until    string // a point in time: entries up to it
	Type     string // the uid of a content-type that the entry changed documents of
	Document string // the documentId of a document that the entry changed
	By       string // who made the entry: a kind of principal, or a kind and a name as in token:NAME
}

func (f AuditFilter) query() string {
	return url.Values{"since": {f.Since}, "until": {f.Until}, "type": {f.Type}, "document": {f.Document},
		"by": {f.By}}.Encode()
}

func auditFilterOf(q url.Values) AuditFilter {
	return AuditFilter{Since: q.Get("since"), Until: q.Get("until"), Type: q.Get("type"), Document: q.Get("document"),
		By: q.Get("by")}
}

// An auditLine is a line that Audit writes.
type auditLine struct {
	Sequence uint64        `json:"seq"`
	Epoch    string        `json:"epoch"`
	At       time.Time     `json:"at"`
	By       auditBy       `json:"by"`
	Kind     string        `json:"kind"` // changes, definitions (they have changed, and perhaps content with them) or epoch (a new one begins)
	Changes  []auditChange `json:"changes,omitempty"`
	Hash     string        `json:"hash"`
}

type auditBy struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

type auditChange struct {
	Type       string `json:"type"`
	DocumentID string `json:"documentId"`
	Locale     string `json:"locale,omitempty"`
	Status     string `json:"status,omitempty"`
	Action     string `json:"action"`
}

var entryKinds = map[store.EntryKind]string{store.BatchEntry: "changes", store.ConversionEntry: "definitions",
	store.EpochEntry: "epoch"}

// An auditor is an AuditFilter that was parsed.
type auditor struct {
	AuditFilter
	since, until backup.PointInTime
}

func (f AuditFilter) parsed() (a auditor, err error) {
	a.AuditFilter = f
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

// auditPart is how many bytes of lines are made from one snapshot.
const auditPart = 256 << 10

// Audit implements Project. It holds no snapshot while it writes.
func (l *Local) Audit(ctx context.Context, filter AuditFilter, w io.Writer) error {
	a, err := filter.parsed()
	if err != nil {
		return err
	}
	var at *store.Position
	for {
		var lines bytes.Buffer
		var next store.Position
		done := false
		err := l.View(ctx, func(c Content) error {
			return c.Store.View(func(s *store.Snapshot) (err error) {
				lines.Reset()
				next, done, err = a.append(s, at, &lines)
				return err
			})
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(lines.Bytes()); err != nil || done {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at = &next
	}
}

// append writes lines for the entries after a position, nil for the oldest one. It returns the position behind them,
// and whether there are no more.
func (a *auditor) append(s *store.Snapshot, after *store.Position,
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
		if err != nil || lines.Len() >= auditPart {
			return at, false, err
		}
	}
	return at, true, nil
}

// line returns the line for an entry, and whether it passes the filter.
func (a *auditor) line(s *store.Snapshot, e *store.Entry) (line auditLine, passes bool, err error) {
	kind, name, named := strings.Cut(a.By, ":")
	switch {
	case a.By != "" && (e.By.Kind != kind || named && e.By.Name != name):
		return line, false, nil
	case !a.since.Time.IsZero() && !e.Time.After(a.since.Time):
		return line, false, nil
	}
	line = auditLine{Sequence: e.Sequence, Epoch: e.Epoch.String(), At: e.Time.UTC(), By: auditBy(e.By),
		Kind: entryKinds[e.Kind], Hash: e.Hash().String()}
	if line.Changes, err = changesOf(s, e); err != nil {
		return line, false, err
	}
	passes = a.Type == "" && a.Document == "" || slices.ContainsFunc(line.Changes, func(c auditChange) bool {
		return (a.Type == "" || c.Type == a.Type) && (a.Document == "" || c.DocumentID == a.Document)
	})
	return line, passes, nil
}

// changesOf returns what an entry did to versions.
func changesOf(s *store.Snapshot, e *store.Entry) (list []auditChange, err error) {
	versions, err := s.VersionChanges(e)
	for _, c := range versions {
		change := auditChange{Type: c.Type.UID, DocumentID: c.DocumentID, Locale: c.Locale, Action: c.Action.String()}
		if c.Type.DraftAndPublish {
			change.Status = map[store.Status]string{store.Draft: "draft", store.Published: "published"}[c.Status]
		}
		list = append(list, change)
	}
	return list, err
}

// VerifyLog implements Project.
func (l *Local) VerifyLog(ctx context.Context, expect string) (chain store.Chain, err error) {
	var expected *store.EntryHash
	if expect != "" {
		h, err := store.ParseEntryHash(expect)
		if err != nil {
			return chain, err
		}
		expected = &h
	}
	err = l.View(ctx, func(c Content) error {
		return c.Store.View(func(s *store.Snapshot) error {
			chain, err = s.VerifyChain(expected)
			return err
		})
	})
	return chain, err
}

func (r *remote) Audit(ctx context.Context, filter AuditFilter, w io.Writer) error {
	if _, err := filter.parsed(); err != nil {
		return err
	}
	return r.do(ctx, http.MethodGet, "/audit?"+filter.query(), nil, copyTo(w))
}

func (r *remote) VerifyLog(ctx context.Context, expect string) (store.Chain, error) {
	return call[store.Chain](ctx, r, http.MethodGet, "/verify?expect="+url.QueryEscape(expect), nil)
}
