package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/internal/objects"
	"lectern/store"
)

// TestTornBackups cuts the last segment off at random, as the death of the machine may, and starts a Shipper again.
// The backup that is torn has a beginning of what was written, and the one that goes on has all.
func TestTornBackups(t *testing.T) {
	p := newProject(t)
	dir := t.TempDir()
	to, err := objects.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	p.write()
	models := map[uint64]string{}
	write := func() {
		p.write()
		models[p.store.Revision()] = content(t, p.store)
	}
	f := p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	for range 6 {
		for range 3 {
			write()
		}
		f.caughtUp()
		f.stop()
		c, err := list(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		last := c.segments[len(c.segments)-1]
		path := filepath.Join(dir, filepath.FromSlash(last.name))
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw[:segmentHeader+p.rnd.IntN(len(raw)-segmentHeader)], 0o600); err != nil {
			t.Fatal(err)
		}
		if text, at, err := p.restore(to, PointInTime{}); err != nil || models[at] != "" && text != models[at] ||
			at+1 < last.first {
			t.Fatalf("torn: restored %d: %v", at, err)
		}
		f = p.ship(to, time.Hour, time.Hour)
		f.caughtUp()
	}
	f.stop()
	for n, want := range models {
		if text, at, err := p.restore(to, PointInTime{Sequence: n}); err != nil || at != n || text != want {
			t.Fatalf("entry %d: restored %d: %v", n, at, err)
		}
	}
}

