package providers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// A preset is what is known of a provider by its name.
type preset struct {
	issuer string // of OpenID Connect
	// wantsIssuer says what the settings must name, since each customer of the provider has an issuer of their own.
	wantsIssuer string
	scopes      []string
	params      map[string]string // further parameters of the authorization endpoint

	// Those of providers without OpenID Connect, or whose id_token cannot be relied on. The access token comes from the
	// token endpoint for a code of this client, so it is one of this client.
	endpoint oauth2.Endpoint
	withPKCE bool
	profile  func(context.Context, *http.Client, string) (claims, error)
}

// openID are the scopes of providers of OpenID Connect.
var openID = []string{"openid", "email", "profile"}

var presets = map[string]preset{
	"google":    {issuer: "https://accounts.google.com", scopes: openID},
	"gitlab":    {issuer: "https://gitlab.com", scopes: openID},
	"microsoft": {wantsIssuer: "https://login.microsoftonline.com/TENANT-ID/v2.0", scopes: openID},
	"keycloak":  {wantsIssuer: "https://HOST/realms/REALM", scopes: openID},
	"auth0":     {wantsIssuer: "https://TENANT.REGION.auth0.com/", scopes: openID},
	"cognito":   {wantsIssuer: "https://cognito-idp.REGION.amazonaws.com/POOL-ID", scopes: openID},
	"cas":       {wantsIssuer: "https://HOST/cas/oidc", scopes: openID},
	"okta":      {wantsIssuer: "https://ORGANISATION.okta.com", scopes: openID},
	"twitch": {issuer: "https://id.twitch.tv/oauth2", scopes: []string{"openid", "user:read:email"},
		params: map[string]string{
			"claims": `{"id_token":{"email":null,"email_verified":null,"preferred_username":null}}`}},
	"github": {scopes: []string{"read:user", "user:email"}, withPKCE: true, profile: githubProfile,
		endpoint: oauth2.Endpoint{AuthURL: "https://github.com/login/oauth/authorize",
			TokenURL: "https://github.com/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams}},
	"discord": {scopes: []string{"identify", "email"}, withPKCE: true, profile: discordProfile,
		endpoint: oauth2.Endpoint{AuthURL: "https://discord.com/oauth2/authorize",
			TokenURL: "https://discord.com/api/oauth2/token", AuthStyle: oauth2.AuthStyleInParams}},
	"facebook": {scopes: []string{"email"}, withPKCE: true, profile: facebookProfile,
		endpoint: oauth2.Endpoint{AuthURL: "https://www.facebook.com/dialog/oauth",
			TokenURL: "https://graph.facebook.com/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams}},
	"linkedin": {scopes: openID, profile: linkedinProfile, // its id_token has no nonce, and it takes no PKCE
		endpoint: oauth2.Endpoint{AuthURL: "https://www.linkedin.com/oauth/v2/authorization",
			TokenURL: "https://www.linkedin.com/oauth/v2/accessToken", AuthStyle: oauth2.AuthStyleInParams}},
	"patreon": {scopes: []string{"identity", "identity[email]"}, withPKCE: true, profile: patreonProfile,
		endpoint: oauth2.Endpoint{AuthURL: "https://www.patreon.com/oauth2/authorize",
			TokenURL: "https://www.patreon.com/api/oauth2/token", AuthStyle: oauth2.AuthStyleInParams}},
}

// WantsIssuer returns an example of the issuer that the settings of a provider must name; "" if they need none.
func WantsIssuer(name string) string {
	p, known := presets[name]
	if !known {
		return "https://login.example.org"
	}
	return p.wantsIssuer
}

// SpeaksOpenID reports whether a provider is one of OpenID Connect, which has an issuer.
func SpeaksOpenID(name string) bool { return presets[name].profile == nil }

// HasNoAddresses reports whether a name is that of a provider of the reference that tells no address that it vouches
// for, so that accounts cannot be found by it.
func HasNoAddresses(name string) bool {
	return slices.Contains([]string{"twitter", "instagram", "reddit", "vk"}, name)
}

// get asks a provider for a profile.
func get(ctx context.Context, c *http.Client, url, token string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return getJSON(c, r, token, into)
}

// githubProfile returns the primary address of a user of GitHub.
func githubProfile(ctx context.Context, c *http.Client, token string) (claims, error) {
	var user struct{ Login string }
	var emails []struct {
		Email             string
		Primary, Verified bool
	}
	if err := get(ctx, c, "https://api.github.com/user", token, &user); err != nil {
		return claims{}, err
	}
	if err := get(ctx, c, "https://api.github.com/user/emails", token, &emails); err != nil {
		return claims{}, err
	}
	for _, e := range emails {
		if e.Primary {
			return claims{Email: e.Email, EmailVerified: looseBool(e.Verified), PreferredUsername: user.Login}, nil
		}
	}
	return claims{PreferredUsername: user.Login}, nil
}

func discordProfile(ctx context.Context, c *http.Client, token string) (claims, error) {
	var user struct {
		Username, Email string
		Verified        bool
	}
	err := get(ctx, c, "https://discord.com/api/users/@me", token, &user)
	return claims{Email: user.Email, EmailVerified: looseBool(user.Verified), PreferredUsername: user.Username}, err
}

// facebookProfile returns a user of Facebook, which tells an address only if it was confirmed.
func facebookProfile(ctx context.Context, c *http.Client, token string) (claims, error) {
	var user struct{ Name, Email string }
	err := get(ctx, c, "https://graph.facebook.com/me?fields=name,email", token, &user)
	return claims{Email: user.Email, EmailVerified: true, Name: user.Name}, err
}

func linkedinProfile(ctx context.Context, c *http.Client, token string) (got claims, err error) {
	return got, get(ctx, c, "https://api.linkedin.com/v2/userinfo", token, &got)
}

func patreonProfile(ctx context.Context, c *http.Client, token string) (claims, error) {
	var user struct {
		Data struct {
			Attributes struct {
				FullName string `json:"full_name"`
				Email    string
				Verified bool `json:"is_email_verified"`
			}
		}
	}
	err := get(ctx, c, "https://www.patreon.com/api/oauth2/v2/identity?fields%5Buser%5D=full_name,email,is_email_verified",
		token, &user)
	a := user.Data.Attributes
	return claims{Email: a.Email, EmailVerified: looseBool(a.Verified), Name: a.FullName}, err
}

// claims are what a provider says of a user.
type claims struct {
	Subject           string    `json:"sub"`
	Email             string    `json:"email"`
	EmailVerified     looseBool `json:"email_verified"`
	DomainVerified    looseBool `json:"xms_edov"` // of Microsoft, whose email_verified is missing
	PreferredUsername string    `json:"preferred_username"`
	Nickname          string    `json:"nickname"`
	Name              string    `json:"name"`
	AuthorizedParty   string    `json:"azp"`
}

// username returns how the provider calls the user, without what looks like an address.
func (c *claims) username() string {
	for _, name := range []string{c.PreferredUsername, c.Nickname, c.Name, c.Email} {
		if name, _, _ = strings.Cut(name, "@"); strings.TrimSpace(name) != "" {
			return strings.TrimSpace(shorten(name, 100))
		}
	}
	return ""
}

// A looseBool is a boolean that some providers send as a text or a number.
type looseBool bool

var errNoBool = errors.New("neither true nor false")

// UnmarshalJSON implements json.Unmarshaler.
func (b *looseBool) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true", `"true"`, "1", `"1"`:
		*b = true
	case "false", `"false"`, "0", `"0"`, "null", `""`:
		*b = false
	default:
		return errNoBool
	}
	return nil
}
