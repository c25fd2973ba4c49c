// Package admin is what the command line does with a project besides serving it: tokens, backup and restore, export and import,
// migrations, and checks of the store.
//
// A Directory is a project as it lies on disk. Its methods work by way of the server that runs on its data directory, which they
// reach through the control socket, or else with the files themselves. A Local does the work in the process that has the project
// open; a Control answers on the control socket with it.
//
// Reading the source: admin.go has what needs an open project, directory.go and migrate.go what does not, control.go and client.go are
// the two ends of the control socket, backup.go and restore.go the file of a backup.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/gateway/config"
	"lectern/media"
	"lectern/store"
)

// A Project is an open project: in this process (Local), or in the server that runs on it.
type Project interface {
	// Tokens lists the API tokens in the order in which they were created.
	Tokens(ctx context.Context) ([]auth.Token, error)
	// CreateToken creates a token and returns its key, which is not stored and cannot be shown again. Without Kind the token is the
	// one that permissions.yaml declares under that name, or else a read-only one.
	CreateToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error)
	// RotateToken gives the token of that name or id a new key, and returns it. The former key works for grace longer.
	RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (auth.Token, string, error)
	// RevokeToken removes the token of that name or id.
	RevokeToken(ctx context.Context, nameOrID string) (auth.Token, error)
	// Uploads counts the uploaded files.
	Uploads(ctx context.Context) (Uploads, error)
	// Backup writes one file with a consistent copy of the store and of the uploads in the data directory.
	Backup(ctx context.Context, w io.Writer) error
	// Export writes all content as JSON Lines.
	Export(ctx context.Context, w io.Writer) error
	// Import reads what Export wrote. Unless partial is set, nothing is stored if a line is wrong: the error is then
	// documents.LineProblems. progress may be nil.
	Import(ctx context.Context, file io.ReadSeeker, partial bool, progress func(documents.ImportProgress)) (documents.ImportResult, error)
	// Fill sets values of attributes that have none. progress may be nil, and is not called by a running server.
	Fill(ctx context.Context, fillings []documents.Filling, progress func(what string, done, total int)) (documents.Filled, error)
	Close() error
}

// Uploads are numbers of uploaded files.
type Uploads struct {
	Total     int `json:"total"`
	Elsewhere int `json:"elsewhere"` // in a bucket instead of the data directory
}

// A Content is the content of a project under one state of its definitions.
type Content struct {
	Definition *config.Definition
	Store      *store.Store
	Documents  *documents.Service
	Tokens     *auth.Tokens
	Media      *media.Library  // nil if uploads are switched off
	Replaced   <-chan struct{} // closed when the content under new definitions is served
}

// A Local administers a project that this process has open.
type Local struct {
	// Version is that of the program, for backups and for clients of the control socket.
	Version string
	// Data is the project's data directory, locked.
	Data *DataDir
	// Current returns the content that is served.
	Current func() Content
	// Reserve reserves memory for a command that reads or writes much content. grow reserves more; release gives back everything.
	Reserve func(ctx context.Context) (grow func(bytes int64) error, release func(), err error)
}

// View calls f with the content that is served, and again if the definitions change before f is done.
func (l *Local) View(ctx context.Context, f func(Content) error) error {
	for {
		c := l.Current()
		err := f(c)
		if !errors.Is(err, store.ErrRedefined) {
			return err
		}
		select {
		case <-c.Replaced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Update is View for work of several writes: the definitions do not change until f is done. f uses the context that it is given.
func (l *Local) Update(ctx context.Context, f func(context.Context, Content) error) error {
	return l.View(ctx, func(c Content) error {
		locked, release, err := c.Store.LockSchema(ctx)
		if err != nil {
			return err
		}
		defer release()
		return f(locked, c)
	})
}

// Uploads implements Project.
func (l *Local) Uploads(context.Context) (n Uploads, err error) {
	c := l.Current()
	if c.Media == nil {
		return n, nil
	}
	file := c.Media.Type()
	local, err := documents.FilterOf(file, documents.Eq("provider", "local"))
	if err != nil {
		return n, err
	}
	count := func(s *store.Snapshot, filter store.Filter) (int, error) {
		page, err := s.Find(&store.Query{Type: file, Filter: filter, Count: true})
		return page.Total, err
	}
	err = c.Store.View(func(s *store.Snapshot) error {
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

// Tokens implements Project.
func (l *Local) Tokens(context.Context) ([]auth.Token, error) {
	return l.Current().Tokens.List(), nil
}

// CreateToken implements Project.
func (l *Local) CreateToken(ctx context.Context, d auth.Declaration) (t auth.Token, key string, err error) {
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		t, key, err = createToken(ctx, c, d)
		return err
	})
	return t, key, err
}

// createToken creates a token, with what permissions.yaml declares under its name.
func createToken(ctx context.Context, c Content, d auth.Declaration) (auth.Token, string, error) {
	i := slices.IndexFunc(c.Definition.Settings.Tokens, func(x auth.Declaration) bool { return x.Name == d.Name })
	switch {
	case i >= 0 && (d.Kind != "" || len(d.Permissions) > 0):
		return auth.Token{}, "", fmt.Errorf("permissions.yaml says what token %s may do; leave out type and permissions, or take another name", d.Name)
	case i >= 0:
		declared := c.Definition.Settings.Tokens[i]
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
	return c.Tokens.Create(ctx, d)
}

// RotateToken implements Project.
func (l *Local) RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (t auth.Token, key string, err error) {
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		t, key, err = c.Tokens.Rotate(ctx, nameOrID, grace)
		return err
	})
	return t, key, err
}

// RevokeToken implements Project.
func (l *Local) RevokeToken(ctx context.Context, nameOrID string) (t auth.Token, err error) {
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		t, err = c.Tokens.Revoke(ctx, nameOrID)
		return err
	})
	return t, err
}

// Export implements Project.
func (l *Local) Export(ctx context.Context, w io.Writer) error {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.View(ctx, func(c Content) error { return documents.Export(ctx, c.Store, c.Definition.Model, w, reserve) })
}

// Import implements Project.
func (l *Local) Import(ctx context.Context, file io.ReadSeeker, partial bool, progress func(documents.ImportProgress)) (result documents.ImportResult, err error) {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		result, err = c.Documents.Import(ctx, file, documents.ImportOptions{Partial: partial, Progress: progress, Reserve: reserve})
		return err
	})
	return result, err
}

// Fill implements Project.
func (l *Local) Fill(ctx context.Context, fillings []documents.Filling, progress func(what string, done, total int)) (filled documents.Filled, err error) {
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		filled, err = c.Documents.Fill(ctx, fillings, progress)
		return err
	})
	return filled, err
}
