package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"lectern/internal/objects"
	"lectern/store"
)

// A PointInTime is a state of a store that a backup can restore. The zero PointInTime is the last state that the backup
// has.
type PointInTime struct {
	Time     time.Time    // the state after the last entry up to this time; zero if Sequence says which
	Sequence uint64       // the state after the entry with this number
	Epoch    *store.Epoch // of Sequence; nil: the newest epoch that has it
}

// ParsePointInTime parses a point in time: a sequence such as 4711, a position such as "…-4711", or a time such as
// 2026-01-02T15:04:05Z, "2026-01-02 15:04:05" or 2026-01-02T15:04. A time without a zone is one of the zone local.
func ParsePointInTime(text string, local *time.Location) (PointInTime, error) {
	if n, err := strconv.ParseUint(text, 10, 48); err == nil {
		return PointInTime{Sequence: n}, nil
	}
	if p, err := store.ParsePosition(text); err == nil {
		return PointInTime{Sequence: p.Sequence, Epoch: &p.Epoch}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
		"2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, local); err == nil {
			return PointInTime{Time: t}, nil
		}
	}
	return PointInTime{}, fmt.Errorf(
		"%q is no point in time; write a time such as 2026-01-02T15:04:05Z or the number of an entry of the log", text)
}

// Before reports whether the state of the point in time lies before an entry.
func (m PointInTime) Before(e *store.Entry) bool {
	if !m.Time.IsZero() {
		return e.Time.After(m.Time)
	}
	return m.Sequence > 0 && e.Sequence > m.Sequence
}

// A Plan says how to restore a point in time: by a base and the entries after it.
type Plan struct {
	Base     Base
	point    PointInTime
	from     objects.Store
	segments []listedSegment // of the epoch of the base, from the one that may follow on it
	next     *Base           // the base of the same epoch after it, nil if there is none
	content  catalogue
}

// PlanFor returns how to restore a point in time from a backup.
func PlanFor(ctx context.Context, from objects.Store, m PointInTime) (*Plan, error) {
	c, err := list(ctx, from)
	if err != nil {
		return nil, err
	}
	if len(c.bases) == 0 {
		return nil, fmt.Errorf("%s holds no backup that backup --follow has written", from)
	}
	var found *Base
	for i := range c.bases {
		if b := &c.bases[i]; m.canFollow(*b) {
			found = b
		}
	}
	if found == nil {
		oldest := c.bases[0]
		return nil, fmt.Errorf("the backup begins later: its oldest state is the one of %s, after entry %s",
			oldest.Time.Format(time.RFC3339), oldest.Position)
	}
	p := &Plan{Base: *found, point: m, from: from, content: c}
	p.segments = c.segmentsOf(found.Position.Epoch)
	for len(p.segments) > 1 && p.segments[1].first <= found.Position.Sequence+1 {
		p.segments = p.segments[1:]
	}
	i := slices.IndexFunc(c.bases, func(b Base) bool {
		return b.Position.Epoch == found.Position.Epoch && b.Position.Sequence > found.Position.Sequence
	})
	if i >= 0 {
		p.next = &c.bases[i]
	}
	return p, nil
}

// canFollow reports whether the point in time is that of a base or after it.
func (m PointInTime) canFollow(b Base) bool {
	switch {
	case !m.Time.IsZero():
		return !b.Time.After(m.Time)
	case m.Epoch != nil && *m.Epoch != b.Position.Epoch:
		return false
	}
	return m.Sequence == 0 || b.Position.Sequence <= m.Sequence
}

// OpenBase opens the base: what Source.Base has put.
func (p *Plan) OpenBase(ctx context.Context) (io.ReadCloser, error) {
	return p.from.Open(ctx, p.Base.name())
}

// Uploads returns the contents that uploaded files had when the entry with this number was the last one.
func (p *Plan) Uploads(ctx context.Context, sequence uint64) (*Uploads, error) {
	return p.content.uploadsSince(ctx, p.from, p.Base.Position, sequence)
}

// errMissing: the backup lacks entries before the point in time.
var errMissing = errors.New("the backup lacks entries before that point in time")

// Entries returns the entries after the base up to the point in time. It ends with an error if one of them is missing
// or damaged. Each entry can be used until the next one.
func (p *Plan) Entries(ctx context.Context) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		last, reached := p.Base.Position.Sequence, false
		for i, listed := range p.segments {
			if p.point.Sequence > 0 && last >= p.point.Sequence {
				return
			}
			s, err := p.read(ctx, listed, last)
			if err == nil && !s.closed && i < len(p.segments)-1 {
				err = fmt.Errorf("%s: %w: it is cut off", listed.name, errDamaged)
			}
			if err != nil {
				yield(nil, p.lacks(last, err))
				return
			}
			for _, e := range s.entries {
				if e.Sequence <= last {
					continue
				}
				if reached = p.point.Before(e); reached || !yield(e, nil) {
					return
				}
				last = e.Sequence
			}
		}
		if err := p.ends(last); err != nil {
			yield(nil, err)
		}
	}
}

// read reads a segment that must follow on an entry.
func (p *Plan) read(ctx context.Context, listed listedSegment, last uint64) (*segment, error) {
	if listed.first > last+1 {
		return nil, fmt.Errorf("%w: the entries %d to %d", errMissing, last+1, listed.first-1)
	}
	raw, err := readObject(ctx, p.from, listed.name)
	if err != nil {
		return nil, err
	}
	s, err := parseSegment(raw)
	if err == nil && (s.epoch != listed.epoch || s.first != listed.first) {
		err = fmt.Errorf("%w: it is one of the epoch %s and begins with entry %d", errDamaged, s.epoch, s.first)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listed.name, err)
	}
	return s, nil
}

// readObject reads a whole object.
func readObject(ctx context.Context, from objects.Store, name string) ([]byte, error) {
	r, err := from.Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	raw, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return raw, nil
}

// ends returns an error if the entries end before the point in time.
func (p *Plan) ends(last uint64) error {
	switch m := p.point; {
	case m.Sequence > last:
		return p.lacks(last, fmt.Errorf("%w: it ends with entry %d", errMissing, last))
	case !m.Time.IsZero() && p.next != nil && p.next.Position.Sequence > last:
		return p.lacks(last, fmt.Errorf("%w: the entries %d to %d", errMissing, last+1, p.next.Position.Sequence))
	}
	return nil
}

// lacks adds to an error which points in time can be restored.
func (p *Plan) lacks(last uint64, err error) error {
	hint := fmt.Sprintf("the last state before is that after entry %d (--at %s)", last,
		store.Position{Epoch: p.Base.Position.Epoch, Sequence: last})
	if p.next != nil && p.next.Position.Sequence > last {
		hint += fmt.Sprintf(", and the next one that of %s, after entry %d", p.next.Time.Format(time.RFC3339),
			p.next.Position.Sequence)
	}
	return fmt.Errorf("%w; %s", err, hint)
}
