package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var kills = flag.Int("kills", 3, "how often the server is killed while it writes")

// TestKill kills the server at random moments while clients write. After the next start, every acknowledged write must be
// present exactly once and the store consistent.
func TestKill(t *testing.T) {
	s := newNoteProject(t, plainBinary)
	rng := rand.New(rand.NewPCG(*firstSeed, 4))
	acknowledged := 0
	for round := range *kills {
		if round%20 == 19 {
			s.newData(t)
		}
		server := s.serve(t)
		l := &load{server: server, board: newBoard(t, server), prefix: fmt.Sprintf("r%d", round)}
		time.AfterFunc(time.Duration(5+rng.IntN(150))*time.Millisecond, func() { server.cmd.Process.Kill() })
		l.run()
		<-server.done
		s.check(t)
		server = s.serve(t)
		l.verify(t, server)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		acknowledged += len(l.acks)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills, %d acknowledged writes, none lost", *kills, acknowledged)
}
