package config

import (
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"lectern/auth/providers"
	"lectern/internal/yamlfile"
)

// providerFile is an item of users-permissions.config.providers as written.
type providerFile struct {
	// `false` switches this provider off
	// Default: `true`
	Enabled *bool
	// client ID that the provider has given you
	// Default: required
	ClientID string `yaml:"clientId"`
	// secret of the client. Write it as a variable, such as `${GOOGLE_SECRET}`. Without it, the client is a public one
	// Default: none
	ClientSecret string `yaml:"clientSecret"`
	// page of your front end to which the browser comes back
	// Default: required
	Callback string
	// address by which the provider of OpenID Connect is found: what comes before `/.well-known/openid-configuration`
	// Default: that of the [preset](#presets)
	Issuer string
	// what is asked for
	// Default: those of the preset, or `[openid, email, profile]`
	Scope wordList
	// client IDs for which an app of yours gets an `id_token` by itself: [apps](#apps)
	// Default: none
	Audiences wordList
	// `true` believes all addresses, for a provider of your own that does not say `email_verified`. Whoever can choose
	// their address there can log in as anybody here
	TrustAddresses bool `yaml:"trustAddresses"`
}

var providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

// readProviders checks the settings of providers. at is their Node, for the lines of problems.
func (s *Users) readProviders(files map[string]providerFile, at *yamlfile.Node) (problems yamlfile.Problems) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if f.Enabled != nil && !*f.Enabled {
			continue
		}
		problems = append(problems, f.check(name, at.At(name))...)
		s.Providers = append(s.Providers, providers.Settings{
			Name: name, Issuer: f.Issuer, ClientID: f.ClientID, ClientSecret: f.ClientSecret, Callback: f.Callback,
			Scopes: f.Scope, Audiences: f.Audiences, TrustAddresses: f.TrustAddresses,
		})
	}
	return problems
}

func (f *providerFile) check(name string, at *yamlfile.Node) (problems yamlfile.Problems) {
	switch {
	case name == "local" || name == "email" || !providerName.MatchString(name):
		problems.Add(at, "%q is no name for a provider; take lower-case letters, digits and -, at most 31, "+
			"but neither local nor email", name)
		return problems
	case providers.HasNoAddresses(name):
		problems.Add(at, "%s tells no address that it vouches for, by which accounts are found; take it out", name)
		return problems
	}
	if f.ClientID == "" {
		problems.Add(at.At("clientId"), "clientId must be the ID that %s has given you", name)
	}
	if !isPage(f.Callback) || strings.Contains(f.Callback, "#") {
		problems.Add(at.At("callback"), "callback must be the page of your front end, "+
			"such as https://www.example.org/connect/%s, not %q", name, f.Callback)
	}
	return append(problems, f.checkIssuer(name, at)...)
}

func (f *providerFile) checkIssuer(name string, at *yamlfile.Node) (problems yamlfile.Problems) {
	example := providers.WantsIssuer(name)
	u, err := url.Parse(f.Issuer)
	switch {
	case !providers.SpeaksOpenID(name) && f.Issuer != "":
		problems.Add(at.At("issuer"), "%s has no issuer; take it out", name)
	case !providers.SpeaksOpenID(name) && len(f.Audiences) > 0:
		problems.Add(at.At("audiences"), "%s makes no id_token; take audiences out", name)
	case f.Issuer == "" && example != "":
		problems.Add(at, "issuer is missing: write the one of your account at %s, such as %s", name, example)
	case f.Issuer == "":
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		problems.Add(at.At("issuer"), "issuer must be an address such as https://login.example.org, "+
			"or http://localhost:PORT on this machine, not %q", f.Issuer)
	case u.Host == "login.microsoftonline.com" && slices.Contains([]string{"common", "organizations", "consumers"},
		strings.Split(strings.Trim(u.Path, "/"), "/")[0]):
		problems.Add(at.At("issuer"), "issuer must name your tenant, as %s: "+
			"anybody can make a tenant whose users have the addresses of others", example)
	}
	return problems
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback()
	}
	return host == "localhost"
}
