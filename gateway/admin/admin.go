// Package admin carries out the commands that administer a project: tokens, backup and restore, export and import,
// migrations, and checks of the store.
//
// A Directory administers a project by its path. If a server runs on the data directory, the methods of Directory ask
// that server through its control socket; otherwise they open the files. A Local administers a project that this
// process has open. A Control answers requests on the control socket by means of a Local.
//
// Reading the source: admin.go holds the work on an open project; directory.go, foresee.go, migrate.go and salvage.go
// hold the work on a store that may not fit its definitions. control.go is the server of the control socket and
// client.go its client. backup.go writes backups and restore.go reads them.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/misfits"
	"lectern/documents/transfer"
	"lectern/gateway/config"
	"lectern/media"
	"lectern/store"
	"lectern/webhooks"
)

// A Project administers a project that this process has open (Local), or that a running server has open.
type Project interface {
	// Tokens lists the API tokens in the order in which they were created.
	Tokens(ctx context.Context) ([]auth.Token, error)
	// CreateToken creates a token and returns its key, which is not stored and cannot be shown again. If d has neither
	// a Kind nor permissions, the token gets what permissions.yaml declares under its name; the error wraps
	// auth.ErrUndeclared if that is nothing.
	CreateToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error)
	// RotateToken replaces the key of the token with that name or id, and returns the new key. The former key remains
	// valid for the duration grace.
	RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (auth.Token, string, error)
	// RevokeToken removes the token with that name or id.
	RevokeToken(ctx context.Context, nameOrID string) (auth.Token, error)
	// ListUsers lists the users in the order in which they were created.
	ListUsers(ctx context.Context) ([]auth.Account, error)
	// CreateUser creates a user.
	CreateUser(ctx context.Context, n auth.NewAccount) (auth.Account, error)
	// ChangeUser changes the user of a name, address or id. A new password and a block end their JWTs and sessions.
	ChangeUser(ctx context.Context, who string, c auth.AccountChange) (auth.Account, error)
	// UserSessions lists the sessions of the user of a name, address or id.
	UserSessions(ctx context.Context, who string) ([]auth.Session, error)
	// EndUserSessions ends those sessions of a user that have these ids, or all of them, and returns how many.
	EndUserSessions(ctx context.Context, who string, ids []string) (int, error)
	// Uploads counts the uploaded files.
	Uploads(ctx context.Context) (Uploads, error)
	// Explain answers a read and tells how the store found the answer.
	Explain(ctx context.Context, q Question) (Explained, error)
	// Backup writes one file with a consistent copy of the store and of the uploads in the data directory.
	Backup(ctx context.Context, w io.Writer) error
	// Audit writes what happened as JSON Lines, one for each entry of the log that passes the filter.
	Audit(ctx context.Context, filter AuditFilter, w io.Writer) error
	// VerifyLog reads the whole log. It returns an error if an entry is missing or was changed, or if expect is not
	// empty and no entry has that hash.
	VerifyLog(ctx context.Context, expect string) (store.Chain, error)
	// Compact gives the free pages of the store back to the disk. Requests are answered meanwhile. progress may be nil.
	Compact(ctx context.Context, progress func(done, total int64)) (store.Compaction, error)
	// Export writes all content as JSON Lines.
	Export(ctx context.Context, w io.Writer) error
	// ExportStrapi writes all content as an archive that strapi import takes, encrypted with key unless it is empty.
	ExportStrapi(ctx context.Context, w io.Writer, key string) error
	// Import stores the content of a file that Export wrote. If a line is wrong, it stores nothing and returns
	// transfer.LineProblems, unless o.Partial is set. It sets o.Reserve by itself.
	Import(ctx context.Context, file io.ReadSeeker, o transfer.ImportOptions) (transfer.ImportResult, error)
	// Fill sets attributes that have no value. progress may be nil; a running server does not call it.
	Fill(ctx context.Context, fillings []misfits.Filling, progress func(what string, done, total int)) (
		misfits.Filled, error)
	// Webhooks tells how the webhooks are doing.
	Webhooks(ctx context.Context) ([]webhooks.Status, error)
	// WebhookLog returns what is known about the deliveries of a webhook.
	WebhookLog(ctx context.Context, name string) (webhooks.Log, error)
	// TestWebhook sends a webhook a test request.
	TestWebhook(ctx context.Context, name string) (webhooks.Test, error)
	// ReplayWebhook has the dead letters of a webhook sent again and, unless since is zero, all events from then on.
	ReplayWebhook(ctx context.Context, name string, since time.Time) (webhooks.Replayed, error)
	Close() error
}

