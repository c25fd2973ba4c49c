package gateway

import (
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/shadowcrud/params"
	"lectern/store"
)

const userAction = contenttypes.UserUID + "."

func (u *userRoutes) accountRoutes() []Route {
	return []Route{
		u.route("GET", "/users", userAction+"find", u.listUsers),
		u.route("GET", "/users/count", userAction+"count", u.countUsers),
		u.route("GET", "/users/me", userAction+"me", u.me),
		u.route("GET", "/users/:id", userAction+"findOne", u.oneUser),
		u.route("POST", "/users", userAction+"create", u.createUser),
		u.route("PUT", "/users/:id", userAction+"update", u.updateUser),
		u.route("DELETE", "/users/:id", userAction+"destroy", u.deleteUser),
	}
}

// listUsers answers GET /users.
func (u *userRoutes) listUsers(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.list(r, who)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who).List(r.Context(), &list.Query, list.Selection)
	if err != nil {
		return err
	}
	return u.limits.sendJSON(w, r, http.StatusOK, body)
}

func (u *userRoutes) list(r *http.Request, who auth.Principal) (*params.List, error) {
	query, err := readQuery(r)
	if err != nil {
		return nil, err
	}
	return u.params.PlainList(u.users.Type(), query, who.Access)
}

// countUsers answers GET /users/count: a number.
func (u *userRoutes) countUsers(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.list(r, who)
	if err != nil {
		return err
	}
	total, err := u.plain(r.Context(), who).Count(r.Context(), list.Query)
	if err != nil {
		return err
	}
	return sendJSON(w, http.StatusOK, strconv.AppendInt(nil, int64(total), 10))
}

// oneUser answers GET /users/:id; there is no content where there is no such user.
func (u *userRoutes) oneUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	id, _ := auth.ParseID(r.PathValue("id"))
	return u.show(w, r, who, id)
}

// me answers GET /users/me.
func (u *userRoutes) me(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if who.User.ID == 0 {
		return &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError", Message: "Unauthorized"}
	}
	return u.show(w, r, who, who.User.ID)
}

func (u *userRoutes) show(w http.ResponseWriter, r *http.Request, who auth.Principal, id uint64) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	one, err := u.params.One(u.users.Type(), query, who.Access)
	if err != nil {
		return err
	}
	body, err := u.plain(r.Context(), who).One(r.Context(), &one.Query, one.Selection, func(s *store.Snapshot) store.Record { return u.users.Row(s, id) })
	if err != nil {
		return err
	}
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return u.limits.sendJSON(w, r, http.StatusOK, body)
}

// sendUser sends a user, or tells that there is none.
func sendUser(w http.ResponseWriter, status int, body []byte) error {
	if body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return sendJSON(w, status, body)
}

// createUser answers POST /users.
func (u *userRoutes) createUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	sent, err := u.limits.readBody(w, r)
	if err != nil {
		return err
	}
	if err := u.users.MayLink(sent, who.Access); err != nil {
		return err
	}
	var body []byte
	if err := u.users.Create(r.Context(), sent, u.shown(r, who, true, &body)); err != nil {
		return err
	}
	return sendJSON(w, http.StatusCreated, body)
}

// updateUser answers PUT /users/:id.
func (u *userRoutes) updateUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	sent, err := u.limits.readBody(w, r)
	if err != nil {
		return err
	}
	if err := u.users.MayLink(sent, who.Access); err != nil {
		return err
	}
	id, _ := auth.ParseID(r.PathValue("id"))
	var body []byte
	if err := u.users.Update(r.Context(), id, sent, u.shown(r, who, true, &body)); err != nil {
		return err
	}
	return sendJSON(w, http.StatusOK, body)
}

// deleteUser answers DELETE /users/:id with the user as he was.
func (u *userRoutes) deleteUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	id, _ := auth.ParseID(r.PathValue("id"))
	var body []byte
	if err := u.users.Delete(r.Context(), id, u.shown(r, who, false, &body)); err != nil {
		return err
	}
	return sendUser(w, http.StatusOK, body)
}
