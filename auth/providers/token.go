package providers

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"lectern/auth"
	"lectern/documents/apierror"
)

// maxTokenAge is how long ago the provider may have issued an id_token that an app sends. It bounds how long somebody
// who gets hold of one can use it: providers let them live for an hour or longer.
const maxTokenAge = 10 * time.Minute

var (
	errAudience = errors.New("the id_token is for none of the audiences of the settings")
	errOld      = errors.New("the id_token was issued too long ago")
)

// VerifyToken returns the identity of the user of an id_token, which an app has got from the provider by itself. The
// token must be a recent one for a client of Settings.Audiences. Its errors are those of Finish.
func (p *Provider) VerifyToken(ctx context.Context, token string) (id auth.Identity, err error) {
	if len(p.Audiences) == 0 || p.preset.profile != nil {
		return id, apierror.Application("no id_token of " + p.Name + " is taken: begin the login at /connect/" + p.Name)
	}
	ctx, end, err := p.work(ctx)
	if err != nil {
		return id, err
	}
	defer end()
	d, err := p.discover(ctx)
	if err != nil {
		return id, p.failure(ctx, err)
	}
	got, err := p.checkToken(ctx, d, token)
	switch {
	case err != nil && isKeyFailure(err):
		return id, p.failure(ctx, err)
	case err != nil:
		return id, p.refused(ctx, err, "the id_token of "+p.Name+" is not valid for this server")
	}
	return p.identity(ctx, &got)
}

// checkToken returns what an id_token says, if the provider has signed it lately for one of the audiences.
func (p *Provider) checkToken(ctx context.Context, d *discovery, token string) (got claims, err error) {
	verified, err := d.anyClient.Verify(ctx, token)
	if err != nil {
		return got, err
	}
	if err := verified.Claims(&got); err != nil {
		return got, err
	}
	isOurs := func(client string) bool { return slices.Contains(p.Audiences, client) }
	switch age := p.now().Sub(verified.IssuedAt); {
	case !slices.ContainsFunc(verified.Audience, isOurs):
		return got, errAudience
	case len(verified.Audience) > 1 && !isOurs(got.AuthorizedParty):
		return got, errParty
	case age > maxTokenAge+maxSkew, age < -maxSkew:
		return got, errOld
	}
	return got, nil
}

// verifierOf returns a verifier of tokens for a client, or for any if client is "".
func (p *Provider) verifierOf(client string, keys oidc.KeySet, algorithms []string) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(p.Issuer, keys, &oidc.Config{ClientID: client, SkipClientIDCheck: client == "",
		SupportedSigningAlgs: algorithms, Now: func() time.Time { return p.now().Add(-maxSkew) }})
}
