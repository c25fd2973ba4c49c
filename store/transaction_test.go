package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/store"
)

// An agreement stands for the nodes of a cluster that agree to transactions: a list of those that were agreed to, and
// who leads.
type agreement struct {
	agreed []store.Transaction
	leader *clusterNode // nil: there is none
	rnd    *rand.Rand
	lost   float64 // how often a proposal loses the leader
	late   []byte  // a transaction that was not agreed to, and may be later
	counts struct{ agreed, refused, unknown, unknownApplied, late, interrupted int }
}

// A clusterNode is the store of a node.
type clusterNode struct {
	*agreement
	t       *testing.T
	path    string
	store   *store.Store
	applied int // how many of the agreed transactions its store has applied
}

// propose agrees to a transaction, or loses the leader: before the nodes have agreed, afterwards, or at a time when
// nobody can tell.
func (n *clusterNode) propose(data []byte) (store.Agreement, error) {
	if n.leader != n {
		return store.Agreement{}, store.ErrNotLeader
	}
	if n.rnd.Float64() < n.lost {
		n.leader = nil
		switch n.rnd.IntN(3) {
		case 0:
			n.counts.refused++
			return store.Agreement{}, store.ErrNotLeader
		case 1:
			n.counts.unknown++
			n.late = bytes.Clone(data)
			return store.Agreement{}, store.ErrOutcome
		}
		n.counts.unknownApplied++
		n.add(data)
		return store.Agreement{}, fmt.Errorf("propose: %w", store.ErrOutcome)
	}
	n.counts.agreed++
	n.add(data)
	return store.Agreement{Index: n.agreed[len(n.agreed)-1].Index, Committed: func(err error) {
		if err == nil {
			n.applied = len(n.agreed)
		}
	}}, nil
}

// add gives a transaction its index. The indexes have gaps, as those of transactions in Raft's log do.
func (a *agreement) add(data []byte) {
	next := uint64(1)
	if len(a.agreed) > 0 {
		next = a.agreed[len(a.agreed)-1].Index + 1 + uint64(a.rnd.IntN(3))
	}
	a.agreed = append(a.agreed, store.Transaction{Index: next, Data: bytes.Clone(data)})
}

func (n *clusterNode) open(model *contenttypes.Model) {
	n.t.Helper()
	var err error
	if n.store, err = store.Open(n.path, model, store.Options{Propose: n.propose}); err != nil {
		n.t.Fatal(err)
	}
	n.store.WithoutSync()
}

// follow gives the node the next transactions, some of which it may have already. all says that it applies all of them.
func (n *clusterNode) follow(model *contenttypes.Model, all bool) {
	n.t.Helper()
	from := max(0, n.applied-n.rnd.IntN(3))
	to := len(n.agreed)
	if !all && to > from {
		to = from + n.rnd.IntN(to-from+1)
	}
	redefined, err := n.store.ApplyTransactions(context.Background(), n.agreed[from:to])
	if err != nil {
		n.t.Fatal(err)
	}
	n.applied = max(n.applied, to)
	if redefined || n.store.Model() != model {
		n.adopt(model)
	}
}

func (n *clusterNode) adopt(model *contenttypes.Model) {
	n.t.Helper()
	switch adopted, err := n.store.Adopt(context.Background(), model); {
	case err == nil:
		n.store = adopted
	case !errors.Is(err, store.ErrOtherDefinitions):
		n.t.Fatal(err)
	}
}

