package kills

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"lectern/internal/servertest"
	"lectern/internal/simulation/program"
)

var mostLost = flag.Duration(
	"mostlost", 0, "fail if a backup lacks a write that was acknowledged so long before the kill; 0: no bound")

// A killedBackup is a project with a server, clients that write, and a process that writes a continuous backup.
type killedBackup struct {
	*killBench
	place    string
	server   *program.Server
	follower *exec.Cmd
	load     program.Load
	restored []restoredState // after each kill
	lost     time.Duration   // the longest time before a kill at which a write was acknowledged that the backup lacks
}

// A restoredState is a state that was restored from a backup.
type restoredState struct {
	position string
	content  []string // as lines of an export, in order
}

// TestKilledBackupRestoresWhatWasWrittenFirst kills the server, the process that writes a continuous backup, or both,
// at random moments while clients write. The state that is restored after each kill is a prefix of the writes. Both
// processes are started again, and in the end the backup has all content, and still each state that was restored
// before.
func TestKilledBackupRestoresWhatWasWrittenFirst(t *testing.T) {
	b := newKilledBackup(t)
	rng := rand.New(rand.NewPCG(*program.Seed, 9))
	for round := range *kills {
		b.round(round, rng)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	b.caughtUp()
	for _, m := range b.restored {
		if _, content := b.restore(m.position); !slices.Equal(content, m.content) {
			t.Errorf("%s is restored with %d lines, and was with %d", m.position, len(content), len(m.content))
		}
	}
	if err := b.follower.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := b.follower.Wait(); err != nil {
		t.Errorf("stop the backup: %v", err)
	}
	if err := b.server.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("%d kills, %d acknowledged writes; the backup lacked none that was older than %v", *kills, len(b.load.Acks),
		b.lost)
}

func newKilledBackup(t *testing.T) *killedBackup {
	b := &killedBackup{killBench: &killBench{T: t, Notes: program.NewNotes(t, program.Released)}, place: t.TempDir()}
	b.server = b.Serve(t)
	b.load.Board = program.NewBoard(t, b.server)
	b.follow("24h")
	servertest.Until(t, "the first base is taken", func() bool {
		complete, err := filepath.Glob(filepath.Join(b.place, "uploads", "*-full.json")) // it is stored after its base
		if err != nil {
			t.Fatal(err)
		}
		return len(complete) > 0
	})
	return b
}

// follow starts the process that writes the backup.
func (b *killedBackup) follow(every string) {
	b.Helper()
	b.follower = exec.Command(b.Binary, "backup", "--follow", b.place, "--every", every, b.Dir)
	b.follower.Stderr = os.Stderr
	if err := b.follower.Start(); err != nil {
		b.Fatal(err)
	}
	process := b.follower.Process
	b.Cleanup(func() { _ = process.Kill() }) // it may have ended
}

// round kills and starts processes while clients write.
func (b *killedBackup) round(n int, rng *rand.Rand) {
	l := &b.load
	l.Server, l.Prefix, l.Stop = b.server, fmt.Sprintf("b%d", n), make(chan struct{})
	written := make(chan struct{})
	go func() { defer close(written); l.Run() }()
	<-time.After(time.Duration(20+rng.IntN(1500)) * time.Millisecond)
	starts := []func(){}
	if n%3 != 1 {
		b.server.Kill()
		starts = append(starts, func() { b.server = b.Serve(b.T) })
	}
	if n%3 != 0 {
		if err := b.follower.Process.Kill(); err != nil {
			b.Error(err)
		}
		_ = b.follower.Wait() // it was killed
		every := []string{"24h", "300ms"}[rng.IntN(2)]
		starts = append(starts, func() { b.follow(every) })
	}
	killed := time.Now()
	position, content := b.restore("")
	rng.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	for _, start := range starts {
		start()
	}
	close(l.Stop)
	<-written
	b.restored = append(b.restored, restoredState{position, content})
	b.isPrefix(content, killed)
}

var restoredTo = regexp.MustCompile(`after entry ([0-9a-f]+-[0-9]+):`)

// restore restores a moment of the backup, "" for the last one. It returns the position and the content as lines of an
// export, in order.
func (b *killedBackup) restore(at string) (position string, content []string) {
	b.Helper()
	data := filepath.Join(b.TempDir(), "data")
	arguments := []string{"restore", "--data", data, b.Dir, b.place}
	if at != "" {
		arguments = append(arguments, "--at", at)
	}
	out, err := exec.Command(b.Binary, arguments...).CombinedOutput()
	m := restoredTo.FindSubmatch(out)
	if err != nil || m == nil {
		b.Fatalf("restore %s: %v\n%s", at, err, out)
	}
	b.must("check", "--store", "--data", data, b.Dir)
	return string(m[1]), b.export(data)
}

// isPrefix fails the test unless the content is that of a prefix of the writes: if it has a write, then it has each
// write that was acknowledged before that one was sent.
func (b *killedBackup) isPrefix(content []string, killed time.Time) {
	b.Helper()
	numbers := b.numbers(content)
	restored := map[string]int{} // the number of the last write that is there, by key
	var newest time.Time         // when the last write was sent that is there
	for _, e := range b.load.Entries {
		n := numbers[e.Key]
		delete(numbers, e.Key)
		if n > e.Tried {
			b.Fatalf("%s has the number %d, and %d were sent", e.Key, n, e.Tried)
		}
		if n > 0 && e.Writes[n-1].Sent.After(newest) {
			newest = e.Writes[n-1].Sent
		}
		restored[e.Key] = n
	}
	for key := range numbers {
		b.Errorf("%s was never written", key)
	}
	for _, e := range b.load.Entries {
		n := restored[e.Key]
		for i, w := range e.Writes[n:] {
			if w.Received.IsZero() || w.Received.After(killed) {
				continue
			}
			if w.Received.Before(newest) {
				b.Errorf("write %d of %s is missing, but one that was sent %v after its acknowledgement is there",
					n+i+1, e.Key, newest.Sub(w.Received))
			}
			b.lost = max(b.lost, killed.Sub(w.Received))
		}
	}
	if *mostLost > 0 && b.lost > *mostLost {
		b.Errorf("a write is missing that was acknowledged %v before the kill", b.lost)
	}
}

// numbers returns the number of each note by its key. Each must be there as a draft and published, the same in both,
// and on the board.
func (b *killedBackup) numbers(content []string) map[string]int {
	b.Helper()
	numbers, versions := map[string]int{}, map[string]int{}
	for _, line := range content {
		var is struct {
			Type string
			Data struct {
				Key    string
				Number int
				Board  struct{ DocumentID string }
			}
		}
		if err := json.Unmarshal([]byte(line), &is); err != nil {
			b.Fatalf("%v: %s", err, line)
		}
		if is.Type != "api::note.note" {
			continue
		}
		key, n := is.Data.Key, is.Data.Number
		if versions[key]++; versions[key] > 1 && numbers[key] != n || is.Data.Board.DocumentID != b.load.Board {
			b.Errorf("not as it was written: %s", line)
		}
		numbers[key] = n
	}
	for key, n := range versions {
		if n != 2 {
			b.Errorf("%s has %d versions", key, n)
		}
	}
	return numbers
}

// caughtUp waits until the backup has all content of the server.
func (b *killedBackup) caughtUp() {
	b.Helper()
	want := b.export(filepath.Join(b.Dir, "data"))
	for late := time.Now().Add(30 * time.Second); ; {
		_, got := b.restore("")
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(late) {
			b.Fatalf("%d lines are restored, and the server has %d", len(got), len(want))
		}
	}
}
