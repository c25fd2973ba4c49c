package consensus

import (
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"lectern/store"
)

// A notedMachine notes the transactions that it applies, and refuses the one at an index.
type notedMachine struct {
	Machine
	applied []store.Transaction
	refuses uint64
}

var errRefused = errors.New("refused")

func (m *notedMachine) Apply(list []store.Transaction) error {
	for _, t := range list {
		if t.Index == m.refuses {
			return errRefused
		}
		m.applied = append(m.applied, t)
	}
	return nil
}

func (m *notedMachine) Copy() (int64, io.ReadCloser, error) {
	return 0, nil, errors.New("the machine of a stopped node gives no copy")
}

// TestRecover recovers a cluster from the files of a node whose log has transactions that its machine has not applied.
// If the machine cannot apply one, the log keeps them.
func TestRecover(t *testing.T) {
	m := &notedMachine{refuses: 4}
	c := Config{Name: "a", Address: "a:1", Dir: t.TempDir(), Machine: m, Log: slog.New(slog.DiscardHandler)}
	if err := Bootstrap(c); err != nil {
		t.Fatal(err)
	}
	before, err := Read(c)
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := c.files()
	if err != nil {
		t.Fatal(err)
	}
	others := raft.EncodeConfiguration(
		raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a:1"}, {ID: "b", Address: "b:1"},
			{ID: "c", Address: "c:1", Suffrage: raft.Nonvoter}}})
	id := make([]byte, len(proposalID{}))
	if err := errors.Join(log.StoreLogs([]*raft.Log{
		{Index: before.LastIndex + 1, Term: 1, Type: raft.LogConfiguration, Data: others},
		{Index: before.LastIndex + 2, Term: 1, Type: raft.LogCommand, Data: append(id[:len(id):len(id)], "first"...)},
		{Index: before.LastIndex + 3, Term: 2, Type: raft.LogCommand, Data: append(id[:len(id):len(id)], "second"...)},
	}), log.Close()); err != nil {
		t.Fatal(err)
	}
	want := Record{LastIndex: before.LastIndex + 3, Peers: []Peer{{Name: "a", Address: "a:1", Voter: true},
		{Name: "b", Address: "b:1", Voter: true}, {Name: "c", Address: "c:1"}}}
	expect := func(want Record) {
		t.Helper()
		if got, err := Read(c); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%v: %s", err, cmp.Diff(want, got))
		}
	}
	expect(want)

	alone := []Peer{{Name: "a", Address: "a:2", Voter: true}}
	m.refuses = before.LastIndex + 3
	if err := Recover(c, alone); !errors.Is(err, errRefused) {
		t.Errorf("recovered with a transaction that cannot be applied: %v", err)
	}
	expect(want)

	m.refuses, m.applied = 0, nil
	if err := Recover(c, alone); err != nil {
		t.Fatal(err)
	}
	applied := []store.Transaction{{Index: before.LastIndex + 2, Data: []byte("first")},
		{Index: before.LastIndex + 3, Data: []byte("second")}}
	if !cmp.Equal(m.applied, applied) {
		t.Error(cmp.Diff(applied, m.applied))
	}
	expect(Record{LastIndex: before.LastIndex + 3 + recoveryGap, Peers: alone})
	if err := Recover(c, nil); err == nil {
		t.Error("recovered a cluster without nodes")
	}
}
