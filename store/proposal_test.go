package store_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// noteModel returns a model of notes, which have a text and the attributes in more.
func noteModel(t *testing.T, more string) *contenttypes.Model {
	t.Helper()
	return modelOf(t, contenttypes.Options{},
		map[string]string{"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes:\n  text: {type: text}\n" + more})
}

// leading returns a store that takes writes as the leader of a cluster, whose nodes agree to all that propose lets
// through.
func leading(t *testing.T, path string, propose func([]byte) error, committed func(error)) *store.Store {
	t.Helper()
	model := noteModel(t, "")
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
	return s
}

// TestProposalsAreBounded has many clients write long notes, and one a note that is too long. Raft's log cannot read an
// entry of more than 64 MiB.
func TestProposalsAreBounded(t *testing.T) {
	longest := 0
	s := leading(t, filepath.Join(t.TempDir(), "content.db"), func(data []byte) error {
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

// TestCommittedAfterDamage damages the file between the agreement and the commit. The other nodes wait until they hear
// of it.
func TestCommittedAfterDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "content.db")
	damages, told := false, 0
	s := leading(t, path, func([]byte) error {
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

// TestRefusedRedefinition redefines the store of a leader while the nodes refuse the first or the second of its
// transactions. Readers see the state before the redefinition then, so the store must take no writes until Lead is
// called, which finishes the redefinition.
func TestRefusedRedefinition(t *testing.T) {
	for accepted := range 2 {
		t.Run(fmt.Sprint(accepted), func(t *testing.T) {
			left := -1 // transactions that are accepted before one is refused; negative: all
			s := leading(t, filepath.Join(t.TempDir(), "content.db"), func([]byte) error {
				if left--; left == -1 {
					return store.ErrNotLeader
				}
				return nil
			}, func(error) {})
			write := func(text string) error {
				return s.Write(context.Background(), func(tx *store.Tx) error { return tx.PutNote("x", []byte(text)) })
			}
			if err := write(`"before"`); err != nil {
				t.Fatal(err)
			}
			model := noteModel(t, "  more: {type: integer, default: 1}\n")
			left = accepted
			if _, err := s.Redefine(context.Background(), model, store.Options{}); !errors.Is(err, store.ErrNotLeader) {
				t.Fatalf("a redefinition that is refused: %v", err)
			}
			left = -1
			if err := write(`"hidden"`); !errors.Is(err, store.ErrNotLeader) {
				t.Errorf("a write after a redefinition that was refused: %v", err)
			}
			var err error
			if s, err = s.Lead(context.Background(), model, store.Options{}); err != nil {
				t.Fatal(err)
			}
			if err := write(`"after"`); err != nil {
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

// TestConversionsAreBounded converts long documents, which are less than a transaction may have in rows, and more than
// it may have in bytes.
func TestConversionsAreBounded(t *testing.T) {
	longest := 0
	s := leading(t, filepath.Join(t.TempDir(), "content.db"), func(data []byte) error {
		longest = max(longest, len(data))
		return nil
	}, func(error) {})
	redefine := func(more string) {
		t.Helper()
		next, err := s.Redefine(context.Background(), noteModel(t, more), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	redefine("  number: {type: integer}\n")
	note := s.Model().Type("api::note.note")
	const size, count = 1 << 20, 20
	var texts []string // that do not become shorter when they are compressed together
	for i := range count {
		random := make([]byte, size/4*3)
		_, _ = rand.Read(random) // never fails
		texts = append(texts, `"`+base64.StdEncoding.EncodeToString(random)+`"`)
		write(t, s, func(tx *store.Tx) error {
			var b store.Batch
			b.PutRow(newRow(tx, note, tx.NewDoc(), store.Published, "",
				map[string]string{"text": texts[i], "number": strconv.Itoa(i)}))
			return tx.Apply(&b)
		})
	}
	longest = 0
	redefine("  number: {type: string}\n")
	if longest < size/4*3 || longest > 8<<20+size+1000 {
		t.Errorf("converting documents of %d bytes takes a transaction of %d bytes", size, longest)
	}
	if err := s.View(func(snap *store.Snapshot) error {
		note := s.Model().Type("api::note.note")
		for i := range count {
			found := false
			snap.Equal(note, store.Published, "", note.Attribute("number"), fmt.Appendf(nil, "%q", strconv.Itoa(i)),
				func(r store.Record) bool {
					found = string(r.JSON(note.Attribute("text"))) == texts[i]
					return true
				})
			if !found {
				t.Errorf("document %d is not converted", i)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
