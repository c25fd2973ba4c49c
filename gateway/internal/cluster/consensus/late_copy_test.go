package consensus_test

import (
	"fmt"
	"testing"
)

// TestLateCopy sends a node a copy twice, as a leader may that has lost the answer, or that has removed the node and
// added it again. The second one arrives after the entries that follow on it. The node must keep them: the leader
// counts on them.
func TestLateCopy(t *testing.T) {
	for committed := uint64(9); committed <= 11; committed++ {
		t.Run(fmt.Sprint(committed), func(t *testing.T) {
			leader := newFakeLeader(t)
			if err := leader.install(9); err != nil {
				t.Fatal(err)
			}
			leader.append(9, 2, 11, committed)
			if err := leader.install(9); err == nil {
				t.Error("the node took an older state")
			}
			leader.append(11, 3, 12, 12)
			leader.to.wait(t, "all entries", has(leader.to, "copy", "10", "11", "12"))
			if leader.to.state.Moved != 1 {
				t.Errorf("the state was replaced %d times, want once", leader.to.state.Moved)
			}
		})
	}
}

// TestNextLeader sends a node a copy and entries of a leader that is lost before others have them. The next leader has
// others in their place, or a copy that goes further.
func TestNextLeader(t *testing.T) {
	for name, next := range map[string]struct {
		send func(*fakeLeader)
		want []string
	}{
		"entries": {func(l *fakeLeader) { l.append(9, 2, 10, 10) }, []string{"copy", "10"}},
		"copy": {func(l *fakeLeader) {
			if err := l.install(15); err != nil {
				l.t.Fatal(err)
			}
			l.append(15, 2, 16, 16)
		}, []string{"copy", "16"}},
	} {
		t.Run(name, func(t *testing.T) {
			leader := newFakeLeader(t)
			if err := leader.install(9); err != nil {
				t.Fatal(err)
			}
			leader.append(9, 2, 11, 9)
			leader.term++
			next.send(leader)
			leader.to.wait(t, "what the next leader has", has(leader.to, next.want...))
		})
	}
}
