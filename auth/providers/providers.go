// Package providers logs users in by other identity providers: any that speaks OpenID Connect, and well-known ones that
// speak OAuth 2.0 only.
//
// A login takes three requests of a browser, between which the server keeps nothing, so that each may reach another
// node of a cluster:
//
//	location, state, err := p.Begin(ctx, redirectURI, "", "") // send the browser to location, with state in a cookie
//	location, code := p.Return(ctx, state, query)             // the provider has sent it back: send it to the front end
//	identity, err := p.Finish(ctx, providers.Trade{Code: code}) // the front end trades the code for the identity
//
// State and code are sealed with a key of the server: nobody else can read or make them. The code holds the
// authorization code of the provider, which is traded in Finish only. So it works once, because the provider accepts
// its own code once, on whichever node.
//
// Only what the provider tells over its own connection is believed: an identity has an address that the provider
// vouches for, and tokens of other clients of the provider are never taken.
package providers

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Settings are the settings of one provider.
type Settings struct {
	Name           string // as in paths: google, keycloak, …
	Issuer         string // of a provider of OpenID Connect; "": that of the preset
	ClientID       string
	ClientSecret   string   // "" for a public client, which has PKCE alone
	Callback       string   // the page of the front end to which the browser is sent after the login
	Scopes         []string // empty: those of the preset
	Audiences      []string // clients whose id_tokens VerifyToken takes
	TrustAddresses bool     // the provider vouches for all addresses, though it does not say so
}

// Options are what New needs.
type Options struct {
	Settings []Settings
	Secret   []byte            // states and codes are sealed with a key that is made of it
	Now      func() time.Time  // nil means time.Now
	Log      *slog.Logger      // says why logins fail; never has a secret, a token or an address of a user
	HTTP     http.RoundTripper // carries the requests to providers; nil: connections as net/http makes them
}

// Providers are the providers of a project. They are safe for concurrent use.
type Providers struct {
	list map[string]*Provider
}

// New returns the providers. It connects to none of them.
func New(o Options) (*Providers, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	seal, err := newSealer(o.Secret, o.Now)
	if err != nil {
		return nil, err
	}
	all := &Providers{list: map[string]*Provider{}}
	for _, s := range o.Settings {
		known, ok := presets[s.Name]
		if !ok {
			known.scopes = openID
		}
		if s.Issuer == "" {
			s.Issuer = known.issuer
		}
		if len(s.Scopes) == 0 {
			s.Scopes = known.scopes
		}
		if known.profile == nil && !slices.Contains(s.Scopes, "openid") {
			s.Scopes = append([]string{"openid"}, s.Scopes...) // without it the provider gives no id_token
		}
		all.list[s.Name] = &Provider{
			Settings: s, preset: known, seal: seal, now: o.Now, log: o.Log, client: newClient(o.HTTP),
			atWork: make(chan struct{}, maxAtWork), asking: make(chan struct{}, maxAtWork),
		}
	}
	return all, nil
}

// Get returns the provider of this name, nil if there is none.
func (p *Providers) Get(name string) *Provider {
	if p == nil {
		return nil
	}
	return p.list[name]
}

// A Provider logs users in.
type Provider struct {
	Settings
	preset preset
	seal   *sealer
	now    func() time.Time
	log    *slog.Logger
	client *http.Client
	atWork chan struct{} // has an entry for each login that waits for the provider
	asking chan struct{} // for each that waits for what the provider says of itself

	discovering singleflight.Group
	mutex       sync.Mutex
	found       *discovery // nil until the provider was asked
	failed      error      // of the last attempt to find it, at failedAt
	failedAt    time.Time
	inParams    bool // the provider wants the secret among the parameters; guarded by mutex
}

const (
	// maxTime is how long the provider may take to answer, all requests of a step together.
	maxTime = 10 * time.Second
	// maxAtWork is how many logins may wait for a provider at a time. Others are refused at once, so that a provider
	// that does not answer holds up nothing else.
	maxAtWork = 16
)

// work takes a place among those that wait for the provider, and limits their time. The caller must call end.
func (p *Provider) work(ctx context.Context) (_ context.Context, end func(), err error) {
	select {
	case p.atWork <- struct{}{}:
	default:
		return nil, nil, p.busy()
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	return ctx, func() { cancel(); <-p.atWork }, nil
}
