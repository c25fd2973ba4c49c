package consensus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"lectern/store"
)

// A list is a Machine that is a list of texts in a file.
type list struct {
	mu      sync.Mutex
	path    string
	state   listState
	leads   bool
	leader  string                               // that StopLeading was called with last
	led     int                                  // how often Lead succeeded
	broken  bool                                 // Apply fails
	unable  bool                                 // Lead fails
	gate    chan struct{}                        // Apply gives and takes a value, unless it is nil
	leading chan struct{}                        // Lead gives and takes a value, and fails, unless it is nil
	stops   chan struct{}                        // StopLeading waits until it is closed, unless it is nil
	copied  func(text []byte) (int64, io.Reader) // what Copy returns of the state, unless it is nil

	applied chan struct{} // gets a value after Apply, Restore, Lead and StopLeading, if there is room
}

type listState struct {
	Index uint64
	Texts []string
	Moved int // how often the state was restored from another
}

func openList(t *testing.T, path string) *list {
	t.Helper()
	l := &list{path: path, applied: make(chan struct{}, 1)}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &l.state)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// changed tells those who wait, and must be called with l.mu held.
func (l *list) changed() {
	select {
	case l.applied <- struct{}{}:
	default:
	}
}

func (l *list) save() error {
	text, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	return os.WriteFile(l.path, text, 0o600)
}

func (l *list) setBroken(broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = broken
}

func (l *list) setUnable(unable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unable = unable
}

func (l *list) setGate(gate chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = gate
}

func (l *list) Apply(all []store.Transaction) error {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		gate <- struct{}{}
		<-gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	if l.broken {
		return errors.New("the disk is full")
	}
	l.leads = false
	for _, tx := range all {
		if tx.Index > l.state.Index {
			l.state.Index, l.state.Texts = tx.Index, append(l.state.Texts, string(tx.Data))
		}
	}
	return l.save()
}

func (l *list) Copy() (int64, io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := json.Marshal(l.state)
	if l.copied != nil {
		size, from := l.copied(text)
		return size, io.NopCloser(from), err
	}
	return int64(len(text)), io.NopCloser(bytes.NewReader(text)), err
}

func (l *list) Restore(from io.Reader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	moved := l.state.Moved + 1
	if err := json.Unmarshal(text, &l.state); err != nil {
		return err
	}
	l.state.Moved = moved
	return l.save()
}

func (l *list) Lead() error {
	if l.leading != nil {
		l.leading <- struct{}{}
		<-l.leading
		return errors.New("the disk is full")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	if l.unable {
		return errors.New("the machine cannot lead")
	}
	l.leads = true
	l.led++
	return nil
}

func (l *list) Led() {}

func (l *list) StopLeading(leader string) {
	if l.stops != nil {
		<-l.stops
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed()
	l.leads, l.leader = false, leader
}

// wait waits until is holds for the list.
func (l *list) wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		l.mu.Lock()
		done := is()
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.applied:
		case <-time.After(heartbeat): // Raft.Leading changes after Lead
		case <-late:
			t.Fatalf("%s: not after %s: %+v", what, patience, l.state)
		}
	}
}

func (l *list) timesLed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.led
}
