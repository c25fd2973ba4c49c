package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/store"
)

// Administration is what is done with the data of a project beside serving it. A *Project does it itself; Administer
// returns whoever can.
type Administration interface {
	// Tokens lists the API tokens in the order in which they were made.
	Tokens(ctx context.Context) ([]auth.Token, error)
	// CreateToken makes a token. Without Kind it is the one that permissions.yaml declares under that name, or a read-only
	// one. The key is not kept: this is the only time it can be seen.
	CreateToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error)
	// RotateToken gives the token of that name or id a new key, which can be seen only this time. The former one works beside it
	// as long as grace says.
	RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (auth.Token, string, error)
	// RevokeToken removes the token of that name or id.
	RevokeToken(ctx context.Context, nameOrID string) (auth.Token, error)
	// Uploads counts the uploaded files.
	Uploads(ctx context.Context) (Uploads, error)
	// Backup writes one file with a consistent copy of the store and the uploads that lie in the data directory.
	Backup(ctx context.Context, w io.Writer) error
	// Export writes all content as JSON Lines.
	Export(ctx context.Context, w io.Writer) error
	// Import reads what Export wrote. Unless partial, nothing is stored when a line is wrong: the error is then
	// documents.LineProblems. progress may be nil.
	Import(ctx context.Context, file io.ReadSeeker, partial bool, progress func(documents.ImportProgress)) (documents.ImportResult, error)
	// Fill puts values where attributes have none. progress may be nil, and is not called for a server that runs.
	Fill(ctx context.Context, fillings []documents.Filling, progress func(what string, done, total int)) (documents.Filled, error)
	Close() error
}

var (
	_ Administration = (*Project)(nil)
	_ Administration = (*remote)(nil)
)

// Administer returns the administration of the project in dir: through the control socket of the server that runs on its
// data directory, or else by opening the project itself.
func Administer(ctx context.Context, dir string, o Options) (Administration, error) {
	control := controlPath(o.dataPath(dir))
	if r, err := dialControl(ctx, control); err == nil {
		return r, nil
	}
	p, err := Open(dir, o)
	if !errors.Is(err, ErrBusy) {
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	if r, dialErr := dialControl(ctx, control); dialErr == nil {
		return r, nil // it has started in the meantime
	}
	return nil, err
}

// Uploads counts uploaded files.
type Uploads struct {
	Total     int `json:"total"`
	Elsewhere int `json:"elsewhere"` // those that do not lie in the data directory, but in a bucket
}

// Uploads implements Administration.
func (p *Project) Uploads(context.Context) (n Uploads, err error) {
	e := p.generation.Load()
	if e.media == nil {
		return n, nil
	}
	file := e.media.Type()
	local, err := documents.FilterOf(file, documents.Eq("provider", "local"))
	if err != nil {
		return n, err
	}
	count := func(s *store.Snapshot, filter store.Filter) (int, error) {
		page, err := s.Find(&store.Query{Type: file, Filter: filter, Count: true})
		return page.Total, err
	}
	err = e.store.View(func(s *store.Snapshot) error {
		here, err := count(s, local)
		if err != nil {
			return err
		}
		n.Total, err = count(s, nil)
		n.Elsewhere = n.Total - here
		return err
	})
	return n, err
}

// Tokens implements Administration.
func (p *Project) Tokens(context.Context) ([]auth.Token, error) {
	return p.generation.Load().tokens.List(), nil
}

// CreateToken implements Administration.
func (p *Project) CreateToken(ctx context.Context, d auth.Declaration) (t auth.Token, key string, err error) {
	err = p.held(ctx, func(ctx context.Context, e *generation) error {
		t, key, err = e.createToken(ctx, d)
		return err
	})
	return t, key, err
}

func (e *generation) createToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error) {
	i := slices.IndexFunc(e.Settings.Tokens, func(x auth.Declaration) bool { return x.Name == d.Name })
	switch {
	case i >= 0 && (d.Kind != "" || len(d.Permissions) > 0):
		return auth.Token{}, "", fmt.Errorf("permissions.yaml says what token %s may do; leave out type and permissions, or take another name", d.Name)
	case i >= 0:
		declared := e.Settings.Tokens[i]
		if d.Lifespan > 0 {
			declared.Lifespan = d.Lifespan
		}
		if d.Description != "" {
			declared.Description = d.Description
		}
		d = declared
	case d.Kind == "" && len(d.Permissions) > 0:
		d.Kind = auth.Custom
	case d.Kind == "":
		d.Kind = auth.ReadOnly
	}
	return e.tokens.Create(ctx, d)
}

// RotateToken implements Administration.
func (p *Project) RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (t auth.Token, key string, err error) {
	err = p.held(ctx, func(ctx context.Context, e *generation) error {
		t, key, err = e.tokens.Rotate(ctx, nameOrID, grace)
		return err
	})
	return t, key, err
}

// RevokeToken implements Administration.
func (p *Project) RevokeToken(ctx context.Context, nameOrID string) (t auth.Token, err error) {
	err = p.held(ctx, func(ctx context.Context, e *generation) error {
		t, err = e.tokens.Revoke(ctx, nameOrID)
		return err
	})
	return t, err
}

// Export implements Administration.
func (p *Project) Export(ctx context.Context, w io.Writer) error {
	reserve, release, err := p.reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	return p.again(ctx, func(e *generation) error { return documents.Export(ctx, e.store, e.Model, w, reserve) })
}

// Import implements Administration.
func (p *Project) Import(ctx context.Context, file io.ReadSeeker, partial bool, progress func(documents.ImportProgress)) (result documents.ImportResult, err error) {
	reserve, release, err := p.reserve(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	err = p.held(ctx, func(ctx context.Context, e *generation) error {
		result, err = e.docs.Import(ctx, file, documents.ImportOptions{Partial: partial, Progress: progress, Reserve: reserve})
		return err
	})
	return result, err
}

// Fill implements Administration.
func (p *Project) Fill(ctx context.Context, fillings []documents.Filling, progress func(what string, done, total int)) (filled documents.Filled, err error) {
	err = p.held(ctx, func(ctx context.Context, e *generation) error {
		filled, err = e.docs.Fill(ctx, fillings, progress)
		return err
	})
	return filled, err
}

// again calls f with what is served, until the definitions do not change on the way.
func (p *Project) again(ctx context.Context, f func(*generation) error) error {
	for {
		e := p.generation.Load()
		err := f(e)
		if !errors.Is(err, store.ErrRedefined) {
			return err
		}
		select {
		case <-e.replaced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// held is again for what takes several writes: the definitions stay as they are meanwhile.
func (p *Project) held(ctx context.Context, f func(context.Context, *generation) error) error {
	return p.again(ctx, func(e *generation) error {
		held, release, err := e.store.LockSchema(ctx)
		if err != nil {
			return err
		}
		defer release()
		return f(held, e)
	})
}
