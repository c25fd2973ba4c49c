// Package backup keeps a continuous backup of a project in a directory or a bucket, and reads it again.
//
// A backup has four kinds of objects:
//
//	bases/TIME-EPOCH-SEQUENCE.tar             the store at one position of its log
//	segments/EPOCH-FIRST.segment              entries of the log that follow one another (segment.go)
//	uploads/EPOCH-SEQUENCE-….json             which uploaded file had which content (uploads.go)
//	files/XX/SHA256                           the contents of uploaded files
//
// A Shipper writes them. It takes a base now and then, and adds entries of the log a moment after they were committed.
// PlanFor finds the last base at or before a point in time, and the entries from there up to it. Whoever applies
// these to the base by store.Replica has the content of that point in time.
//
// Reading the source: segment.go is the format of segments, stream.go that of a running server's log. shipper.go and
// keeper.go write a backup; plan.go reads it.
package backup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/internal/objects"
	"lectern/store"
)

// A Base is a backup of the store at one position of its log.
type Base struct {
	Position store.Position
	Time     time.Time // of the last entry before the position
}

const (
	basesAt    = "bases/"
	segmentsAt = "segments/"
	uploadsAt  = "uploads/"
	filesAt    = "files/"

	timeFormat = "20060102T150405.000Z"
)

func positionName(p store.Position) string { return fmt.Sprintf("%s-%020d", p.Epoch, p.Sequence) }

// parsePositionName is the inverse of positionName.
func parsePositionName(text string) (store.Position, bool) {
	epoch, digits, found := strings.Cut(text, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !found || err != nil {
		return store.Position{}, false
	}
	p, err := store.ParsePosition(epoch + "-" + strconv.FormatUint(n, 10))
	return p, err == nil && positionName(p) == text
}

func (b Base) name() string {
	return basesAt + b.Time.UTC().Format(timeFormat) + "-" + positionName(b.Position) + ".tar"
}

// parseBase parses the name of a base.
func parseBase(name string) (b Base, ok bool) {
	text, isBase := strings.CutSuffix(strings.TrimPrefix(name, basesAt), ".tar")
	made, position, found := strings.Cut(text, "-")
	if !isBase || !found {
		return b, false
	}
	at, err := time.Parse(timeFormat, made)
	if b.Position, ok = parsePositionName(position); !ok || err != nil {
		return b, false
	}
	b.Time = at
	return b, b.name() == name
}

// segmentName returns the name of the segment whose first entry follows on a position.
func segmentName(epoch store.Epoch, first uint64) string {
	return segmentsAt + positionName(store.Position{Epoch: epoch, Sequence: first}) + ".segment"
}

// A listedSegment is a segment by its name.
type listedSegment struct {
	name  string
	epoch store.Epoch
	first uint64
}

// A catalogue lists what is in a backup.
type catalogue struct {
	bases     []Base          // those that are complete, the oldest first
	broken    []Base          // those whose list of uploads is missing, because the Shipper died
	segments  []listedSegment // by epoch and first entry
	manifests []listedManifest
}

// list reads the catalogue of a backup. It ignores objects that it does not know.
func list(ctx context.Context, s objects.Store) (c catalogue, err error) {
	if err := c.add(ctx, s, segmentsAt, c.addSegment); err != nil {
		return c, err
	}
	if err := c.add(ctx, s, uploadsAt, c.addManifest); err != nil {
		return c, err
	}
	err = c.add(ctx, s, basesAt, c.addBase)
	c.orderBases()
	return c, err
}

// orderBases orders the bases by time. One that a base of an earlier time follows in its epoch was taken while the
// clock was ahead. It comes just before that one.
func (c *catalogue) orderBases() {
	slices.SortFunc(c.bases, func(a, b Base) int { return cmp.Compare(b.Position.Sequence, a.Position.Sequence) })
	latest, at := map[store.Epoch]time.Time{}, map[Base]time.Time{}
	for _, b := range c.bases { // the last first
		at[b] = b.Time
		if next, ok := latest[b.Position.Epoch]; ok && next.Before(b.Time) {
			at[b] = next
		}
		latest[b.Position.Epoch] = at[b]
	}
	slices.SortFunc(c.bases, func(a, b Base) int {
		return cmp.Or(at[a].Compare(at[b]), cmp.Compare(a.Position.Sequence, b.Position.Sequence),
			strings.Compare(a.name(), b.name()))
	})
}

func (c *catalogue) add(ctx context.Context, s objects.Store, prefix string, add func(name string)) error {
	found, err := s.List(ctx, prefix)
	if err != nil {
		return fmt.Errorf("list %s in %s: %w", prefix, s, err)
	}
	for _, o := range found {
		add(o.Name)
	}
	return nil
}

func (c *catalogue) addSegment(name string) {
	text, ok := strings.CutSuffix(strings.TrimPrefix(name, segmentsAt), ".segment")
	if p, valid := parsePositionName(text); ok && valid {
		c.segments = append(c.segments, listedSegment{name, p.Epoch, p.Sequence})
	}
}

func (c *catalogue) addManifest(name string) {
	if m, ok := parseManifestName(name); ok {
		c.manifests = append(c.manifests, m)
	}
}

func (c *catalogue) addBase(name string) {
	b, ok := parseBase(name)
	if !ok {
		return
	}
	complete := slices.ContainsFunc(
		c.manifests, func(m listedManifest) bool { return m.full && m.position == b.Position })
	if complete {
		c.bases = append(c.bases, b)
	} else {
		c.broken = append(c.broken, b)
	}
}

// segmentsOf returns the segments of an epoch, in order.
func (c *catalogue) segmentsOf(epoch store.Epoch) (list []listedSegment) {
	for _, s := range c.segments {
		if s.epoch == epoch {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b listedSegment) int { return strings.Compare(a.name, b.name) })
	return list
}

// newest returns the newest base.
func (c *catalogue) newest() (Base, bool) {
	if len(c.bases) == 0 {
		return Base{}, false
	}
	return c.bases[len(c.bases)-1], true
}

// putBytes stores an object.
func putBytes(ctx context.Context, to objects.Store, name string, content []byte) error {
	return to.Put(ctx, name, bytes.NewReader(content), int64(len(content)))
}
