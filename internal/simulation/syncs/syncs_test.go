package syncs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/internal/simulation/program"
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

// watched builds the program so that its syncs can be counted, delayed and made to fail, once.
var watched = sync.OnceValues(func() (string, error) {
	dir, err := program.BuildDir()
	if err != nil {
		return "", err
	}
	module, err := watchedModule(dir)
	if err != nil {
		return "", err
	}
	return program.Build("lectern-watched", "-modfile", module)
})

// watchedModule writes a go.mod that replaces bbolt by a copy with watched syncs, and returns its path.
func watchedModule(dir string) (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.etcd.io/bbolt").Output()
	if err != nil {
		return "", err
	}
	bolt, module := filepath.Join(dir, "bbolt"), filepath.Join(dir, "watched.mod")
	err = os.CopyFS(bolt, os.DirFS(strings.TrimSpace(string(out))))
	for to, from := range map[string]string{
		filepath.Join(bolt, "bolt_linux.go"): "testdata/sync_linux.go.txt",
		module:                               "../../../go.mod",
		filepath.Join(dir, "watched.sum"):    "../../../go.sum",
	} {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(from)
		}
		if to == module {
			text = append(text, "\nreplace go.etcd.io/bbolt => "+bolt+"\n"...)
		}
		if err == nil {
			os.Remove(to) // files of the module cache are read-only
			err = os.WriteFile(to, text, 0o600)
		}
	}
	return module, err
}

// watchedNotes returns a project of notes with slow syncs, and the log of the syncs.
func watchedNotes(t *testing.T, delay time.Duration) (*program.Notes, syncLog) {
	s := program.NewNotes(t, watched)
	log := syncLog{filepath.Join(t.TempDir(), "syncs")}
	s.Env = []string{"SYNC_LOG=" + log.path, "SYNC_DELAY=" + delay.String()}
	return s, log
}

// TestWritersShareSyncs counts the syncs for concurrent writers, and checks that no write is answered before it is on
// disk.
func TestWritersShareSyncs(t *testing.T) {
	s, log := watchedNotes(t, 4*time.Millisecond)
	server := s.Serve(t)
	board := program.NewBoard(t, server)
	before := len(log.spans(t))
	l := &program.Load{Server: server, Board: board, Prefix: "shared", Limit: 20}
	l.Run()
	syncs := log.spans(t)[before:]
	if len(l.Acks) != program.Writers*20 {
		t.Fatalf("%d of %d writes were acknowledged", len(l.Acks), program.Writers*20)
	}
	t.Logf("%d writes, %d syncs", len(l.Acks), len(syncs))
	if 4*len(syncs) > len(l.Acks) {
		t.Errorf("%d syncs for %d writes, want one for four at most", len(syncs), len(l.Acks))
	}
	for _, a := range l.Acks {
		if !covered(a, syncs) {
			t.Fatalf("a write sent at %v was acknowledged at %v without a sync between", a.Sent, a.Received)
		}
	}
	l.Verify(t, server)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	s.Check(t)
}

// covered reports whether a sync began and ended between the request and the response of a write.
func covered(a program.Ack, syncs []span) bool {
	for _, s := range syncs {
		if !s.began.Before(a.Sent) && !s.ended.After(a.Received) {
			return true
		}
	}
	return false
}

// TestFailedSyncEndsWrites makes syncs fail while clients write. From then on no write may be acknowledged, and earlier
// acknowledged writes must be present after the next start.
func TestFailedSyncEndsWrites(t *testing.T) {
	s, _ := watchedNotes(t, time.Millisecond)
	fail := filepath.Join(t.TempDir(), "fail")
	s.Env = append(s.Env, "SYNC_FAIL="+fail)
	server := s.Serve(t)
	l := &program.Load{Server: server, Board: program.NewBoard(t, server), Prefix: "failing"}
	var failing time.Time
	l.OnAck = func(n int) {
		if n != 100 {
			return
		}
		if err := os.WriteFile(fail, nil, 0o600); err != nil {
			t.Error(err)
		}
		failing = time.Now()
	}
	l.Run()
	if len(l.Acks) == 0 || len(l.Refusals) == 0 {
		t.Fatalf("%d writes acknowledged, %d refused; wanted some of each", len(l.Acks), len(l.Refusals))
	}
	for _, a := range l.Acks {
		if a.Sent.After(failing) {
			t.Errorf("a write sent %v after syncs began to fail was acknowledged", a.Sent.Sub(failing))
		}
	}
	if status, _, err := server.Do("POST", "/api/boards",
		map[string]any{"data": map[string]any{"name": "late"}}); err != nil || status < 500 {
		t.Errorf("a write after a failed sync: %d %v; wanted a server error", status, err)
	}
	server.Kill()
	if err := os.Remove(fail); err != nil {
		t.Fatal(err)
	}
	server = s.Serve(t)
	l.Verify(t, server)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	s.Check(t)
	t.Logf("%d writes acknowledged before, none after; %d refused", len(l.Acks), len(l.Refusals))
}
