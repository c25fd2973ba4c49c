package store_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// leading returns a store that takes writes as the leader of a cluster, whose nodes agree to all that propose lets through.
func leading(t *testing.T, path string, propose func([]byte) error, committed func(error)) (*store.Store, *contenttypes.Model) {
	t.Helper()
	model := modelOf(t, contenttypes.Options{}, map[string]string{"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes:\n  text: {type: text}\n"})
	agreed := uint64(0)
	s, err := store.Open(path, model, store.Options{Propose: func(data []byte) (store.Agreement, error) {
		if err := propose(data); err != nil {
			return store.Agreement{}, err
		}
		agreed++
		return store.Agreement{Index: agreed, Committed: committed}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.Lead(context.Background(), model, store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the file may be damaged
	return s, model
}

// TestProposalsAreBounded has many clients write long notes, and one a note that is too long. Raft's log cannot read an entry of more than 64 MiB.
func TestProposalsAreBounded(t *testing.T) {
	longest := 0
	s, _ := leading(t, filepath.Join(t.TempDir(), "content.db"), func(data []byte) error {
		longest = max(longest, len(data))
		return nil
	}, func(error) {})
	random := make([]byte, 3<<19)
	_, _ = rand.Read(random) // never fails
	text := []byte(`"` + base64.StdEncoding.EncodeToString(random) + `"`)
	write := func(name string, text []byte) error {
		return s.Write(context.Background(), func(tx *store.Tx) error { return tx.PutNote(name, text) })
	}
	var clients sync.WaitGroup
	for i := range 40 {
		clients.Go(func() {
			if err := write(fmt.Sprint("note ", i), text); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
	if longest > 8<<20+len(text)+1000 {
		t.Errorf("a transaction of several writes has %d bytes", longest)
	}
	long := make([]byte, 61<<20)
	for i := range long {
		long[i] = '1'
	}
	if err := write("long", long); !errors.Is(err, store.ErrTooLarge) || longest > 60<<20 {
		t.Errorf("%v, and a proposal of %d bytes", err, longest)
	}
	if err := write("after", []byte("1")); err != nil {
		t.Error(err)
	}
}

// TestCommittedAfterDamage damages the file between the agreement and the commit. The other nodes wait until they hear of it.
func TestCommittedAfterDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	damages, told := false, 0
	s, _ := leading(t, path, func([]byte) error {
		if damages {
			return os.Truncate(path, 8192)
		}
		return nil
	}, func(err error) {
		if told++; damages && err == nil {
			t.Error("the commit is said to have succeeded")
		}
	})
	write := func() error {
		return s.Write(context.Background(), func(tx *store.Tx) error { return tx.PutNote("x", []byte(`"y"`)) })
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	before := told
	damages = true
	if err := write(); err == nil || told != before+1 {
		t.Errorf("%v, and the nodes heard of %d commits", err, told-before)
	}
}

// TestRefusedRedefinition redefines the store of a leader, whose nodes refuse one of the transactions, as they do while the lead passes on. Readers of the
// state before must not miss what is written afterwards: the store takes no writes until it leads again, which it may.
func TestRefusedRedefinition(t *testing.T) {
	for refused := range 3 {
		t.Run(fmt.Sprint(refused), func(t *testing.T) {
			left := -1
			s, _ := leading(t, filepath.Join(t.TempDir(), "content.db"), func([]byte) error {
				if left--; left == -1 {
					return store.ErrNotLeader
				}
				return nil
			}, func(error) {})
			write := func(s *store.Store, text string) error {
				return s.Write(context.Background(), func(tx *store.Tx) error { return tx.PutNote("x", []byte(text)) })
			}
			if err := write(s, `"before"`); err != nil {
				t.Fatal(err)
			}
			model := modelOf(t, contenttypes.Options{}, map[string]string{"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes:\n  text: {type: text}\n  more: {type: integer, default: 1}\n"})
			left = refused
			redefined, err := s.Redefine(context.Background(), model, store.Options{})
			left = -1
			if err == nil {
				s = redefined // it had fewer transactions
			} else if !errors.Is(err, store.ErrNotLeader) {
				t.Fatal(err)
			} else {
				if err := write(s, `"hidden"`); !errors.Is(err, store.ErrNotLeader) {
					t.Errorf("a write after a redefinition that was refused: %v", err)
				}
				if s, err = s.Lead(context.Background(), model, store.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			if err := write(s, `"after"`); err != nil {
				t.Fatal(err)
			}
			if err := s.View(func(snap *store.Snapshot) error {
				if got := string(snap.Note("x")); got != `"after"` {
					t.Errorf("readers see %s", got)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
