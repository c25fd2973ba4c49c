package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"lectern/documents"
	"lectern/store"
	"lectern/store/evolve"
)

// StoreProblems reads all of the store of the project in dir and lists what is wrong with it: by the server that runs on the data
// directory, or else from the file itself, which need not be one that a server would start with. It changes nothing.
func StoreProblems(ctx context.Context, dir string, o Options) (problems []string, err error) {
	data := o.dataPath(dir)
	control := controlPath(data)
	if r, err := dialControl(ctx, control); err == nil {
		defer r.Close()
		return r.problems(ctx)
	}
	unlock, err := lockDirectory(data)
	if errors.Is(err, ErrBusy) {
		if r, err := dialControl(ctx, control); err == nil { // it has started in the meantime
			defer r.Close()
			return r.problems(ctx)
		}
		return nil, busyError(data)
	}
	if err != nil {
		return nil, withAccess(err)
	}
	defer unlock()
	return texts(store.ProblemsOf(filepath.Join(data, storeName)))
}

func texts(list []error, err error) (texts []string, _ error) {
	for _, problem := range list {
		texts = append(texts, problem.Error())
	}
	return texts, err
}

func (r *remote) problems(ctx context.Context) (problems []string, err error) {
	return problems, r.get(ctx, "/problems", &problems)
}

func (c *control) getProblems(w http.ResponseWriter, r *http.Request) {
	memory, done, err := c.project.reserve(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	defer done()
	problems, err := texts(c.project.generation.Load().store.Problems(memory))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(problems) // the client is gone
}

// Salvage writes what can be read of the store of a project to w, in the format of Export, however damaged the store is. It changes
// nothing in the data directory, and no server may run on that.
func Salvage(ctx context.Context, dir string, w io.Writer, o Options) (saved store.Salvage, err error) {
	d, err := Load(dir, o.Extensions)
	if err != nil {
		return saved, err
	}
	data := o.dataPath(dir)
	unlock, err := lockDirectory(data)
	if errors.Is(err, ErrBusy) {
		return saved, busyError(data)
	}
	if err != nil {
		return saved, withAccess(err)
	}
	defer unlock()
	temporary, err := os.MkdirTemp("", "lectern-salvage-")
	if err != nil {
		return saved, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	path := filepath.Join(temporary, storeName)
	if saved, err = store.SalvageTo(filepath.Join(data, storeName), path); err != nil {
		return saved, err
	}
	st, err := d.openStore(path, o, store.Options{})
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) { // what is saved is written as it was stored
		st, err = store.OpenAsIs(path)
	}
	if err != nil {
		return saved, fmt.Errorf("open what is saved: %w", err)
	}
	return saved, errors.Join(documents.Export(ctx, st, st.Model(), w, nil), st.Close())
}
