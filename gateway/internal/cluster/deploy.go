package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/internal/yamlfile"
	"lectern/store"
	"lectern/store/evolve"
)

// Deploy implements admin.Cluster. The leader carries it out: it checks the files, and makes them the definitions of
// the cluster in the transaction that begins the conversion of the content. The other nodes follow. If the leader is
// lost meanwhile, the next one goes on.
func (a clusterAdmin) Deploy(ctx context.Context, o admin.Deployment) (done admin.Deployed, err error) {
	if !a.Leads() {
		return done, store.ErrNotLeader
	}
	next, err := replication.ParseDefinitions(o.Definitions)
	if err != nil {
		return done, err
	}
	a.deploying.Lock()
	defer a.deploying.Unlock()
	grow, release, err := a.project.Reserve(ctx)
	if err != nil {
		return done, err
	}
	defer release()
	memory := int64(len(o.Definitions))
	for _, text := range next.Files {
		memory += yamlfile.Memory(text)
	}
	if err := grow(memory); err != nil {
		return done, err
	}
	old := a.project.Served().Files()
	if done.Changed = differences(old, next); len(done.Changed) == 0 {
		return done, nil
	}
	loaded, err := a.loadDeployment(next)
	if err != nil {
		return done, err
	}
	notes, err := encodeNotes(definitionNotes(next))
	if err != nil {
		return done, err
	}
	by := store.PrincipalOf(ctx)
	err = a.replace(Replacement{
		Load: func() (Definition, error) { return loaded, nil },
		Store: func(ctx context.Context, before *store.Store, d *config.Definition) (st *store.Store, err error) {
			options := a.project.ConversionOptions(d)
			options.Notes = notes
			st, done.Removed, err = before.Settle(store.WithPrincipal(ctx, by), o.Migrations, d.Model, options)
			return st, err
		}})
	if err == nil {
		a.advance()
		return done, a.unpackStored(a.project.Store())
	}
	if refused := (*evolve.DefinitionError)(nil); errors.As(err, &refused) {
		done.Refusals, done.Remaining = refused.Refusals, refused.Done
		return done, nil
	}
	// the next leader goes on with what the nodes have agreed to
	if errors.Is(err, store.ErrOutcome) || errors.Is(err, store.ErrNotLeader) {
		return done, fmt.Errorf("the node has lost the lead meanwhile, and whether the definitions are those of the "+
			"cluster now is not known: repeat the command: %w", err)
	}
	return done, errors.Join(err, putNotes(ctx, a.project.Store(), definitionNotes(old)))
}

// definitionNotes returns the notes that make files the definitions of the cluster.
func definitionNotes(files *replication.Definitions) map[string]any {
	return map[string]any{definitionsNote: files, hashNote: files.Hash()}
}

// loadDeployment loads files together with this node's own. What the node reads the definitions of the cluster from
// does not change: the nodes may not agree to them.
func (n *Node) loadDeployment(files *replication.Definitions) (Definition, error) {
	dir := filepath.Join(n.dir, "deployed")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	served, err := readOwnFiles(n.Files())
	if err != nil {
		return nil, err
	}
	if err := n.unpackTo(dir, files); err != nil {
		return nil, err
	}
	return n.load(dir, served)
}

// differences returns the names of the files that differ, with + for those that next adds and - for those that it
// leaves out.
func differences(old, next *replication.Definitions) (list []string) {
	names := map[string]bool{}
	for _, d := range []*replication.Definitions{old, next} {
		for name := range d.Files {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := old.Files[name]
		is, after := next.Files[name]
		switch {
		case !before:
			list = append(list, "+ "+name)
		case !after:
			list = append(list, "- "+name)
		case was != is:
			list = append(list, "~ "+name)
		}
	}
	return list
}

// logDifferences logs how the files beside the node differ from the definitions of the cluster, which it serves.
func (n *Node) logDifferences(files *replication.Definitions) error {
	own, err := replication.ReadDefinitions(os.DirFS(n.options.Dir))
	if err != nil || len(own.Files) == 0 { // a node needs none of its own
		return err
	}
	if list := differences(files, own); len(list) > 0 {
		n.log.Warn("the files of this node differ from the definitions of the cluster, which it serves; `lectern "+
			"deploy` proposes these files", "project", n.options.Dir, "files", list)
	}
	return nil
}
