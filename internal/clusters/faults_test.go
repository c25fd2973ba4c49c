//go:build linux

package clusters

import (
	"slices"
	"time"

	"lectern/internal/servertest"
)

// faults makes faults in a world, and counts them by kind.
type faults struct {
	*world
	made  map[string]int
	slows bool // whether disks can be slow, which needs strace
}

// run makes faults until a time.
func (f *faults) run(until time.Time) {
	for time.Now().Before(until) {
		f.step()
		time.Sleep(time.Duration(50+f.rnd.IntN(1500)) * time.Millisecond) // how long the fault lasts, and the load goes on
	}
}

// step makes a fault, or ends one.
func (f *faults) step() {
	n := f.nodes[f.rnd.IntN(len(f.nodes))]
	if f.rnd.IntN(3) == 0 {
		n = f.leader()
	}
	down := 0
	for _, n := range f.nodes {
		f.revive(n)
		if n.paused || n.full || !n.Runs() {
			down++
		}
	}
	switch turn := f.rnd.IntN(11); {
	case n.slow != nil:
		f.must(n.hurry())
	case n.Runs() && f.slows && f.rnd.IntN(8) == 0:
		f.made["slow disk"]++
		f.must(n.slowDown(time.Duration(1+f.rnd.IntN(200)) * time.Millisecond))
	case *disks > 0 && !n.full && down < len(f.nodes)/2 && f.rnd.IntN(8) == 0:
		f.made["full disk"]++
		f.must(n.fill())
	case !n.Runs():
		n.Start()
	case n.paused:
		f.resume(n)
	case n.full && f.rnd.IntN(3) > 0:
		f.must(n.empty())
	case down > len(f.nodes)/2 || down == len(f.nodes)/2 && f.rnd.IntN(5) > 0: // a majority is down only at times
		f.up()
	case turn < 3:
		f.kill(n)
	case turn < 5:
		f.pause(n)
	case turn < 9:
		f.partition(n)
	case turn < 10:
		f.connect()
	default:
		f.stepClock(n)
	}
}

// up has one of the nodes that are down go on.
func (f *faults) up() {
	for _, i := range f.rnd.Perm(len(f.nodes)) {
		switch n := f.nodes[i]; {
		case !n.Runs():
			n.Start()
			return
		case n.paused:
			f.resume(n)
			return
		case n.full:
			f.must(n.empty())
			return
		}
	}
}

func (f *faults) kill(n *node) {
	f.made["kill"]++
	n.Kill()
}

func (f *faults) pause(n *node) {
	f.made["pause"]++
	f.must(n.Pause())
	n.paused = true
}

func (f *faults) resume(n *node) {
	f.must(n.Resume())
	n.paused = false
}

// stepClock sets the clock of a node forward or back. Clocks differ by less than the day for which the answers to
// writes are kept.
func (f *faults) stepClock(n *node) {
	f.made["clock"]++
	f.must(n.stepClock(time.Duration(f.rnd.IntN(22)-11) * time.Hour))
}

// partition cuts the network at a node, in one of several ways.
func (f *faults) partition(n *node) {
	at := slices.Index(f.nodes, n)
	kinds := f.network.faults()
	fault := kinds[f.rnd.IntN(len(kinds))]
	if fault == servertest.Slow || fault == servertest.Cutting {
		f.made["bad network"]++
		f.network.reachable(fault, func(from, to int) bool { return f.rnd.IntN(2) == 0 })
		return
	}
	place := make([]int, len(f.nodes)) // in a random order that begins with n
	for i, j := range f.rnd.Perm(len(f.nodes)) {
		place[j] = i
	}
	other := slices.Index(place, 0)
	place[other], place[at] = place[at], 0
	minority := 1 + f.rnd.IntN(len(f.nodes)/2)
	switch f.rnd.IntN(4) {
	case 0:
		f.made["minority"]++
		f.network.reachable(
			fault, func(from, to int) bool { return (place[from] < minority) == (place[to] < minority) })
	case 1: // only the node in the middle reaches all
		f.made["bridge"]++
		middle := len(f.nodes) / 2
		f.network.reachable(fault, func(from, to int) bool {
			return place[from] == middle || place[to] == middle || (place[from] < middle) == (place[to] < middle)
		})
	case 2:
		f.made["one way out"]++
		f.network.reachable(fault, func(from, to int) bool { return place[from] >= minority || place[to] < minority })
	case 3:
		f.made["one way in"]++
		f.network.reachable(fault, func(from, to int) bool { return place[to] >= minority || place[from] < minority })
	}
}

// connect ends all faults of the network.
func (f *faults) connect() { f.network.reachable(servertest.None, func(int, int) bool { return true }) }

// heal ends all faults.
func (f *faults) heal() {
	f.connect()
	for _, n := range f.nodes {
		f.must(n.hurry())
		f.must(n.empty())
		f.must(n.stepClock(0))
		if n.paused {
			f.resume(n)
		}
		if !n.Runs() {
			n.Start()
		}
	}
}

// runShort makes a few faults and changes, each once the cluster has taken writes after the one before.
func (f *faults) runShort(l *load, o *operator) {
	l.progress()
	leader := f.leader()
	f.stepClock(f.nodes[0])
	f.kill(leader)
	l.progress()
	leader.Start()
	f.await(leader)
	leader = f.leader()
	f.stepClock(leader)
	f.made["minority"]++
	f.network.reachable(servertest.Held,
		func(from, to int) bool { return f.nodes[from] != leader && f.nodes[to] != leader })
	l.progress()
	f.connect()
	f.pause(f.leader())
	l.progress()
	f.heal()
	o.surely("definitions", o.deploy)
	o.surely("transfer", o.transfer)
	l.progress()
	other := f.nodes[(slices.Index(f.nodes, f.leader())+1)%len(f.nodes)]
	f.kill(other)
	l.progress()
}
