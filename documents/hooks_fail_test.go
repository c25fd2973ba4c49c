package documents_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/store"
)

// TestHooksFail runs hooks that fail. An error before a write refuses the write. An error after it is only reported to
// Service.Failed. A panic has the same effect as an error.
func TestHooksFail(t *testing.T) {
	refusal := &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", Message: "not today"}
	fail := func(context.Context, *documents.Event) error { return refusal }
	panics := func(context.Context, *documents.Event) error { panic("broken hook") }
	require := func(_ context.Context, e *documents.Event) error {
		e.Require(func(s *store.Snapshot) error {
			if _, there := s.Document(e.Type, "o"); there {
				return refusal
			}
			return nil
		})
		return nil
	}
	for _, c := range []struct {
		name   string
		hooks  documents.Hooks
		err    string
		told   string
		exists bool
	}{
		{"before", documents.Hooks{BeforeCreate: fail}, "ConflictError: not today", "", false},
		{"before, by a panic", documents.Hooks{BeforeCreate: panics},
			"a hook of api::owner.owner panicked: broken hook", "", false},
		{"before, by what it requires", documents.Hooks{BeforeCreate: require}, "ConflictError: not today", "", false},
		{"after", documents.Hooks{AfterCreate: fail}, "",
			"hook after create of api::owner.owner b: ConflictError: not today", true},
		{"after, by a panic", documents.Hooks{AfterCreate: panics}, "",
			"hook after create of api::owner.owner b: a hook of api::owner.owner panicked", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHooked(t)
			h.create("owner", "o", `{"name":"O"}`)
			h.hook(c.hooks, "api::owner.owner")
			err := h.Create(t.Context(), h.write("owner", "b", `{"name":"B"}`))
			if got := fmt.Sprint(err); err == nil && c.err != "" || err != nil &&
				(c.err == "" || !strings.HasPrefix(got, c.err)) {
				t.Errorf("error %s, want %q", got, c.err)
			}
			if told := fmt.Sprint(h.told); c.told == "" && len(h.told) > 0 || !strings.HasPrefix(told, "["+c.told) {
				t.Errorf("told %s, want %q", told, c.told)
			}
			if there := count(t, h.store, h.model.Type("api::owner.owner"), store.Published) == 2; there != c.exists {
				t.Errorf("the document exists: %t", there)
			}
		})
	}
}

// TestHooksOnce lets every fourth write fail. Writes that share a transaction with a failed one are repeated, but their
// hooks are called only once.
func TestHooksOnce(t *testing.T) {
	h := newHooked(t)
	var before, after atomic.Int64
	h.hook(documents.Hooks{
		BeforeCreate: func(context.Context, *documents.Event) error { before.Add(1); return nil },
		AfterCreate:  func(context.Context, *documents.Event) error { after.Add(1); return nil },
	}, "api::owner.owner")
	failed := errors.New("cannot be shown")
	const writers, rounds = 16, 20
	var shown atomic.Int64
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			for range rounds {
				w := h.write("owner", "", `{"name":"x"}`)
				w.After = func(*store.Snapshot, store.Record) error {
					shown.Add(1)
					if i%4 == 0 {
						return failed
					}
					return nil
				}
				if err := h.Create(context.Background(), w); !errors.Is(err, failed) && (err != nil || i%4 == 0) {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	if shown.Load() <= writers*rounds {
		t.Skip("no two writes shared a transaction")
	}
	if before.Load() != writers*rounds || after.Load() != writers*rounds*3/4 {
		t.Errorf("%d called before and %d after, want %d and %d", before.Load(), after.Load(), writers*rounds,
			writers*rounds*3/4)
	}
}

// TestHooksOfFailedOperations carries out operations together, of which the last one fails in the transaction: hooks
// before the writes have been called, those after them are not. Once the last one is right, the hooks after the writes
// see the content of all of them.
func TestHooksOfFailedOperations(t *testing.T) {
	h := newHooked(t)
	var called []string
	h.hook(everything(func(when string, e *documents.Event) error {
		if when == "after" {
			when += fmt.Sprint(" of ", count(t, h.store, h.model.Type("api::article.article"), store.Draft)+
				count(t, h.store, h.model.Type("api::owner.owner"), store.Published))
		}
		called = append(called, when+" "+e.Action.String()+" "+e.DocumentID)
		return nil
	}), "api::article.article", "api::owner.owner")
	operations := func(name string) []documents.Operation {
		return []documents.Operation{
			{Write: h.write("article", "a", `{"title":"A"}`), Action: documents.CreateAction},
			{Write: h.write("owner", "b", `{"name":"`+name+`"}`), Action: documents.CreateAction},
		}
	}
	show := func(int, *store.Snapshot, store.Record, error) error { return nil }
	var failed *documents.OperationError
	if err := h.WriteAll(t.Context(), operations("longer than allowed"), true, show); !errors.As(err, &failed) ||
		failed.Index != 1 {
		t.Fatal(err)
	}
	if got, want := strings.Join(called, "; "), "before create a; before create b"; got != want {
		t.Errorf("called %q, want %q", got, want)
	}
	called = nil
	if err := h.WriteAll(t.Context(), operations("B"), true, show); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(called, "; "),
		"before create a; before create b; after of 2 create a; after of 2 create b"; got != want {
		t.Errorf("called %q, want %q", got, want)
	}
}
