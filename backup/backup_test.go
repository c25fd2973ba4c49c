package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/internal/objects"
	"lectern/internal/storetest"
	"lectern/store"
	"lectern/store/frames"
)

func timeOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A project is a store with a service that writes, and a Source of backups.
type project struct {
	t         testing.TB
	store     *store.Store
	service   *documents.Service
	uploads   string
	rnd       *rand.Rand
	ids       []string                       // of articles that were created
	redefined bool                           // whether the rank of articles is a text
	defined   map[uint64]*contenttypes.Model // after an entry, if a test has set it; otherwise the last one
	others    map[string][]string            // documentIds of two documents of each other type that articles refer to

	mu        sync.Mutex
	names     map[uint64][]string // the files that entries name
	refuse    error               // returned by Log
	breakOff  error               // returned by Log once, after the next update
	age       time.Duration       // by which bases seem to be older than they are
	lastFlush time.Duration       // of Shippers
	trimmed   bool                // whether Log says once that its entries are gone
	pinned    int
}

func newProject(t testing.TB) *project {
	t.Helper()
	model := storetest.Model(t, storetest.Archive(t, "../documents/testdata/model.txtar"))
	st, err := store.Open(filepath.Join(t.TempDir(), "content.db"), model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &project{
		t: t, store: st, service: documents.NewService(st, model, "en"), uploads: t.TempDir(),
		rnd: rand.New(rand.NewPCG(1, 2)), names: map[uint64][]string{}, others: map[string][]string{},
	}
	t.Cleanup(func() {
		if err := errors.Join(p.store.Check(), p.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// write creates, changes, publishes or deletes an article.
func (p *project) write() {
	p.t.Helper()
	article := p.store.Model().Type("api::article.article")
	w := documents.Write{Type: article, Access: permission.FullAccess}
	i := -1
	if len(p.ids) > 0 {
		i = p.rnd.IntN(len(p.ids))
		w.DocumentID = p.ids[i]
	}
	var err error
	switch n := p.rnd.IntN(10); {
	case i < 0 || n < 5:
		w.DocumentID, w.Data = "", p.body("en")
		w.Status = []store.Status{store.Draft, store.Published}[p.rnd.IntN(2)]
		w.After = func(_ *store.Snapshot, r store.Record) error {
			p.ids = append(p.ids, documentID(r, article))
			return nil
		}
		err = p.service.Create(p.t.Context(), w)
	case n < 8:
		w.Locale = []string{"en", "fr"}[p.rnd.IntN(2)]
		w.Data = p.body(w.Locale)
		err = p.service.Update(p.t.Context(), w)
	default:
		p.ids = append(p.ids[:i], p.ids[i+1:]...)
		err = p.service.Delete(p.t.Context(), w)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// content returns all content of a store.
func content(t testing.TB, st *store.Store) string {
	t.Helper()
	var b bytes.Buffer
	if err := transfer.Export(t.Context(), st, st.Model(), &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (p *project) Uploads() string { return p.uploads }

func (p *project) Pin(context.Context) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pinned++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pinned--
	}), nil
}

func (p *project) Base(_ context.Context, put func(Base, io.Reader) error) error {
	return p.store.View(func(s *store.Snapshot) error {
		at, err := s.Position()
		if err != nil {
			return err
		}
		entries, err := s.Entries(store.Position{Epoch: at.Epoch, Sequence: at.Sequence - 1})
		if err != nil {
			return err
		}
		p.mu.Lock()
		age := p.age
		p.mu.Unlock()
		b := Base{Position: at}
		for e := range entries {
			b.Time = e.Time.Add(-age)
		}
		var file bytes.Buffer
		if _, err := s.CopyTo(&file); err != nil {
			return err
		}
		return put(b, &file)
	})
}

func (p *project) Log(ctx context.Context, after store.Position, next func(Update) error) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		err := p.refuse
		if p.trimmed {
			p.trimmed, err = false, store.ErrTrimmed
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
		committed := p.store.NextCommit()
		u, err := p.update(&after)
		if err == nil {
			err = next(u)
		}
		p.mu.Lock()
		if err == nil && len(u.Entries) > 0 {
			err, p.breakOff = p.breakOff, nil
		}
		p.mu.Unlock()
		if err != nil {
			return err
		}
		select {
		case <-committed:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// update returns the entries after a position, as they come out of a stream.
func (p *project) update(after *store.Position) (u Update, err error) {
	var raw []byte
	err = p.store.View(func(s *store.Snapshot) error {
		entries, err := s.Entries(*after)
		if err != nil {
			return err
		}
		uploads := map[string]uint64{}
		for e, err := range entries {
			if err != nil {
				return err
			}
			raw = frames.AppendEntry(raw, e)
			after.Sequence = e.Sequence
			p.mu.Lock()
			for _, name := range p.names[e.Sequence] {
				uploads[name] = e.Sequence
			}
			p.mu.Unlock()
		}
		raw, err = AppendEnd(raw, uploads, Heartbeat{Position: after.String()})
		return err
	})
	if err != nil {
		return u, err
	}
	return NewUpdateReader(bytes.NewReader(raw)).Next()
}

// A running is a Shipper that runs.
type running struct {
	*project
	cancel context.CancelFunc
	ended  chan error
	mu     sync.Mutex
	at     store.Position
	notes  []string
}

// ship starts a Shipper.
func (p *project) ship(to objects.Store, every, keep time.Duration) *running {
	ctx, cancel := context.WithCancel(p.t.Context())
	r := &running{project: p, cancel: cancel, ended: make(chan error, 1)}
	f := &Shipper{From: p, To: to, Every: every, Keep: keep, lastFlush: p.lastFlush, Report: func(x Progress) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if x.Note != "" {
			r.notes = append(r.notes, x.Note)
			return
		}
		r.at = x.Position
	}}
	go func() { r.ended <- f.Run(ctx) }()
	return r
}

func (r *running) stop() {
	r.t.Helper()
	r.cancel()
	if err := <-r.ended; err != nil {
		r.t.Error(err)
	}
}

// until waits until something is so.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	// It sleeps between two looks at what other goroutines write, mostly to a disk.
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("timed out: ", what)
		}
	}
}

// caughtUp waits until the backup has all entries.
func (r *running) caughtUp() {
	r.t.Helper()
	until(r.t, "the backup has all entries", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.at.Sequence == r.store.Revision()
	})
}

// restore restores a point in time, and returns the content and the sequence of the last entry.
func (p *project) restore(from objects.Store, m PointInTime) (text string, last uint64, err error) {
	p.t.Helper()
	plan, err := PlanFor(p.t.Context(), from, m)
	if err != nil {
		return "", 0, err
	}
	path := filepath.Join(p.t.TempDir(), "content.db")
	base, err := plan.OpenBase(p.t.Context())
	if err != nil {
		return "", 0, err
	}
	raw, err := io.ReadAll(base)
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err := errors.Join(err, base.Close()); err != nil {
		return "", 0, err
	}
	replica, err := store.OpenReplica(path, store.Options{})
	if err != nil {
		return "", 0, err
	}
	for e, failed := range plan.Entries(p.t.Context()) {
		if err = failed; err == nil {
			err = replica.Apply(e)
		}
		if err != nil {
			break
		}
	}
	if err := errors.Join(err, replica.Close()); err != nil {
		return "", 0, err
	}
	model := p.store.Model()
	if at, ok := p.defined[replica.Position().Sequence]; ok {
		model = at
	}
	text, last, err = contentAt(p.t, path, model)
	if err == nil && model != p.store.Model() { // as a restore opens it: what it has is converted
		_, _, err = contentAt(p.t, path, p.store.Model())
	}
	return text, last, err
}

// contentAt opens and checks the store at path, and returns its content and the sequence of its last entry.
func contentAt(t testing.TB, path string, model *contenttypes.Model) (text string, last uint64, err error) {
	t.Helper()
	st, err := store.Open(path, model, store.Options{})
	if err != nil {
		return "", 0, err
	}
	text, last = content(t, st), st.Revision()
	return text, last, errors.Join(st.Check(), st.Close())
}

func newDirectory(t testing.TB) *objects.Directory {
	t.Helper()
	to, err := objects.NewDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestMoments writes at random while a Shipper runs, which is stopped and started now and then and takes many bases.
// Each point in time that is restored has the content that the store had.
func TestMoments(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	const writes = 60
	models := map[uint64]string{}
	p.writeOthers()
	p.write()
	var f *running
	for n := range writes {
		if n%15 == 0 {
			if f != nil {
				f.stop()
				p.write() // while none runs
				models[p.store.Revision()] = content(t, p.store)
			}
			f = p.ship(to, 20*time.Millisecond, time.Hour)
		}
		p.write()
		models[p.store.Revision()] = content(t, p.store)
		if n%10 == 0 {
			f.caughtUp()
		}
	}
	f.caughtUp()
	f.stop()
	c, err := list(t.Context(), to)
	if err != nil || len(c.bases) < 2 || len(c.segments) < 2 {
		t.Fatalf("%d bases, %d segments, %v", len(c.bases), len(c.segments), err)
	}
	first := c.bases[0].Position.Sequence
	last := p.store.Revision()
	times := p.times()
	for range 12 {
		n := first + 1 + p.rnd.Uint64N(last-first)
		if got, at, err := p.restore(to, PointInTime{Sequence: n}); err != nil || at != n || got != models[n] {
			t.Fatalf("entry %d of %d: restored %d: %v\n%s\nwant\n%s", n, last, at, err, got, models[n])
		}
		then := times[n].Add(time.Duration(p.rnd.IntN(3)) * time.Millisecond)
		want := n
		for want < last && !times[want+1].After(then) {
			want++
		}
		if got, at, err := p.restore(to, PointInTime{Time: then}); err != nil || at != want || got != models[want] {
			t.Fatalf("%s: restored %d, want %d: %v\n%s\nwant\n%s", then, at, want, err, got, models[want])
		}
	}
	if got, at, err := p.restore(to, PointInTime{}); err != nil || at != last || got != models[last] {
		t.Errorf("the last state: %d: %v\n%s", at, err, got)
	}
}

// TestPointsInTimeAcrossDefinitions changes the definitions between writes, so that content is converted. Each point in
// time before and after can be restored from the one base, and those before can be opened with the new definitions.
func TestPointsInTimeAcrossDefinitions(t *testing.T) {
	p, to := newProject(t), newDirectory(t)
	p.writeOthers()
	models := map[uint64]string{}
	p.defined = map[uint64]*contenttypes.Model{}
	write := func() {
		p.write()
		n := p.store.Revision()
		models[n], p.defined[n] = content(t, p.store), p.store.Model()
	}
	write()
	for half := range 2 {
		f := p.ship(to, time.Hour, time.Hour)
		f.caughtUp()
		for range 10 {
			write()
		}
		f.caughtUp()
		f.stop()
		if half == 0 {
			p.redefine()
		}
	}
	c, err := list(t.Context(), to)
	if err != nil || len(c.bases) != 1 {
		t.Fatalf("%d bases, %v", len(c.bases), err)
	}
	for n, want := range models {
		if got, at, err := p.restore(to, PointInTime{Sequence: n}); err != nil || at != n || got != want {
			t.Errorf("entry %d: restored %d: %v\n%s\nwant\n%s", n, at, err, got, want)
		}
	}
}

// times returns when the entries of the log were made.
func (p *project) times() map[uint64]time.Time {
	times := map[uint64]time.Time{}
	err := p.store.View(func(s *store.Snapshot) error {
		at, err := s.OldestPosition()
		if err != nil {
			return err
		}
		entries, err := s.Entries(at)
		for e, err := range entries {
			if err != nil {
				return err
			}
			times[e.Sequence] = e.Time
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return times
}
