package auth

import "context"

// Credentials are what a user gets who has logged in.
type Credentials struct {
	JWT string // "" as long as the user must confirm their address before they can log in
}

// issue returns the credentials of a user who has shown who they are. Every way to log in ends with it, whatever it
// checked before: a password, a code from a mail, or another identity provider. who is as it was when it was checked.
// device is what the client calls the device of the user, "" if it does not say.
func (u *Users) issue(_ context.Context, who account, _ string) (c Credentials, err error) {
	c.JWT, err = u.signer.sign(who.id, who.hash)
	return c, err
}
