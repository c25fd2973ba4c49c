package accounts

import (
	"net/http"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
)

// otherSessionRoutes returns the routes by which those who look after accounts see and end the sessions of others.
func (u *routes) otherSessionRoutes() []server.Route {
	return []server.Route{
		u.route("GET", "/_sessions", "lectern::session.find", u.sessionsOfUser),
		u.route("DELETE", "/_sessions/{id}", "lectern::session.revoke", u.endSession),
	}
}

// GET /api/_sessions?user=: where the user of that id, name or address is logged in.
func (u *routes) sessionsOfUser(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	user := r.URL.Query().Get("user")
	if user == "" {
		return apierror.Validation("say whose sessions: user is the id, name or address of a user")
	}
	list, err := u.Users.SessionsOf(user, who.Access, u.Users.SessionOf(r))
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, server.DataBody(describeSessions(list)))
}

// DELETE /api/_sessions/{id}: ends a session, of whichever user.
func (u *routes) endSession(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if err := u.Users.EndSession(r.Context(), mux.Vars(r)["id"], who.Access); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
