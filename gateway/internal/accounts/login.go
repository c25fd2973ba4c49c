package accounts

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/shadowcrud/rest"
)

const authAction = "plugin::users-permissions.auth."

func (u *routes) authRoutes() []server.Route {
	return []server.Route{
		withJWT(u.limited("POST", "/auth/local", authAction+"callback", u.login)),
		withJWT(u.limited("POST", "/auth/local/register", authAction+"register", u.register)),
		withJWT(u.limited("POST", "/auth/change-password", authAction+"changePassword", u.changePassword)),
		u.limited("POST", "/auth/forgot-password", authAction+"forgotPassword", u.forgotPassword),
		withJWT(u.limited("POST", "/auth/reset-password", authAction+"resetPassword", u.resetPassword)),
		u.limited("GET", "/auth/email-confirmation", authAction+"emailConfirmation", u.confirmEmail),
		u.limited("POST", "/auth/send-email-confirmation", authAction+"sendEmailConfirmation", u.sendConfirmation),
		withJWT(u.limited("GET", "/auth/{provider}/callback", authAction+"callback", u.callback)),
		u.connectRoute(),
	}
}

// withJWT returns a route whose answer holds a JWT, so that it is not kept under an Idempotency-Key.
func withJWT(route server.Route) server.Route {
	route.Keyless = idempotency.ErrSecret
	return route
}

// POST /api/auth/local: logs a user in, and answers with the user and a JWT.
func (u *routes) login(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, u.Users.Login)
}

// POST /api/auth/local/register: creates a user, and answers with it and a JWT.
func (u *routes) register(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, true, u.Users.Register)
}

// POST /api/auth/change-password: changes the password of the user who is logged in.
func (u *routes) changePassword(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, func(ctx context.Context, body any, show auth.Show) (auth.Credentials, error) {
		return u.Users.ChangePassword(ctx, who.User.ID, body, show)
	})
}

// POST /api/auth/reset-password: changes the password of a user by a code from a mail.
func (u *routes) resetPassword(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, u.Users.ResetPassword)
}

// session answers with a user and credentials, as begin prints and returns them from the body of the request.
func (u *routes) session(w http.ResponseWriter, r *http.Request, who auth.Principal, role bool,
	begin func(context.Context, any, auth.Show) (auth.Credentials, error)) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	return u.loggedIn(w, r, who, role, func(show auth.Show) (auth.Credentials, error) {
		return begin(r.Context(), sent, show)
	})
}

// loggedIn answers with a user and credentials, as begin prints and returns them. Every route that logs a user in ends
// with it. There are no credentials until the email address is confirmed.
func (u *routes) loggedIn(w http.ResponseWriter, r *http.Request, who auth.Principal, role bool,
	begin func(auth.Show) (auth.Credentials, error)) error {
	if err := u.Cookie.check(r); err != nil {
		return err
	}
	user := []byte(`"user":`)
	c, err := begin(u.shown(r, who, role, &user))
	if err != nil {
		return err
	}
	body := u.appendCredentials([]byte{'{'}, w, c, u.Cookie.wants(r))
	return server.SendJSON(w, http.StatusOK, append(append(body, user...), '}'))
}

// POST /api/auth/forgot-password: mails a code for POST /api/auth/reset-password.
func (u *routes) forgotPassword(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	return done(w, u.Users.ForgotPassword(sent))
}

// GET /api/auth/email-confirmation?confirmation=CODE: confirms an email address by the link in a mail. HEAD confirms
// nothing, since mail programs send it to check links.
func (u *routes) confirmEmail(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	query, err := rest.ParseQuery(r)
	if err != nil {
		return err
	}
	if _, err := u.Users.ConfirmEmail(r.Context(), query, nil); err != nil {
		return err
	}
	to := u.Users.ConfirmedURL()
	text := "Redirecting to " + to + "."
	w.Header()["Location"] = []string{to}
	return server.SendBody(w, server.Text, http.StatusFound, []byte(text))
}

// POST /api/auth/send-email-confirmation: mails the link that confirms an email address.
func (u *routes) sendConfirmation(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	email, err := u.Users.SendConfirmation(sent)
	if err != nil {
		return err
	}
	body := jsontree.AppendString([]byte(`{"email":`), email)
	return server.SendJSON(w, http.StatusOK, append(body, `,"sent":true}`...))
}