// elect makes a node the leader. It returns false if the node loses the lead at once.
func (a *agreement) elect(n *clusterNode, model *contenttypes.Model) bool {
	n.t.Helper()
	n.follow(model, true)
	a.leader = n
	next, err := n.store.Lead(context.Background(), model, inSmallSteps)
	if errors.Is(err, store.ErrOutcome) || errors.Is(err, store.ErrNotLeader) {
		a.leader = nil
		return false
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.store = next
	return true
}

// TestTransactions writes under random definitions, and converts the content to others, on stores of which one leads
// until it loses the lead: before it has proposed a transaction, or afterwards. In the end all stores are equal.
func TestTransactions(t *testing.T) {
	var all agreement
	count := *changes
	if testing.Short() {
		count /= 10
	}
	for seed := range count {
		rnd := rand.New(rand.NewPCG(uint64(seed), 14))
		before := newRandomModel(t, rnd)
		after := before.extended(t)
		a := &agreement{rnd: rnd, lost: 0.08}
		var nodes []*clusterNode
		dir := t.TempDir()
		for i := range 3 {
			nodes = append(nodes,
				&clusterNode{agreement: a, t: t, path: filepath.Join(dir, fmt.Sprintf("node%d.db", i))})
		}
		copyOfOne(t, nodes, before.Model)
		model, of := before.Model, before
		for round := range 12 {
			if a.leader == nil {
				for !a.elect(nodes[rnd.IntN(len(nodes))], model) {
				}
			}
			leader := a.leader
			if round == 6 {
				a.lost = 0.3
				redefined, err := leader.store.Redefine(context.Background(), after.Model, inSmallSteps)
				a.lost = 0.08
				switch {
				case err == nil:
					leader.store, model, of = redefined, after.Model, after
				case errors.Is(err, store.ErrOutcome), errors.Is(err, store.ErrNotLeader):
					model, of = after.Model, after // the next leader goes on
					all.counts.interrupted++
				default:
					t.Fatalf("seed %d: %v", seed, err)
				}
			} else {
				of.populate(t, leader.store, rnd)
				_ = leader.store.Write(context.Background(),
					func(tx *store.Tx) error { return tx.PutNote("round", fmt.Append(nil, round)) })
			}
			if a.late != nil && rnd.IntN(2) == 0 { // it does not follow on what all stores have by now
				a.add(a.late)
				a.late, a.leader = nil, nil
				all.counts.late++
			}
			for _, n := range nodes {
				if n != a.leader && rnd.IntN(3) > 0 {
					n.follow(model, false)
				}
				if n != a.leader && rnd.IntN(6) == 0 {
					if err := n.store.Close(); err != nil {
						t.Fatal(err)
					}
					n.open(model)
				}
			}
		}
		a.compare(t, seed, nodes, model)
		if err := os.RemoveAll(dir); err != nil { // many stores would fill the disk
			t.Fatal(err)
		}
		all.counts.agreed += a.counts.agreed
		all.counts.refused += a.counts.refused
		all.counts.unknown += a.counts.unknown
		all.counts.unknownApplied += a.counts.unknownApplied
	}
	t.Logf("proposals: %+v", all.counts)
}

// inSmallSteps makes a conversion have many transactions.
var inSmallSteps = store.Interrupted(store.Options{}, 2, func() error { return nil })

// extended returns a model that m can be converted to without a loss: with drafts, localizations, another attribute and
// one index less.
func (m *randomModel) extended(t *testing.T) *randomModel {
	replace := strings.NewReplacer("draftAndPublish: false", "draftAndPublish: true", "i18n: {localized: false}",
		"i18n: {localized: true}",
		"always: {type: string}", "always: {type: string, index: false}\n  more: {type: integer, default: 3}")
	e := &randomModel{types: m.types, files: map[string]string{}}
	for name, text := range m.files {
		e.files[name] = replace.Replace(text)
	}
	e.Model = modelOf(t, contenttypes.Options{}, e.files)
	return e
}

// copyOfOne opens the stores of nodes, which are copies of one.
func copyOfOne(t *testing.T, nodes []*clusterNode, model *contenttypes.Model) {
	t.Helper()
	first, err := store.Open(nodes[0].path, model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = first.View(func(s *store.Snapshot) error {
		for _, n := range nodes[1:] {
			f, err := os.Create(n.path)
			if err != nil {
				return err
			}
			_, err = s.CopyTo(f)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, first.Close()); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.open(model)
	}
}

// compare gives all nodes all transactions, and compares their stores.
func (a *agreement) compare(t *testing.T, seed int, nodes []*clusterNode, model *contenttypes.Model) {
	t.Helper()
	a.lost = 0
	for !a.elect(nodes[0], model) {
	}
	for _, n := range nodes[1:] {
		n.follow(model, true)
		n.adopt(model)
		differences, err := store.Differences(nodes[0].store, n.store)
		if err != nil || len(differences) > 0 {
			t.Errorf("seed %d: %v %v", seed, differences, err)
		}
	}
	for _, n := range nodes {
		if err := errors.Join(n.store.Check(), n.store.Close()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// FuzzTransaction decodes arbitrary transactions: one that can be decoded is encoded in one way only.
func FuzzTransaction(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{2, 0, 0})
	f.Add(append([]byte{1, 0, 1, 1, 'n', 1}, binary.AppendUvarint(nil, 2)...))
	f.Add([]byte{1, 0, 2, 1, 'n', 1, 1, '1', 1, 'm', 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		again, err := store.DecodeTransaction(data)
		if err != nil {
			return
		}
		if _, err := store.DecodeTransaction(again); err != nil {
			t.Errorf("%x was decoded, but not %x, which it was encoded as: %v", data, again, err)
		}
	})
}

// TestRefusedByUncommittedWrite has a write fail for what another one has written in the same transaction, to which the
// nodes do not agree. The client must not be told of what never was.
func TestRefusedByUncommittedWrite(t *testing.T) {
	model := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}"))
	errSeen := errors.New("the note is there")
	for late := time.Now().Add(30 * time.Second); ; {
		index, gate := uint64(0), make(chan struct{})
		var begun chan struct{} // nil until the store leads
		propose := func([]byte) (store.Agreement, error) {
			if begun != nil {
				select {
				case <-gate:
					return store.Agreement{}, store.ErrOutcome
				default:
				}
				close(begun)
				<-gate // others wait meanwhile, and share the next transaction
			}
			index++
			return store.Agreement{Index: index, Committed: func(error) {}}, nil
		}
		s, err := store.Open(filepath.Join(t.TempDir(), "content.db"), model, store.Options{Propose: propose})
		if err == nil {
			s, err = s.Lead(t.Context(), model, store.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		var writes sync.WaitGroup
		write := func(f func(tx *store.Tx) error) *error {
			failed := new(error)
			writes.Go(func() { *failed = s.Write(context.Background(), f) })
			return failed
		}
		var first, second *error
		seen := false
		begun = make(chan struct{})
		write(func(tx *store.Tx) error { return tx.PutNote("before", []byte("1")) })
		<-begun
		first = write(func(tx *store.Tx) error { return tx.PutNote("note", []byte("1")) })
		second = write(func(tx *store.Tx) error {
			if seen = tx.Note("note") != nil; seen {
				return errSeen
			}
			return tx.PutNote("other", []byte("1"))
		})
		for range 1000 {
			runtime.Gosched() // to the two writes
		}
		close(gate)
		writes.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(*first, store.ErrOutcome) {
			t.Fatalf("the first write: %v, want that its outcome is unknown", *first)
		}
		if seen {
			if !errors.Is(*second, store.ErrNotLeader) {
				t.Errorf("the second write: %v, want that nothing was written", *second)
			}
			return
		}
		if time.Now().After(late) {
			t.Fatal("the writes never shared a transaction in this order")
		}
	}
}

// TestMissingTransaction leaves a transaction out. The store must not go on as if it had it.
func TestMissingTransaction(t *testing.T) {
	model := modelOf(t, contenttypes.Options{}, itemType("name: {type: string}"))
	dir := t.TempDir()
	a := &agreement{rnd: rand.New(rand.NewPCG(1, 1))}
	leader := &clusterNode{agreement: a, t: t, path: filepath.Join(dir, "leader.db")}
	other := &clusterNode{agreement: a, t: t, path: filepath.Join(dir, "other.db")}
	copyOfOne(t, []*clusterNode{leader, other}, model)
	if !a.elect(leader, model) {
		t.Fatal("no leader")
	}
	begun := len(a.agreed)
	item := model.Types[0]
	for range 3 {
		err := leader.store.Write(t.Context(), func(tx *store.Tx) error {
			b, doc := &store.Batch{}, tx.NewDoc()
			b.PutRow(newRow(tx, item, doc, store.Draft, "", map[string]string{"name": `"an item"`}))
			b.Log(item, fmt.Sprint("item", doc), store.Created)
			return tx.Apply(b)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	apply := func(list ...store.Transaction) error {
		_, err := other.store.ApplyTransactions(t.Context(), list)
		return err
	}
	first, second, third := a.agreed[begun], a.agreed[begun+1], a.agreed[begun+2]
	if err := apply(append(a.agreed[:begun:begun], first)...); err != nil {
		t.Fatal(err)
	}
	revision := other.store.Revision()
	if err := apply(third); err == nil || !strings.Contains(err.Error(), "was lost") ||
		other.store.Revision() != revision {
		t.Errorf("a transaction is missing: %v, revision %d after %d", err, other.store.Revision(), revision)
	}
	if err := apply(second, third); err != nil || other.store.Revision() != leader.store.Revision() {
		t.Errorf("all transactions: %v, revision %d, want %d", err, other.store.Revision(), leader.store.Revision())
	}
	if err := errors.Join(leader.store.Close(), other.store.Close()); err != nil {
		t.Error(err)
	}
}
