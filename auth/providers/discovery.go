package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"
)

const (
	// discoveryAge is how long what a provider says of itself is used before it is asked again.
	discoveryAge = time.Hour
	// failureAge is how long after a failure the provider is not asked again.
	failureAge = 5 * time.Second
	// maxSkew is by how much the clock of the provider may be behind or ahead.
	maxSkew = time.Minute
)

// A discovery is what a provider of OpenID Connect says of itself.
type discovery struct {
	provider  *oidc.Provider
	verifier  *oidc.IDTokenVerifier // of tokens for this server
	anyClient *oidc.IDTokenVerifier // of tokens whose audience is not checked
	endpoint  oauth2.Endpoint
	inHeader  bool // the provider takes the secret of a client in the header
	inParams  bool // among the parameters
	at        time.Time
}

// discover returns what the provider says of itself. It asks once for all who wait, and soon after a failure not again.
func (p *Provider) discover(ctx context.Context) (*discovery, error) {
	p.mutex.Lock()
	found, failed, at := p.found, p.failed, p.failedAt
	p.mutex.Unlock()
	now := p.now()
	recent := failed != nil && now.Sub(at) < failureAge && now.Sub(at) >= 0
	switch {
	case found != nil && (recent || now.Sub(found.at) < discoveryAge):
		return found, nil
	case recent:
		return nil, failed
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	default:
		return nil, p.busy()
	}
	asked := p.discovering.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxTime)
		defer cancel()
		fresh, err := p.ask(ctx)
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if err != nil {
			p.failed, p.failedAt = err, p.now()
			return p.found, err
		}
		p.found, p.failed = fresh, nil
		return fresh, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-asked:
		if known, _ := result.Val.(*discovery); known != nil {
			return known, nil // perhaps an old one, which is better than none
		}
		return nil, result.Err
	}
}

// ask reads the discovery document of the provider.
func (p *Provider) ask(ctx context.Context) (*discovery, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.Issuer, err)
	}
	var more struct {
		JWKS    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.Issuer, err)
	}
	d := &discovery{provider: provider, endpoint: provider.Endpoint(), at: p.now(),
		inHeader: len(more.Methods) == 0 || slices.Contains(more.Methods, "client_secret_basic"),
		inParams: slices.Contains(more.Methods, "client_secret_post")}
	if err := p.checkEndpoints(d.endpoint.AuthURL, d.endpoint.TokenURL, more.JWKS); err != nil {
		return nil, err
	}
	if userinfo := provider.UserInfoEndpoint(); userinfo != "" {
		if err := p.checkEndpoints(userinfo); err != nil {
			return nil, err
		}
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), p.keyClient()), more.JWKS)
	var algorithms struct {
		Supported []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&algorithms); err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.Issuer, err)
	}
	taken := asymmetric(algorithms.Supported)
	d.verifier, d.anyClient = p.verifierOf(p.ClientID, keys, taken), p.verifierOf("", keys, taken)
	return d, nil
}

// asymmetric returns those of the algorithms that are signatures with a private key. A token that is signed with the
// secret of the client, or not at all, is not taken.
func asymmetric(algorithms []string) (taken []string) {
	for _, a := range algorithms {
		if slices.Contains([]string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256,
			oidc.PS384, oidc.PS512, oidc.EdDSA}, a) {
			taken = append(taken, a)
		}
	}
	return taken
}

// checkEndpoints returns an error if an address is none, or not protected although the issuer is.
func (p *Provider) checkEndpoints(addresses ...string) error {
	issuer, err := url.Parse(p.Issuer)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || issuer.Scheme == "https") {
			return fmt.Errorf("discover %s: %q is no address for an endpoint", p.Issuer, address)
		}
	}
	return nil
}

// Keys are read again when a token is signed with one that is not known, but only so often, whatever tokens say.
const (
	keysEvery = 10 * time.Second
	keysBurst = 5
)

var errKeys = errors.New("the keys of the provider were read too often lately")

// keyClient returns a client for the keys of the provider, which it reads only so often.
func (p *Provider) keyClient() *http.Client {
	c := *p.client
	c.Transport = &limited{c.Transport, rate.NewLimiter(rate.Every(keysEvery), keysBurst), p.now}
	return &c
}

type limited struct {
	http.RoundTripper
	limiter *rate.Limiter
	now     func() time.Time
}

// RoundTrip implements http.RoundTripper.
func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	if !l.limiter.AllowN(l.now(), 1) {
		return nil, errKeys
	}
	return l.RoundTripper.RoundTrip(r)
}
