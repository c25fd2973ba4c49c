package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"lectern/auth"
)

var errUsersOff = errors.New("the project has no users: config/plugins.yaml says users-permissions: {enabled: false}")

// ListUsers implements Project.
func (l *Local) ListUsers(ctx context.Context) (list []auth.Account, err error) {
	err = l.viewUsers(ctx, func(u *auth.Users) error {
		list, err = u.Accounts(ctx)
		return err
	})
	return list, err
}

// CreateUser implements Project.
func (l *Local) CreateUser(ctx context.Context, n auth.NewAccount) (made auth.Account, err error) {
	err = l.updateUsers(ctx, func(ctx context.Context, u *auth.Users) error {
		made, err = u.CreateAccount(ctx, n)
		return err
	})
	return made, err
}

// ChangeUser implements Project.
func (l *Local) ChangeUser(ctx context.Context, who string, c auth.AccountChange) (changed auth.Account, err error) {
	err = l.updateUsers(ctx, func(ctx context.Context, u *auth.Users) error {
		changed, err = u.ChangeAccount(ctx, who, c)
		return err
	})
	return changed, err
}

// UserSessions implements Project.
func (l *Local) UserSessions(ctx context.Context, who string) (list []auth.Session, err error) {
	err = l.viewUsers(ctx, func(u *auth.Users) error {
		list, err = u.AccountSessions(who)
		return err
	})
	return list, err
}

// EndUserSessions implements Project.
func (l *Local) EndUserSessions(ctx context.Context, who string, ids []string) (n int, err error) {
	err = l.updateUsers(ctx, func(ctx context.Context, u *auth.Users) error {
		n, err = u.EndAccountSessions(ctx, who, ids)
		return err
	})
	return n, err
}

func (l *Local) viewUsers(ctx context.Context, f func(*auth.Users) error) error {
	return l.View(ctx, func(c Content) error {
		if c.Users == nil {
			return errUsersOff
		}
		return f(c.Users)
	})
}

func (l *Local) updateUsers(ctx context.Context, f func(context.Context, *auth.Users) error) error {
	return l.Update(ctx, func(ctx context.Context, c Content) error {
		if c.Users == nil {
			return errUsersOff
		}
		return f(ctx, c.Users)
	})
}

// userRoutes adds the routes of users to those of the control socket.
func (c *Control) userRoutes(mux *http.ServeMux) {
	p := c.Project
	mux.Handle("GET /users", answer(func(r *http.Request) ([]auth.Account, error) { return p.ListUsers(r.Context()) }))
	mux.Handle("POST /users", answerJSON(maxJSON, p.CreateUser))
	mux.Handle("POST /users/change", answerJSON(maxJSON, func(ctx context.Context, s sentChange) (auth.Account, error) {
		return p.ChangeUser(ctx, s.Who, s.Change)
	}))
	mux.Handle("GET /users/{name}/sessions", answer(func(r *http.Request) ([]auth.Session, error) {
		return p.UserSessions(r.Context(), r.PathValue("name"))
	}))
	mux.Handle("POST /users/end-sessions", answerJSON(maxJSON, func(ctx context.Context, s sentEnd) (int, error) {
		return p.EndUserSessions(ctx, s.Who, s.IDs)
	}))
}

type sentChange struct {
	Who    string             `json:"who"`
	Change auth.AccountChange `json:"change"`
}

type sentEnd struct {
	Who string   `json:"who"`
	IDs []string `json:"ids"`
}

func (r *remote) ListUsers(ctx context.Context) ([]auth.Account, error) {
	return call[[]auth.Account](ctx, r, http.MethodGet, "/users", nil)
}

func (r *remote) CreateUser(ctx context.Context, n auth.NewAccount) (auth.Account, error) {
	return call[auth.Account](ctx, r, http.MethodPost, "/users", n)
}

func (r *remote) ChangeUser(ctx context.Context, who string, c auth.AccountChange) (auth.Account, error) {
	return call[auth.Account](ctx, r, http.MethodPost, "/users/change", sentChange{who, c})
}

func (r *remote) UserSessions(ctx context.Context, who string) ([]auth.Session, error) {
	return call[[]auth.Session](ctx, r, http.MethodGet, "/users/"+url.PathEscape(who)+"/sessions", nil)
}

func (r *remote) EndUserSessions(ctx context.Context, who string, ids []string) (int, error) {
	return call[int](ctx, r, http.MethodPost, "/users/end-sessions", sentEnd{who, ids})
}
