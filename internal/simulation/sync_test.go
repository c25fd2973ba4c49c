package simulation

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A syncLog is the file in which a watched binary records its syncs.
type syncLog struct{ path string }

type span struct{ began, ended time.Time }

func (l syncLog) spans(t *testing.T) []span {
	t.Helper()
	f, err := os.Open(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []span
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var began, ended int64
		if _, err := fmt.Sscan(lines.Text(), &began, &ended); err == nil {
			all = append(all, span{time.Unix(0, began), time.Unix(0, ended)})
		}
	}
	return all
}

// watchedNotes returns a noteProject with slow syncs, and the log of the syncs.
func watchedNotes(t *testing.T, delay time.Duration) (*noteProject, syncLog) {
	s := newNoteProject(t, watchedBinary)
	log := syncLog{filepath.Join(t.TempDir(), "syncs")}
	s.env = []string{"SYNC_LOG=" + log.path, "SYNC_DELAY=" + delay.String()}
	return s, log
}

// TestSharedSyncs counts the syncs for concurrent writers, and checks that no write is answered before it is on disk.
func TestSharedSyncs(t *testing.T) {
	s, log := watchedNotes(t, 4*time.Millisecond)
	server := s.serve(t)
	board := newBoard(t, server)
	before := len(log.spans(t))
	l := &load{server: server, board: board, prefix: "shared", limit: 20}
	l.run()
	syncs := log.spans(t)[before:]
	if len(l.acks) != writers*20 {
		t.Fatalf("%d of %d writes were acknowledged", len(l.acks), writers*20)
	}
	t.Logf("%d writes, %d syncs", len(l.acks), len(syncs))
	if 4*len(syncs) > len(l.acks) {
		t.Errorf("%d syncs for %d writes, want one for four at most", len(syncs), len(l.acks))
	}
	for _, a := range l.acks {
		if !covered(a, syncs) {
			t.Fatalf("a write sent at %v was acknowledged at %v without a sync between", a.sent, a.received)
		}
	}
	l.verify(t, server)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	s.check(t)
}

// covered reports whether a sync began and ended between the request and the response of a write.
func covered(a ack, syncs []span) bool {
	for _, s := range syncs {
		if !s.began.Before(a.sent) && !s.ended.After(a.received) {
			return true
		}
	}
	return false
}

// TestFailingSync makes syncs fail while clients write. From then on no write may be acknowledged, and earlier acknowledged
// writes must be present after the next start.
func TestFailingSync(t *testing.T) {
	s, _ := watchedNotes(t, time.Millisecond)
	fail := filepath.Join(t.TempDir(), "fail")
	s.env = append(s.env, "SYNC_FAIL="+fail)
	server := s.serve(t)
	l := &load{server: server, board: newBoard(t, server), prefix: "failing"}
	var failing time.Time
	l.onAck = func(n int) {
		if n != 100 {
			return
		}
		if err := os.WriteFile(fail, nil, 0o600); err != nil {
			t.Error(err)
		}
		failing = time.Now()
	}
	l.run()
	if len(l.acks) == 0 || len(l.refusals) == 0 {
		t.Fatalf("%d writes acknowledged, %d refused; wanted some of each", len(l.acks), len(l.refusals))
	}
	for _, a := range l.acks {
		if a.sent.After(failing) {
			t.Errorf("a write sent %v after syncs began to fail was acknowledged", a.sent.Sub(failing))
		}
	}
	if status, _, err := server.Do("POST", "/api/boards", map[string]any{"data": map[string]any{"name": "late"}}); err != nil || status < 500 {
		t.Errorf("a write after a failed sync: %d %v; wanted a server error", status, err)
	}
	server.Kill()
	if err := os.Remove(fail); err != nil {
		t.Fatal(err)
	}
	server = s.serve(t)
	l.verify(t, server)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	s.check(t)
	t.Logf("%d writes acknowledged before, none after; %d refused", len(l.acks), len(l.refusals))
}
