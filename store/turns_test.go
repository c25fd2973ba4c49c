package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/internal/admission"
	"lectern/store"
)

// A turnsTest is a store with articles, whose long reads share one processor.
type turnsTest struct {
	*store.Store
	processors *admission.Semaphore
	article    *contenttypes.ContentType
	heavy      store.Query // few rows, many conditions on long texts
}

func newTurnsTest(t *testing.T) *turnsTest {
	t.Helper()
	processors := admission.New(admission.Limits{Places: 1})
	s := openModel(t, filepath.Join(t.TempDir(), "content.db"), loadModel(t), store.Options{Processors: processors})
	t.Cleanup(func() { closeChecked(t, s) })
	tt := &turnsTest{Store: s, processors: processors, article: s.Model().Type("api::article.article")}
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range 30 {
			text := map[string]string{"title": fmt.Sprintf("%q", strings.Repeat("long text ", 200)+fmt.Sprint(i))}
			b.PutRow(newRow(tx, tt.article, tx.NewDoc(), store.Published, "en", text))
		}
		return tx.Apply(&b)
	})
	var terms store.Or
	for i := range 99 {
		terms = append(terms, store.Compare{Attr: tt.article.Attribute("title"), Op: store.ContainsI,
			Values: []any{fmt.Sprint("lacks ", i)}})
	}
	tt.heavy = store.Query{Type: tt.article, Locales: store.LocaleSet{Codes: []string{"en"}}, Filter: terms, Limit: 25}
	return tt
}

// read finds documents for the client with an address.
func (tt *turnsTest) read(ctx context.Context, addr string, q store.Query, limit time.Duration) error {
	ctx = admission.WithClient(ctx, admission.ClientAt(netip.MustParseAddr(addr)))
	return tt.View(func(s *store.Snapshot) error {
		s.Within(ctx, limit)
		_, err := s.Find(&q)
		return err
	})
}

// take takes the processor, as a long read of another client would.
func (tt *turnsTest) take(t *testing.T) *admission.Share {
	t.Helper()
	share := tt.processors.Share(admission.ClientAt(netip.MustParseAddr("192.0.2.9")))
	if err := share.TryAcquire(); err != nil {
		t.Fatal(err)
	}
	return share
}

// untilWaiting returns when so many reads wait for the processor.
func (tt *turnsTest) untilWaiting(n int) {
	for tt.processors.Stats().Waiting < n {
		runtime.Gosched()
	}
}

// A read with much work waits for its turn, even if it reads few rows. Reads with little work and writes do not.
func TestLongReadsTakeTurns(t *testing.T) {
	tt := newTurnsTest(t)
	busy := tt.take(t)
	done := make(chan error)
	go func() { done <- tt.read(t.Context(), "192.0.2.1", tt.heavy, time.Minute) }()
	tt.untilWaiting(1)
	few := store.Query{Type: tt.article, Locales: tt.heavy.Locales, Limit: 25}
	if err := tt.read(t.Context(), "192.0.2.2", few, time.Minute); err != nil {
		t.Errorf("a short read: %v", err)
	}
	write(t, tt.Store, func(tx *store.Tx) error {
		_, err := tx.Find(&tt.heavy)
		return err
	})
	if got := tt.processors.Stats(); got.Waiting != 1 || got.Held != 1 {
		t.Errorf("while the processor is taken: %+v", got)
	}
	busy.Release()
	busy.Close()
	if err := <-done; err != nil {
		t.Errorf("a long read: %v", err)
	}
	if got := tt.processors.Stats(); got != (admission.Stats{}) {
		t.Errorf("in the end: %+v", got)
	}
}

// A long read ends its turn after a few thousand steps if others wait, so clients go on by turns, however many reads
// one of them sends.
func TestLongReadsEndTheirTurns(t *testing.T) {
	tt := newTurnsTest(t)
	busy := tt.take(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range 5 { // of which one alone would not let the other client have a turn before its end
		go func() { done <- tt.read(ctx, "192.0.2.1", tt.heavy, time.Minute) }()
	}
	tt.untilWaiting(5)
	other := tt.processors.Share(admission.ClientAt(netip.MustParseAddr("192.0.2.2")))
	defer other.Close()
	turn := make(chan error)
	go func() { turn <- other.Acquire(ctx) }()
	tt.untilWaiting(6)
	busy.Release()
	busy.Close()
	if err := <-turn; err != nil {
		t.Fatal(err)
	}
	if got := tt.processors.Stats(); got.Waiting != 5 { // one has begun its work and waits again, four have not begun
		t.Errorf("when the other client had its turn: %+v", got)
	}
	cancel()
	for range 5 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose client is gone: %v", err)
		}
	}
	other.Release()
}

// A read waits for its turn no longer than it may take, and gives its turn back however it ends.
func TestTurnsEnd(t *testing.T) {
	tt := newTurnsTest(t)
	busy := tt.take(t)
	if err := tt.read(t.Context(), "192.0.2.1", tt.heavy, time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read that took too long: %v", err)
	}
	busy.Release()
	busy.Close()
	heavy := func(s *store.Snapshot) {
		s.Within(t.Context(), 0)
		s.Steps(10_000)
		if held := tt.processors.Stats().Held; held != 1 {
			t.Errorf("a long read holds %d processors", held)
		}
	}
	_ = tt.View(func(s *store.Snapshot) error { heavy(s); return errors.New("refused") })
	_ = tt.View(func(s *store.Snapshot) error {
		return s.ViewAt(s.Sequence(), func(then *store.Snapshot) error { heavy(then); return nil })
	})
	func() {
		defer func() { _ = recover() }()
		_ = tt.View(func(s *store.Snapshot) error {
			return s.ViewAt(s.Sequence(), func(then *store.Snapshot) error { heavy(then); panic("by a program") })
		})
	}()
	_ = tt.View(func(s *store.Snapshot) error {
		heavy(s)
		s.Rest()
		if got := tt.processors.Stats(); got.Held != 0 {
			t.Errorf("while the read waits for its client: %+v", got)
		}
		if s.Step(); tt.processors.Stats().Held != 1 {
			t.Error("the read goes on without a turn")
		}
		return nil
	})
	if got := tt.processors.Stats(); got.Held != 0 || got.Clients != 0 {
		t.Errorf("in the end: %+v", got)
	}
}
