package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

var (
	errNoAddress   = errors.New("the provider tells no address")
	errNotVerified = errors.New("the provider does not vouch for the address")
	errNonce       = errors.New("the id_token is not for this login: its nonce is another one")
	errParty       = errors.New("the id_token was issued to another client: its azp is another one")
	errNoIDToken   = errors.New("the provider gives no id_token; is openid among the scopes?")
	errSubject     = errors.New("the answer of the userinfo endpoint is about another user")
)

// config returns the client that the provider knows this server as.
func (p *Provider) config(ctx context.Context, redirectURI string) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: redirectURI, Scopes: p.Scopes,
		Endpoint: p.preset.endpoint}
	if p.preset.profile != nil {
		return c, nil
	}
	d, err := p.discover(ctx)
	if err != nil {
		return nil, p.failure(ctx, err)
	}
	c.Endpoint = d.endpoint
	c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.ClientSecret == "" || !d.inHeader || d.inParams && p.wantsParams() {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c, nil
}

// identify trades the code of the provider for what it says of the user.
func (p *Provider) identify(ctx context.Context, c *code) (claims, error) {
	config, err := p.config(ctx, c.Redirect)
	if err != nil {
		return claims{}, err
	}
	token, err := p.exchange(ctx, config, c)
	if err != nil {
		return claims{}, err
	}
	if p.preset.profile != nil {
		got, err := p.preset.profile(ctx, p.client, token.AccessToken)
		if err != nil {
			return claims{}, p.failure(ctx, err)
		}
		return got, nil
	}
	d, err := p.discover(ctx)
	if err != nil {
		return claims{}, p.failure(ctx, err)
	}
	got, err := p.verify(ctx, d, token, c.Nonce)
	switch {
	case err != nil && isKeyFailure(err):
		return claims{}, p.failure(ctx, err)
	case err != nil:
		return claims{}, p.refused(ctx, err, "the id_token of "+p.Name+" is not valid for this login")
	case got.Email == "" && d.provider.UserInfoEndpoint() != "":
		return p.userinfo(ctx, d, token, got)
	}
	return got, nil
}

// isKeyFailure reports whether the keys of the provider could not be read, other than because they are read too often.
// go-oidc has no error of its own for that, and keeps the texts of those within it alone.
func isKeyFailure(err error) bool {
	return strings.Contains(err.Error(), "fetching keys") && !strings.Contains(err.Error(), errKeys.Error())
}

// exchange trades the code for tokens. Some providers take the secret of a client in one form only, whatever they say:
// if they do not know the client, they have not looked at the code, and it is sent in the other form.
func (p *Provider) exchange(ctx context.Context, config *oauth2.Config, c *code) (*oauth2.Token, error) {
	var options []oauth2.AuthCodeOption
	if p.usesPKCE() {
		options = append(options, oauth2.VerifierOption(c.Verifier))
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := config.Exchange(ctx, c.Code, options...)
	if unknownClient(err) && p.ClientSecret != "" && config.Endpoint.AuthStyle == oauth2.AuthStyleInHeader &&
		p.takesParams() {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
		if token, err = config.Exchange(ctx, c.Code, options...); err == nil {
			p.mutex.Lock()
			p.inParams = true
			p.mutex.Unlock()
		}
	}
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.ErrorCode == "invalid_grant" || isGitHubs(answer) {
		return nil, p.refused(ctx, errors.New(describe(err)), "the login was used already, or has taken too long: begin again")
	}
	if err != nil {
		return nil, p.failure(ctx, err)
	}
	return token, nil
}

// isGitHubs reports whether an answer is what GitHub says of a code that was used.
func isGitHubs(answer *oauth2.RetrieveError) bool {
	return answer != nil && answer.ErrorCode == "bad_verification_code"
}

// unknownClient reports whether the provider does not know the client by its secret.
func unknownClient(err error) bool {
	var answer *oauth2.RetrieveError
	return errors.As(err, &answer) &&
		(answer.ErrorCode == "invalid_client" || answer.Response.StatusCode == http.StatusUnauthorized)
}

// wantsParams reports whether the provider has refused the secret in a header, and taken it among the parameters.
func (p *Provider) wantsParams() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.inParams
}

// takesParams reports whether the provider says that it takes the secret among the parameters.
func (p *Provider) takesParams() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.found != nil && p.found.inParams
}

// verify returns what the id_token of an answer says, if the provider has signed it for this client and this login.
func (p *Provider) verify(ctx context.Context, d *discovery, token *oauth2.Token, nonce string) (got claims, err error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return got, errNoIDToken
	}
	id, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return got, err
	}
	if id.Nonce != nonce {
		return got, errNonce
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return got, err
		}
	}
	if err := id.Claims(&got); err != nil {
		return got, fmt.Errorf("read the claims: %w", err)
	}
	if got.AuthorizedParty != p.ClientID && (got.AuthorizedParty != "" || len(id.Audience) > 1) {
		return got, errParty
	}
	return got, nil
}

// userinfo adds what the userinfo endpoint says of the user to what the id_token says.
func (p *Provider) userinfo(ctx context.Context, d *discovery, token *oauth2.Token, got claims) (claims, error) {
	ctx = oidc.ClientContext(ctx, p.client)
	info, err := d.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return got, p.failure(ctx, err)
	}
	subject := got.Subject
	if info.Subject != subject {
		return got, p.refused(ctx, errSubject, "the answer of "+p.Name+" is not about this login")
	}
	if err := info.Claims(&got); err != nil {
		return got, p.failure(ctx, fmt.Errorf("read the answer of the userinfo endpoint: %w", err))
	}
	return got, nil
}
