package gateway

import (
	"context"
	"fmt"
	"net/http"

	"lectern/auth"
	"lectern/auth/providers"
	"lectern/gateway/internal/accounts"
)

// sessionCookie returns how refresh tokens are sent as cookies; the zero Cookie if the routes are only described.
func (g *generation) sessionCookie() accounts.Cookie {
	if g.project == nil {
		return accounts.Cookie{}
	}
	c := &g.Settings.Users.Cookie
	secure := g.project.options.Production || c.SameSite == "none" // which browsers want secure
	if c.Secure != nil {
		secure = *c.Secure
	}
	sameSite := map[string]http.SameSite{"strict": http.SameSiteStrictMode, "lax": http.SameSiteLaxMode,
		"none": http.SameSiteNoneMode}
	var origins []string
	if cors := g.Settings.Server.CORS; !cors.AnyOrigin() {
		origins = cors.Origins
	}
	return accounts.Cookie{Always: c.Always, Life: c.Life, Now: g.project.clock.Now, Origins: origins,
		Template: http.Cookie{Name: c.Name, Path: c.Path, Domain: c.Domain, SameSite: sameSite[c.SameSite],
			Secure: secure, HttpOnly: true}}
}

// openUsers opens the users and creates the configured roles, unless users are switched off.
func (g *generation) openUsers() error {
	shared := &g.project.shared
	if !g.Settings.Users.Enabled {
		shared.closeUsers()
		return nil
	}
	secret, err := g.jwtSecret()
	if err != nil {
		return err
	}
	settings := g.Settings.Users.Accounts
	settings.ConfirmPath = g.Settings.REST.Prefix + "/auth/email-confirmation"
	mail := ""
	if o := g.project.options; !o.Production ||
		o.Ephemeral { // an ephemeral server is for tests, which may look at the mail
		mail = g.project.Data.Join("mail")
	}
	g.users, err = auth.OpenUsers(context.Background(), auth.UserOptions{
		Store: g.store, Documents: g.docs, Model: g.Model, Actions: g.Actions, Settings: settings,
		Granted: g.Settings.Roles, Rules: g.Settings.Rules, Conditions: g.Conditions(), Drafts: g.Settings.REST.Drafts,
		Secret: secret, ServerURL: g.base, MailDir: mail, Log: g.project.log, Now: g.project.clock.Now,
		Former: shared.users,
	})
	if err != nil {
		return fmt.Errorf("open the users: %w", err)
	}
	shared.users = g.users
	if err := g.warnOfRefresh(); err != nil {
		return err
	}
	if err := g.openProviders(secret); err != nil {
		return err
	}
	if mail == "" && settings.Mail.SMTP == nil && settings.EmailConfirmation {
		g.project.log.Warn("nobody who registers can log in: email addresses must be confirmed, " +
			"and config/plugins.yaml names no mail server at users-permissions.config.email.smtp")
	}
	return nil
}

// openProviders makes the providers by which users log in.
func (g *generation) openProviders(secret []byte) (err error) {
	g.logins, err = providers.New(providers.Options{
		Settings: g.Settings.Users.Providers, Secret: secret, Now: g.project.clock.Now, Log: g.project.log,
	})
	if err != nil {
		return fmt.Errorf("open the providers of logins: %w", err)
	}
	if len(g.Settings.Users.Providers) > 0 && g.Settings.Server.URL == "" && g.project.options.Production {
		g.project.log.Warn("providers send the browser back to the address at which the server listens, which browsers may not reach: "+
			"set url in config/server.yaml", "address", g.base())
	}
	return nil
}

// warnOfRefresh logs a warning if logins begin sessions that nobody may refresh.
func (g *generation) warnOfRefresh() error {
	if !g.Settings.Users.Accounts.Sessions.On || !g.project.role.HasOwnContent() {
		return nil
	}
	may, err := g.users.MayRefresh()
	if err == nil && !may {
		g.project.log.Warn("sessions end with their first JWT, since the public may not refresh them: grant refresh of " +
			"plugin::users-permissions.auth to the role public in config/permissions.yaml")
	}
	return err
}
