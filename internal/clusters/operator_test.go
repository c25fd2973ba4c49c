//go:build linux

package clusters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/servertest"
	"lectern/store/evolve"
)

// An operator changes the cluster while it is used: which node leads, which nodes belong to it and vote, and its
// definitions. Under faults most changes fail, or their outcome is unknown.
type operator struct {
	*world
	rnd     *rand.Rand
	made    map[string]int
	failed  int
	ended   chan struct{}
	running sync.WaitGroup
}

// changeTime is how long the operator waits for the outcome of a change.
const changeTime = 5 * time.Second

func newOperator(w *world, seed uint64) *operator {
	return &operator{world: w, rnd: rand.New(rand.NewPCG(seed, 0)), made: map[string]int{}, ended: make(chan struct{})}
}

// start makes changes until stop.
func (o *operator) start() {
	o.running.Go(func() {
		for o.pause() {
			switch o.rnd.IntN(5) {
			case 0, 1:
				o.change("transfer", o.transfer)
			case 2:
				o.change("definitions", o.deploy)
			case 3:
				o.without("removal",
					func(d *admin.Directory, ctx context.Context, n *node) error { return d.RemoveNode(ctx, n.name) })
			default:
				o.without("vote", func(d *admin.Directory, ctx context.Context, n *node) error {
					return d.AddNode(ctx, o.nodeOf(n, false))
				})
			}
		}
	})
}

// pause waits for some time. It returns false when the operator is to stop.
func (o *operator) pause() bool {
	select {
	case <-o.ended:
		return false
	case <-time.After(time.Duration(100+o.rnd.IntN(3000)) * time.Millisecond):
		return true
	}
}

// stop ends the changes, and makes all nodes voters again, which must be possible: no fault may be left.
func (o *operator) stop() {
	close(o.ended)
	o.running.Wait()
	for _, n := range o.nodes {
		o.restore(n, time.Now().Add(60*time.Second), func() bool { return true })
	}
}

// change makes a change at a random node, and counts it.
func (o *operator) change(what string, make func(*admin.Directory, context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), changeTime)
	defer cancel()
	at := gateway.Directory(o.nodes[o.rnd.IntN(len(o.nodes))].dir, gateway.Options{})
	if err := make(at, ctx); err != nil {
		o.failed++
		return
	}
	o.made[what]++
}

// surely makes a change that must be possible before long.
func (o *operator) surely(what string, make func(*admin.Directory, context.Context) error) {
	o.Helper()
	servertest.Until(o, "a change is made: "+what, func() bool {
		if o.made[what] == 0 {
			o.change(what, make)
		}
		return o.made[what] > 0
	})
}

func (o *operator) transfer(d *admin.Directory, ctx context.Context) error {
	to := ""
	if o.rnd.IntN(2) == 0 {
		to = o.nodes[o.rnd.IntN(len(o.nodes))].name
	}
	return d.TransferLead(ctx, to)
}

// maxAdded is how many of the attributes that were added entries have at a time.
const maxAdded = 2

// deploy adds an attribute to the type of the entries, and drops older ones with their values.
func (o *operator) deploy(d *admin.Directory, ctx context.Context) error {
	added := o.deployed.Add(1)
	dir := o.TempDir()
	o.writeProject(dir)
	path := filepath.Join(dir, "content-types", "entry.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i := max(0, added-maxAdded); i < added; i++ {
		text = fmt.Appendf(text, "  added%d: {type: integer, default: %d}\n", i, i)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	files, err := gateway.DefinitionFiles(dir)
	if err != nil {
		return err
	}
	_, err = d.Deploy(ctx, admin.Deployment{Definitions: files})
	for refused := (*evolve.DefinitionError)(nil); errors.As(
		err, &refused); { // again if a deployment of before, whose outcome is unknown, was made meanwhile
		var drops []string
		for _, r := range refused.Refusals {
			drops = append(drops, "drop-attribute", "api::entry.entry."+
				regexp.MustCompile(`added\d+`).FindString(r.Problem))
		}
		var ms evolve.Migrations
		if ms, err = evolve.ParseMigrations(drops); err == nil {
			_, err = d.Deploy(ctx, admin.Deployment{Definitions: files, Migrations: ms})
		}
		if err == nil {
			o.made["attributes dropped"] += len(ms)
		}
	}
	return err
}

// without takes something from a node for a while: its place in the cluster, or its vote.
func (o *operator) without(what string, take func(*admin.Directory, context.Context, *node) error) {
	n := o.nodes[o.rnd.IntN(len(o.nodes))]
	o.change(what, func(d *admin.Directory, ctx context.Context) error { return take(d, ctx, n) })
	o.pause()
	o.restore(n, time.Time{}, func() bool {
		select {
		case <-o.ended: // stop restores all nodes
			return false
		default:
			return true
		}
	})
}

// nodeOf returns a node as the administration names it.
func (o *operator) nodeOf(n *node, votes bool) admin.ClusterNode {
	return admin.ClusterNode{Name: n.name, Address: n.address, Voter: votes}
}

// restore makes a node a voter, and tries as long as goesOn returns true. late is when that is an error; never if it is
// zero.
func (o *operator) restore(n *node, late time.Time, goesOn func() bool) {
	for goesOn() {
		at := o.nodes[o.rnd.IntN(len(o.nodes))]
		ctx, cancel := context.WithTimeout(context.Background(), changeTime)
		err := gateway.Directory(at.dir, gateway.Options{}).AddNode(ctx, o.nodeOf(n, true))
		cancel()
		if err == nil {
			return
		}
		if !late.IsZero() && time.Now().After(late) {
			o.Errorf("%s cannot become a voter: %v", n.name, err)
			return
		}
		time.Sleep(50 * time.Millisecond) // an operator that tries again; what is missing is known to the nodes only
	}
}

// report returns what was done.
func (o *operator) report() string {
	return fmt.Sprintf("changes: %v, %d failed", o.made, o.failed)
}