// Uploads counts uploaded files.
type Uploads struct {
	Total     int `json:"total"`
	Elsewhere int `json:"elsewhere"` // files in a bucket instead of the data directory
	Missing   int `json:"missing"`   // files that the data directory lacks although they have documents
}

// A Content is the content of a project with the definitions that it is served under.
type Content struct {
	Definition *config.Definition
	Store      *store.Store
	Documents  *documents.Service
	Tokens     *auth.Tokens
	Users      *auth.Users     // nil if users are switched off
	Media      *media.Library  // nil if uploads are switched off
	Replaced   <-chan struct{} // closed when the project is served under new definitions
}

// A Local administers a project that this process has open.
type Local struct {
	// Version is the program's version. It is written into backups and sent to clients of the control socket.
	Version string
	// Data is the project's data directory, which this process has locked.
	Data *DataDir
	// Refused is the error of all that would change the project or send its webhooks; nil: none.
	Refused error
	// Hooks runs the webhooks.
	Hooks *webhooks.Dispatcher
	// Current returns the content that is served.
	Current func() Content
	// Reserve reserves memory for a command that reads or writes much content. grow reserves more; release returns all
	// of it.
	Reserve func(ctx context.Context) (grow func(bytes int64) error, release func(), err error)

	backedUp atomic.Int64 // when the last backup was complete, in Unix milliseconds; 0: none was taken
}

// View calls f with the current content. If the definitions change before f is done, View calls f again with the new
// content.
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

// Update calls f with the current content and keeps the definitions from changing until f returns. f must pass its
// context to writes.
func (l *Local) Update(ctx context.Context, f func(context.Context, Content) error) error {
	if l.Refused != nil {
		return l.Refused
	}
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
func (l *Local) Uploads(ctx context.Context) (n Uploads, err error) {
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
	if err == nil {
		n.Missing, err = c.Media.Missing(ctx)
	}
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

// createToken completes d by the declaration of the same name in permissions.yaml, if there is one, and creates the
// token.
func createToken(ctx context.Context, c Content, d auth.Declaration) (auth.Token, string, error) {
	d, err := c.Tokens.Completed(d)
	if errors.Is(err, auth.ErrUndeclared) {
		err = fmt.Errorf("%w: --type full-access, --type read-only, or --permission UID.ACTION", err)
	}
	if err != nil {
		return auth.Token{}, "", err
	}
	return c.Tokens.Create(ctx, d)
}

// RotateToken implements Project.
func (l *Local) RotateToken(ctx context.Context, nameOrID string,
	grace time.Duration) (t auth.Token, key string, err error) {
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

// Webhooks implements Project.
func (l *Local) Webhooks(ctx context.Context) ([]webhooks.Status, error) { return l.Hooks.List(ctx) }

// WebhookLog implements Project.
func (l *Local) WebhookLog(ctx context.Context, name string) (webhooks.Log, error) {
	return l.Hooks.Log(ctx, name)
}

// TestWebhook implements Project.
func (l *Local) TestWebhook(ctx context.Context, name string) (webhooks.Test, error) {
	if l.Refused != nil {
		return webhooks.Test{}, l.Refused
	}
	return l.Hooks.Test(ctx, name)
}

// ReplayWebhook implements Project.
func (l *Local) ReplayWebhook(ctx context.Context, name string, since time.Time) (webhooks.Replayed, error) {
	if l.Refused != nil {
		return webhooks.Replayed{}, l.Refused
	}
	return l.Hooks.Replay(ctx, name, since)
}

// Compact implements Project.
func (l *Local) Compact(ctx context.Context, progress func(done, total int64)) (result store.Compaction, err error) {
	if l.Refused != nil {
		return result, l.Refused
	}
	err = l.View(ctx, func(c Content) error {
		result, err = c.Store.Compact(ctx, progress)
		return err
	})
	return result, err
}

// Export implements Project.
func (l *Local) Export(ctx context.Context, w io.Writer) error {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return err
	}
	defer release()
	return l.View(ctx, func(c Content) error { return transfer.Export(ctx, c.Store, c.Definition.Model, w, reserve) })
}

// Import implements Project.
func (l *Local) Import(ctx context.Context, file io.ReadSeeker,
	o transfer.ImportOptions) (result transfer.ImportResult, err error) {
	reserve, release, err := l.Reserve(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		o.Reserve = reserve
		result, err = transfer.Import(ctx, c.Documents, file, o)
		return err
	})
	return result, err
}

// Fill implements Project.
func (l *Local) Fill(ctx context.Context, fillings []misfits.Filling,
	progress func(what string, done, total int)) (filled misfits.Filled, err error) {
	err = l.Update(ctx, func(ctx context.Context, c Content) error {
		filled, err = misfits.Fill(ctx, c.Store, c.Definition.Model, fillings, progress)
		return err
	})
	return filled, err
}
