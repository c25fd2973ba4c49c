package gateway

import (
	"context"
	"net/http"
	"strconv"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

const authAction = "plugin::users-permissions.auth."

func (u *userRoutes) authRoutes() []Route {
	return []Route{
		u.limited("POST", "/auth/local", authAction+"callback", u.login),
		u.limited("POST", "/auth/local/register", authAction+"register", u.register),
		u.limited("POST", "/auth/change-password", authAction+"changePassword", u.changePassword),
		u.limited("POST", "/auth/forgot-password", authAction+"forgotPassword", u.forgotPassword),
		u.limited("POST", "/auth/reset-password", authAction+"resetPassword", u.resetPassword),
		u.limited("GET", "/auth/email-confirmation", authAction+"emailConfirmation", u.confirmEmail),
		u.limited("POST", "/auth/send-email-confirmation", authAction+"sendEmailConfirmation", u.sendConfirmation),
		u.route("GET", "/auth/:provider/callback", authAction+"callback", u.callback),
		u.route("GET", "/connect/*", authAction+"connect", u.connect),
		u.route("POST", "/auth/logout", authAction+"logout", absent),
		u.route("POST", "/auth/refresh", authAction+"refresh", absent),
	}
}

// login answers POST /auth/local.
func (u *userRoutes) login(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, u.users.Login)
}

// register answers POST /auth/local/register.
func (u *userRoutes) register(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, true, u.users.Register)
}

// changePassword answers POST /auth/change-password.
func (u *userRoutes) changePassword(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, func(ctx context.Context, body any, show auth.Show) (string, error) {
		return u.users.ChangePassword(ctx, who.User.ID, body, show)
	})
}

// resetPassword answers POST /auth/reset-password.
func (u *userRoutes) resetPassword(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	return u.session(w, r, who, false, u.users.ResetPassword)
}

// session answers with a user and the JWT that he gets, if he gets one yet.
func (u *userRoutes) session(w http.ResponseWriter, r *http.Request, who auth.Principal, role bool,
	begin func(context.Context, any, auth.Show) (string, error)) error {
	sent, err := u.limits.readBody(w, r)
	if err != nil {
		return err
	}
	user := []byte(`"user":`)
	jwt, err := begin(r.Context(), sent, u.shown(r, who, role, &user))
	if err != nil {
		return err
	}
	body := []byte{'{'}
	if jwt != "" {
		body = append(append(jsontree.AppendString(append(body, `"jwt":`...), jwt), ','), user...)
	} else {
		body = append(body, user...)
	}
	return sendJSON(w, http.StatusOK, append(body, '}'))
}

// forgotPassword answers POST /auth/forgot-password.
func (u *userRoutes) forgotPassword(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	sent, err := u.limits.readBody(w, r)
	if err != nil {
		return err
	}
	if err := u.users.ForgotPassword(sent); err != nil {
		return err
	}
	return sendJSON(w, http.StatusOK, []byte(`{"ok":true}`))
}

// confirmEmail answers GET /auth/email-confirmation?confirmation=, the link of a mail. A HEAD, by which programs look where
// links of a mail lead, confirms nothing.
func (u *userRoutes) confirmEmail(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	if _, err := u.users.ConfirmEmail(r.Context(), query, nil); err != nil {
		return err
	}
	to := u.users.ConfirmedURL()
	text := "Redirecting to " + to + "."
	h := w.Header()
	h["Location"], h["Content-Type"], h["Content-Length"] = []string{to}, typeText, []string{strconv.Itoa(len(text))}
	w.WriteHeader(http.StatusFound)
	_, err = w.Write([]byte(text))
	return err
}

// sendConfirmation answers POST /auth/send-email-confirmation.
func (u *userRoutes) sendConfirmation(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	sent, err := u.limits.readBody(w, r)
	if err != nil {
		return err
	}
	email, err := u.users.SendConfirmation(sent)
	if err != nil {
		return err
	}
	body := jsontree.AppendString([]byte(`{"email":`), email)
	return sendJSON(w, http.StatusOK, append(body, `,"sent":true}`...))
}

// callback answers GET /auth/:provider/callback. Nobody logs in by it: passwords have no place in a path, and other services
// are off.
func (u *userRoutes) callback(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if r.PathValue("provider") != "local" {
		return auth.ErrProvider
	}
	_, err := u.users.Login(r.Context(), nil, nil)
	return err
}

// connect answers GET /connect/….
func (u *userRoutes) connect(http.ResponseWriter, *http.Request, auth.Principal) error {
	return auth.ErrProvider
}

// absent answers POST /auth/logout and /auth/refresh, which sessions would need: a JWT needs neither.
func absent(http.ResponseWriter, *http.Request, auth.Principal) error { return apierror.NotFound() }
