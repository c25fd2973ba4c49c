package cluster

import (
	"context"
	"errors"

	"lectern/gateway/config"
	"lectern/store"
)

// waitUntilServed waits until the project serves.
func (n *Node) waitUntilServed() error { return n.waitFor(n.serving) }

// waitForStore waits until the project serves, or has half converted content, which it serves once it got the rest.
func (n *Node) waitForStore() error {
	if err := n.waitFor(n.opened); err != nil || n.halfConverted.Load() != nil {
		return err
	}
	return n.waitUntilServed()
}

func (n *Node) waitFor(closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
}

// Apply implements consensus.Machine.
func (n *Node) Apply(list []store.Transaction) error {
	if err := n.waitForStore(); err != nil {
		return err
	}
	if st := n.halfConverted.Load(); st != nil {
		if _, err := st.ApplyTransactions(n.ctx, list); err != nil {
			return err
		}
		err := n.serveConverted(st, func(ctx context.Context, _ *store.Store, d *config.Definition) (*store.Store,
			error) {
			return st.Adopt(ctx, d.Model)
		})
		if errors.Is(err, store.ErrOtherDefinitions) { // more transactions follow
			return nil
		}
		return err
	}
	st := n.project.Store()
	behind, err := st.ApplyTransactions(n.ctx, list)
	if err != nil {
		return err
	}
	if !behind {
		if behind, err = n.differs(st); err != nil {
			return err
		}
	}
	if behind {
		return n.takeDefinitions(st, n.Redefine)
	}
	if err := n.project.RefreshTokens(); err != nil { // before reads that wait for what was written go on
		return err
	}
	n.advance()
	return nil
}

// differs reports whether the cluster, whose content a store has, has other definitions than are served.
func (n *Node) differs(st *store.Store) (bool, error) {
	var hash string
	err := readNote(st, hashNote, &hash)
	return hash != "" && hash != n.project.Served().Files().Hash(), err
}

// takeDefinitions serves the definitions of the cluster, which a store has, with the store that under returns. It
// changes nothing while the content is converted to them.
func (n *Node) takeDefinitions(from *store.Store, under Redefiner) error {
	err := n.serve(from, Replacement{Store: under})
	if errors.Is(err, store.ErrOtherDefinitions) { // more transactions follow
		return nil
	}
	return err
}

// Redefine is the Redefiner of changed definitions: it returns the present store under them.
func (n *Node) Redefine(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error) {
	if n.Leads() {
		return before.Redefine(ctx, d.Model, n.project.ConversionOptions(d))
	}
	return before.Adopt(ctx, d.Model)
}

// serve serves the definitions of the cluster, which a store has, with the store of a replacement. It returns
// store.ErrOtherDefinitions while the content is converted to them.
func (n *Node) serve(from *store.Store, r Replacement) error {
	served, err := readOwnFiles(n.Files())
	if err != nil {
		return err
	}
	if err := n.unpackStored(from); err != nil {
		return err
	}
	r.Load = func() (Definition, error) { return n.load(n.Files(), served) }
	if err := n.replace(r); err != nil {
		return err
	}
	n.advance()
	return nil
}

// replace serves a replacement. If nothing is served yet, Open waits for that.
func (n *Node) replace(r Replacement) error {
	first := n.project.Store() == nil
	err := n.project.Replace(n.ctx, r)
	if err == nil && first {
		close(n.converted)
	}
	return err
}

// Lead implements consensus.Machine.
func (n *Node) Lead() error {
	if err := n.waitForStore(); err != nil {
		return err
	}
	if err := n.checkReaders(); err != nil {
		return err
	}
	n.endLead()
	p := n.project
	if st := n.halfConverted.Load(); st != nil {
		err := n.serveConverted(st, func(ctx context.Context, _ *store.Store, d *config.Definition) (*store.Store,
			error) {
			return st.Lead(ctx, d.Model, p.ConversionOptions(d))
		})
		if err == nil {
			err = n.waitUntilServed()
		}
		if err != nil {
			return err
		}
	}
	err := n.takeDefinitions(p.Store(), func(ctx context.Context, before *store.Store,
		d *config.Definition) (*store.Store, error) {
		return before.Lead(ctx, d.Model, p.ConversionOptions(d))
	})
	if err == nil {
		err = n.shareSecret()
	}
	if err != nil {
		return err
	}
	n.log.Info("this node leads the cluster", "node", n.options.Name)
	ctx, stop := context.WithCancel(n.ctx)
	n.stop = stop
	n.parts.Go(func() { p.RunSchedules(ctx) })
	n.parts.Go(func() { p.Webhooks().Run(ctx) })
	n.parts.Go(func() { n.giveVotes(ctx) })
	return nil
}

// Led implements consensus.Machine.
func (n *Node) Led() { n.setLeader(n.options.Address) }

// StopLeading implements consensus.Machine.
func (n *Node) StopLeading(leader string) {
	if n.waitForStore() != nil {
		return
	}
	n.endLead()
	before := *n.leader.Load()
	n.setLeader(leader)
	if err := n.store().StopLeading(n.ctx); err != nil && n.ctx.Err() == nil {
		n.log.Error("the node cannot follow the leader of the cluster", "error", err)
	}
	if leader != "" && leader != before {
		n.log.Info("this node follows the leader of the cluster", "node", n.options.Name, "leader", leader)
	}
}

// endLead ends what the leader alone does.
func (n *Node) endLead() {
	if n.stop != nil {
		n.stop()
		n.stop = nil
	}
	n.parts.Wait()
}

// setLeader notes the address of the leader, and wakes those that wait for one.
func (n *Node) setLeader(address string) {
	n.leader.Store(&address)
	n.changed.send() // also if it is the same one: it may have been without the lead meanwhile
}
