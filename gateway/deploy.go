package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"lectern/gateway/internal/replication"
	"lectern/store"
)

// DefinitionFiles returns the definition files of the project in dir as Deploy sends them.
func DefinitionFiles(dir string) ([]byte, error) {
	files, err := replication.ReadDefinitions(os.DirFS(dir))
	if err != nil {
		return nil, err
	}
	return files.Encode()
}

// Deploy implements admin.Cluster. The leader carries it out: it checks the files, makes them the definitions of the cluster, and converts the content
// to them. The other nodes follow. If the leader is lost meanwhile, the next one goes on.
func (a clusterAdmin) Deploy(ctx context.Context, text []byte) (changed []string, err error) {
	if !a.leads() {
		return nil, store.ErrNotLeader
	}
	next, err := replication.ParseDefinitions(text)
	if err != nil {
		return nil, err
	}
	a.deploying.Lock()
	defer a.deploying.Unlock()
	former := a.project.Definition().files
	if changed = differences(former, next); len(changed) == 0 {
		return nil, nil
	}
	if err := a.checkDeployment(next); err != nil {
		return nil, err
	}
	if err := a.putDefinitions(ctx, next); err != nil {
		return nil, err
	}
	p := a.project
	err = a.takeDefinitions(p.Store(), func(ctx context.Context, former *generation, d *Definition) (e *generation, err error) {
		e = p.newGeneration(d)
		e.store, err = former.store.Redefine(ctx, d.Model, p.storeOptions(d))
		return e, err
	})
	switch {
	case err == nil:
		return changed, nil
	case errors.Is(err, store.ErrOutcome), errors.Is(err, store.ErrNotLeader):
		return nil, fmt.Errorf("the definitions are those of the cluster, and its next leader converts the content to them: %w", err)
	}
	return nil, errors.Join(err, a.putDefinitions(ctx, former), a.unpack(former))
}

// putDefinitions makes files the definitions of the cluster.
func (m *member) putDefinitions(ctx context.Context, files *replication.Definitions) error {
	return putNotes(ctx, m.project.Store(), map[string]any{definitionsNote: files, hashNote: files.Hash()})
}

// checkDeployment returns an error unless files can be served, together with this node's own, and the content can be converted to them.
func (m *member) checkDeployment(files *replication.Definitions) error {
	dir := filepath.Join(m.dir, "deployed")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := m.unpackTo(dir, files); err != nil {
		return err
	}
	d, err := Load(dir, m.extensions)
	if err != nil {
		return err
	}
	_, err = m.project.Store().Inspect(d.Model, m.project.storeOptions(d), nil)
	return err
}

// differences returns the names of the files that differ, with + for those that next adds and - for those that it leaves out.
func differences(former, next *replication.Definitions) (list []string) {
	names := map[string]bool{}
	for _, d := range []*replication.Definitions{former, next} {
		for name := range d.Files {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := former.Files[name]
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

// tellDifferences logs how the files beside the node differ from the definitions of the cluster, which it serves.
func (m *member) tellDifferences(files *replication.Definitions) error {
	own, err := replication.ReadDefinitions(os.DirFS(m.own))
	if err != nil || len(own.Files) == 0 { // a node needs none of its own
		return err
	}
	if list := differences(files, own); len(list) > 0 {
		m.log.Warn("the files of this node differ from the definitions of the cluster, which it serves; `lectern deploy` proposes these files", "project", m.own, "files", list)
	}
	return nil
}
