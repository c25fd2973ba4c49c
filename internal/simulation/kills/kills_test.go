package kills

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"lectern/internal/simulation/program"
)

var kills = flag.Int("kills", 3, "how often the server is killed while it writes")

// TestKilledServerKeepsAcknowledgedWrites kills the server at random moments while clients write. After the next start,
// every acknowledged write must be present exactly once and the store consistent.
func TestKilledServerKeepsAcknowledgedWrites(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	rng := rand.New(rand.NewPCG(*program.Seed, 4))
	acknowledged := 0
	for round := range *kills {
		if round%20 == 19 {
			s.NewData(t)
		}
		server := s.Serve(t)
		l := &program.Load{Server: server, Board: program.NewBoard(t, server), Prefix: fmt.Sprintf("r%d", round)}
		server.KillAfter(time.Duration(5+rng.IntN(150)) * time.Millisecond)
		l.Run()
		<-server.Ended()
		s.Check(t)
		server = s.Serve(t)
		l.Verify(t, server)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		acknowledged += len(l.Acks)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills, %d acknowledged writes, none lost", *kills, acknowledged)
}
