package auth

import (
	"context"
	"time"
)

// Credentials are what a user gets who has logged in. They are zero as long as the user must confirm their address
// before they can log in.
type Credentials struct {
	JWT     string
	Refresh string // the refresh token of the session; "" without sessions
}

// issue returns the credentials of a user who has shown who they are. Every way to log in ends with it, whatever it
// checked before: a password, a code from a mail, or another identity provider. who is as it was when it was checked.
// device is what the client calls the device of the user, "" if it does not say.
func (u *Users) issue(ctx context.Context, who account, device string) (c Credentials, err error) {
	if u.o.Settings.Sessions.On {
		return u.beginSession(ctx, who, device, apiSession)
	}
	c.JWT, err = u.signer.sign(claims{user: who.id, expires: u.o.Now().Add(u.o.Settings.Lifespan).Unix()}, who.hash)
	return c, err
}

// renew gives a session its next refresh token, and returns that with a JWT. It sets what is stored of the session.
func (u *Users) renew(s *session, who *account, now time.Time, kind sessionKind) (c Credentials, err error) {
	s.active = now
	s.expires = s.end(u.o.Settings.Sessions)
	named := claims{user: who.id, session: s.key, expires: s.expires.Unix()}
	if c.Refresh, err = u.signer.signRefresh(kind.refresh, named, who.hash); err != nil {
		return c, err
	}
	s.hash = digestOfCode(c.Refresh)
	named.expires = now.Add(u.o.Settings.Sessions.Access).Unix()
	c.JWT, err = u.signer.signAccess(kind.access, named, who.hash)
	return c, err
}
