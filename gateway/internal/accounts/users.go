package accounts

import (
	"context"
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

const userAction = contenttypes.UserUID + "."

func (u *routes) accountRoutes() []server.Route {
	return []server.Route{
		u.route("GET", "/users", userAction+"find", u.listUsers),
		u.route("GET", "/users/count", userAction+"count", u.countUsers),
		u.route("GET", "/users/me", userAction+"me", u.me),
		u.route("GET", "/users/{id}", userAction+"findOne", u.oneUser),
		u.keyed("POST", "/users", userAction+"create", u.createUser),
		u.keyed("PUT", "/users/{id}", userAction+"update", u.updateUser),
		u.keyed("PUT", "/users/me", userAction+"update", u.updateUser), // as in the reference, no user has the id me
		u.keyed("DELETE", "/users/{id}", userAction+"destroy", u.deleteUser),
		u.keyed("DELETE", "/users/me", userAction+"destroy", u.deleteUser),
	}
}

// GET /api/users: a list without envelope.
func (u *routes) listUsers(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.list(r, who)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who).List(r.Context(), &list.Query, list.Selection)
	if err != nil {
		return err
	}
	return u.Limits.SendJSON(w, r, http.StatusOK, body)
}

func (u *routes) list(r *http.Request, who auth.Principal) (*params.List, error) {
	query, err := rest.ParseQuery(r)
	if err != nil {
		return nil, err
	}
	return u.Params.PlainList(u.Users.Type(), query, who.Access)
}

// GET /api/users/count: the number of users that match.
func (u *routes) countUsers(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.list(r, who)
	if err != nil {
		return err
	}
	total, err := u.plain(r.Context(), who).Count(r.Context(), list.Query)
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, strconv.AppendInt(nil, int64(total), 10))
}

// GET /api/users/{id}: a user; 204 if there is none.
func (u *routes) oneUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.show(w, r, who, pathID(r))
}

// GET /api/users/me: the user who is logged in.
func (u *routes) me(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if who.User.ID == 0 {
		return &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Unauthorized",
			Reason: apierror.Anonymous}
	}
	return u.show(w, r, who, who.User.ID)
}

func (u *routes) show(w http.ResponseWriter, r *http.Request, who auth.Principal, id uint64) error {
	query, err := rest.ParseQuery(r)
	if err != nil {
		return err
	}
	one, err := u.Params.One(u.Users.Type(), query, who.Access)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who).One(r.Context(), &one.Query, one.Selection,
		func(s *store.Snapshot) store.Record { return u.Users.Row(s, id) })
	if err != nil {
		return err
	}
	return u.sendUser(w, r, body)
}

// sendUser sends a user, or 204 if there is none.
func (u *routes) sendUser(w http.ResponseWriter, r *http.Request, body []byte) error {
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return u.Limits.SendJSON(w, r, http.StatusOK, body)
}

// POST /api/users: creates a user, and answers with it.
func (u *routes) createUser(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	return u.saveUser(w, r, who, once, http.StatusCreated, u.Users.Create)
}

// PUT /api/users/{id}: changes a user, and answers with it.
func (u *routes) updateUser(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	return u.saveUser(w, r, who, once, http.StatusOK,
		func(ctx context.Context, once *store.Once, sent any, show auth.Show) error {
			return u.Users.Update(ctx, once, pathID(r), sent, show, who.Access)
		})
}

// saveUser answers with the user that save writes from the body of the request.
func (u *routes) saveUser(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once, status int,
	save func(ctx context.Context, once *store.Once, sent any, show auth.Show) error) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	if err := u.Users.MayLink(sent, who.Access); err != nil {
		return err
	}
	var body []byte
	once.Keep(status, &body)
	if err := save(r.Context(), once, sent, u.shown(r, who, true, &body)); err != nil {
		return err
	}
	return server.SendJSON(w, status, body)
}

// DELETE /api/users/{id}: deletes a user, and answers with it as it was.
func (u *routes) deleteUser(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error {
	var body []byte
	once.Keep(http.StatusOK, &body)
	if err := u.Users.Delete(r.Context(), once, pathID(r), u.shown(r, who, false, &body), who.Access); err != nil {
		return err
	}
	return u.sendUser(w, r, body)
}