// TestBackupsWithFaults removes and changes segments, and asks for points in time that the backup does not have.
func TestBackupsWithFaults(t *testing.T) {
	p := newProject(t)
	dir := t.TempDir()
	to, err := objects.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Minute)
	p.write()
	for range 3 {
		f := p.ship(to, time.Hour, time.Hour)
		f.caughtUp()
		p.write()
		p.write()
		f.caughtUp()
		f.stop()
	}
	c, err := list(t.Context(), to)
	if err != nil || len(c.segments) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	last := p.store.Revision()
	refused := func(what string, m PointInTime, want error, text string) {
		t.Helper()
		if _, _, err := p.restore(to, m); err == nil || want != nil && !errors.Is(err, want) ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("before the first base", PointInTime{Time: began}, nil, "begins later")
	refused("after the last entry", PointInTime{Sequence: last + 1}, errMissing, "it ends with entry")
	refused("another epoch", PointInTime{Sequence: last, Epoch: &store.Epoch{1}}, nil, "begins later")
	middle := filepath.Join(dir, filepath.FromSlash(c.segments[1].name))
	raw, err := os.ReadFile(middle)
	if err != nil {
		t.Fatal(err)
	}
	for what, changed := range map[string][]byte{"damaged": append(bytes.Clone(raw[:segmentHeader+20]),
		raw[segmentHeader+21:]...), "cut off": raw[:len(raw)-5]} {
		if err := os.WriteFile(middle, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(what, PointInTime{Sequence: last}, errDamaged, c.segments[1].name)
	}
	if err := os.Remove(middle); err != nil {
		t.Fatal(err)
	}
	refused("removed", PointInTime{Sequence: last}, errMissing, "the entries")
	if _, at, err := p.restore(to, PointInTime{Sequence: c.segments[1].first - 1}); err != nil ||
		at != c.segments[1].first-1 {
		t.Errorf("the last state before: %d, %v", at, err)
	}
}

// TestTrimmedLog follows a log that no longer has the entries after the backup. A new base is taken, and points in time
// in between are refused.
func TestTrimmedLog(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	p.write()
	f := p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	f.stop()
	p.write()
	p.write()
	missed := p.store.Revision() - 1
	p.trimmed = true
	f = p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	f.stop()
	if _, _, err := p.restore(to, PointInTime{Sequence: missed}); !errors.Is(err, errMissing) ||
		!strings.Contains(err.Error(), "the next one") {
		t.Errorf("a point in time that was missed: %v", err)
	}
	if text, _, err := p.restore(to, PointInTime{}); err != nil || text != content(t, p.store) {
		t.Errorf("the last state: %v", err)
	}
}

// TestTwoShippers runs two Shippers that write to the same place. One of them ends, and says once why.
func TestTwoShippers(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	one := p.ship(to, time.Hour, time.Hour)
	p.write()
	one.caughtUp()
	two := p.ship(to, time.Hour, time.Hour)
	var err error
	until(t, "one of them has ended", func() bool {
		p.write()
		select {
		case err = <-one.ended:
			one = two
		case err = <-two.ended:
		default:
			return false
		}
		return true
	})
	if !errors.Is(err, objects.ErrChanged) ||
		strings.Count(err.Error(), "only one process may write to a backup") != 1 {
		t.Errorf("a Shipper ended with %v", err)
	}
	one.stop()
}

// TestUploads uploads, replaces and deletes files. Each point in time has the contents of its time, until it is too
// old.
func TestUploads(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	p.write()
	f := p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	put := func(name, text string) uint64 {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.uploads, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		p.names[p.store.Revision()+1] = []string{name}
		p.mu.Unlock()
		p.write()
		until(t, "the file is in the backup", func() bool {
			u := p.uploadsAt(to, p.store.Revision())
			var b bytes.Buffer
			found, err := u.Copy(t.Context(), name, &b)
			return err == nil && found && b.String() == text
		})
		return p.store.Revision()
	}
	first := put("a.txt", "one")
	second := put("a.txt", "another")
	put("b.txt", "one")
	if err := os.Remove(filepath.Join(p.uploads, "a.txt")); err != nil {
		t.Fatal(err)
	}
	f.stop()
	for n, want := range map[uint64]string{first: "one", second: "another"} {
		var b bytes.Buffer
		if found, err := p.uploadsAt(to, n).Copy(t.Context(), "a.txt", &b); err != nil || !found || b.String() != want {
			t.Errorf("a.txt after entry %d: %q, %v, %v", n, b.String(), found, err)
		}
	}
	if files, err := to.List(t.Context(), filesAt); err != nil || len(files) != 2 {
		t.Errorf("the contents are stored as %v, %v", files, err)
	}
	p.write()
	f = p.ship(to, time.Nanosecond, time.Nanosecond) // a new base, and nothing before it is kept
	until(t, "the old base is removed", func() bool {
		p.write()
		c, err := list(t.Context(), to)
		return err == nil && len(c.bases) == 1 && c.bases[0].Position.Sequence > second
	})
	f.caughtUp()
	f.stop()
	files, err := to.List(t.Context(), filesAt)
	if err != nil || len(files) != 1 || !slices.ContainsFunc(files, func(o objects.Info) bool { return o.Size == 3 }) {
		t.Errorf("after all but the last is too old: %v, %v", files, err)
	}
	if text, _, err := p.restore(to, PointInTime{}); err != nil || text != content(t, p.store) {
		t.Errorf("the last state: %v", err)
	}
	if p.pinned != 0 {
		t.Errorf("%d pins are left", p.pinned)
	}
}

// An outage is a store that can be made to refuse to extend objects.
type outage struct {
	objects.Store
	on      atomic.Bool
	refused atomic.Int64
}

func (o *outage) Extend(ctx context.Context, name string, content []byte, from int) error {
	if o.on.Load() {
		o.refused.Add(1)
		return errors.New("out of order")
	}
	return o.Store.Extend(ctx, name, content, from)
}

// TestOutageAtTheEndOfALog has the log break off while the backup cannot be written for longer than a Shipper waits
// for its last entries. Each entry is in the backup once.
func TestOutageAtTheEndOfALog(t *testing.T) {
	p, to := newProject(t), &outage{Store: newDirectory(t)}
	p.write()
	ctx, stop := context.WithCancel(t.Context())
	var at atomic.Uint64
	var broke atomic.Bool
	f := &Shipper{From: p, To: to, Every: time.Hour, Keep: time.Hour, lastFlush: time.Millisecond,
		Report: func(x Progress) {
			if strings.HasPrefix(x.Note, "follow the log") {
				broke.Store(true)
			}
			if x.Note == "" {
				at.Store(x.Position.Sequence)
			}
		}}
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	caughtUp := func() bool { return at.Load() == p.store.Revision() }
	until(t, "the backup has all entries", caughtUp)
	to.on.Store(true)
	p.mu.Lock()
	p.breakOff = errors.New("the server stops")
	p.mu.Unlock()
	p.write()
	until(t, "the last entries could not be stored", func() bool { return broke.Load() || to.refused.Load() > 1 })
	to.on.Store(false)
	p.write()
	until(t, "the backup has all entries again", caughtUp)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, last, err := p.restore(to, PointInTime{}); err != nil || last != p.store.Revision() ||
		text != content(t, p.store) {
		t.Errorf("the last state: restored %d of %d, %v", last, p.store.Revision(), err)
	}
}

// upload writes a file, and an entry that names it, whose number it returns.
func (p *project) upload(name, text string) uint64 {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.uploads, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.names[p.store.Revision()+1] = []string{name}
	p.mu.Unlock()
	p.write()
	return p.store.Revision()
}

// hasFiles waits until the backup has the contents of so many files.
func (p *project) hasFiles(to objects.Store, count int) {
	p.t.Helper()
	until(p.t, "the files are in the backup", func() bool {
		files, err := to.List(p.t.Context(), filesAt)
		return err == nil && len(files) == count
	})
}

// wantUpload compares the content that a file had after an entry.
func (p *project) wantUpload(from objects.Store, name string, sequence uint64, want string) {
	p.t.Helper()
	var b bytes.Buffer
	if found, err := p.uploadsAt(from, sequence).Copy(p.t.Context(), name, &b); err != nil || !found ||
		b.String() != want {
		p.t.Errorf("%s after entry %d: %q, %v, %v, want %q", name, sequence, b.String(), found, err, want)
	}
}

// TestReplacedAfterBase replaces a file that a base has before the backup has a later entry, and while no Shipper
// runs.
func TestReplacedAfterBase(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	first := p.upload("a.txt", "one")
	f := p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	second := p.upload("a.txt", "another")
	f.caughtUp()
	p.hasFiles(to, 2)
	f.stop()
	third := p.upload("a.txt", "the third")
	f = p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	p.hasFiles(to, 3)
	f.stop()
	p.wantUpload(to, "a.txt", first, "one")
	p.wantUpload(to, "a.txt", second, "another")
	p.wantUpload(to, "a.txt", third, "the third")
}

// TestUploadsGone takes a base while the directory of uploads is empty, as if its disk were not mounted, and removes
// the base before. The backup still has the files.
func TestUploadsGone(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	p.upload("a.txt", "one")
	f := p.ship(to, time.Hour, time.Hour)
	f.caughtUp()
	f.stop()
	mounted := p.uploads
	p.uploads = filepath.Join(mounted, "unmounted")
	p.write()
	f = p.ship(to, time.Nanosecond, time.Nanosecond)
	until(t, "the old base is removed", func() bool {
		p.write()
		c, err := list(t.Context(), to)
		return err == nil && len(c.bases) == 1 && c.bases[0].Position.Sequence > 1
	})
	f.caughtUp()
	f.stop()
	p.uploads = mounted
	p.wantUpload(to, "a.txt", p.store.Revision(), "one")
	if !slices.ContainsFunc(f.notes, func(note string) bool { return strings.Contains(note, "is gone or empty") }) {
		t.Errorf("notes: %q", f.notes)
	}
}

// TestClockAhead takes a base while the clock is years ahead. When it is right again, the next Shipper takes another,
// and points in time are found.
func TestClockAhead(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	p.write()
	p.age = -10 * 365 * 24 * time.Hour
	f := p.ship(to, time.Hour, 24*time.Hour)
	f.caughtUp()
	p.write()
	f.caughtUp()
	f.stop()
	p.age = 0
	f = p.ship(to, time.Hour, 24*time.Hour)
	until(t, "another base is taken", func() bool {
		p.upload("a.txt", "one") // has the Shipper look whether a base is due
		c, err := list(t.Context(), to)
		return err == nil && len(c.bases) == 2
	})
	f.caughtUp()
	f.stop()
	for name, m := range map[string]PointInTime{"now": {Time: time.Now()}, "the last": {}} {
		text, last, err := p.restore(to, m)
		if err != nil || last != p.store.Revision() || text != content(t, p.store) {
			t.Errorf("%s: restored %d of %d: %v", name, last, p.store.Revision(), err)
		}
		if plan, err := PlanFor(t.Context(), to, m); err != nil || plan.Base.Time.After(time.Now()) {
			t.Errorf("%s: %v, %v", name, plan, err)
		}
	}
}

// TestBaseAhead ends a Shipper that could not store the entries before its newest base. The next one backs up a file
// that came meanwhile.
func TestBaseAhead(t *testing.T) {
	p, to := newProject(t), &outage{Store: newDirectory(t)}
	p.write()
	p.age, p.lastFlush = 2*time.Hour,
		time.Millisecond // the next base is due, and entries that cannot be stored are left soon
	f := p.ship(to, time.Hour, 3*time.Hour)
	f.caughtUp()
	p.write()
	f.caughtUp()
	p.mu.Lock()
	p.age = 0
	p.mu.Unlock()
	to.on.Store(true)
	p.upload("a.txt", "one")
	until(t, "a base is taken", func() bool {
		c, err := list(t.Context(), to)
		return err == nil && len(c.bases) == 2
	})
	f.cancel()
	<-f.ended
	second := p.upload("a.txt", "another")
	to.on.Store(false)
	f = p.ship(to, time.Hour, 3*time.Hour)
	f.caughtUp()
	p.hasFiles(to, 2)
	f.stop()
	p.wantUpload(to, "a.txt", second, "another")
}

// uploadsAt returns the contents of files when an entry was the last one.
func (p *project) uploadsAt(from objects.Store, sequence uint64) *Uploads {
	p.t.Helper()
	plan, err := PlanFor(p.t.Context(), from, PointInTime{Sequence: sequence})
	if err != nil {
		p.t.Fatal(err)
	}
	u, err := plan.Uploads(p.t.Context(), sequence)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}
