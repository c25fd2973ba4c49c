package config

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/internal/yamlfile"
)

// A SessionCookie says how a refresh token is sent as a cookie, which scripts in browsers cannot read.
type SessionCookie struct {
	Always   bool          // it is sent to all clients, instead of those that ask for it
	Name     string        // default strapi_up_refresh
	Path     string        // default /
	Domain   string        // "": the host of the request
	SameSite string        // strict, lax or none; default lax
	Secure   *bool         // nil: in production
	Life     time.Duration // 0: until the browser is closed
}

// sessionsFile is users-permissions.config.sessions as written.
type sessionsFile struct {
	// how long a JWT works, in seconds or as a time such as `10m`
	// Default: `10m`
	Access *yamlfile.Node `yaml:"accessTokenLifespan"`
	// how long a session can be refreshed after its login
	// Default: `30d`
	Max *yamlfile.Node `yaml:"maxRefreshTokenLifespan"`
	// how long a refresh token works: a session ends if it is not refreshed for so long
	// Default: `14d`
	Idle *yamlfile.Node `yaml:"idleRefreshTokenLifespan"`
	// whether refresh tokens are sent as a cookie that scripts cannot read, and not in bodies. A client can ask for the
	// cookie by the header `x-strapi-refresh-cookie: httpOnly`
	HTTPOnly *bool `yaml:"httpOnly"`
	Cookie   cookieFile
}

type cookieFile struct {
	// name of the cookie. One with the prefix `__Secure-` needs `secure: true`, and one with `__Host-` no `domain` and
	// no `path` as well
	Name *string
	// `strict`, `lax` or `none`: whether browsers send the cookie with requests that pages of other sites make
	SameSite *string `yaml:"sameSite"`
	// paths for which browsers send the cookie; `/api/auth` suffices
	Path *string
	// domain for whose hosts browsers send the cookie
	// Default: the host of the request
	Domain *string
	// whether browsers send the cookie over https only
	// Default: in production
	Secure **bool
	// how long browsers keep the cookie, in milliseconds or as a time such as `30d`
	// Default: until the browser is closed
	MaxAge *yamlfile.Node `yaml:"maxAge"`
}

// The modes of jwtManagement.
const (
	legacyMode  = "legacy-support"
	refreshMode = "refresh"
)

// sessionsFile returns a sessionsFile whose pointers lead to s.
func (s *Users) sessionsFile() sessionsFile {
	c := &s.Cookie
	return sessionsFile{HTTPOnly: &c.Always, Cookie: cookieFile{Name: &c.Name, SameSite: &c.SameSite, Path: &c.Path,
		Domain: &c.Domain, Secure: &c.Secure}}
}

// readSessions checks the settings of sessions that decoding f has set, and sets the others. config is the Node of f,
// for the lines of problems.
func (s *Users) readSessions(f *usersFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	at := config.Get("sessions")
	to := &s.Accounts.Sessions
	to.On = s.Management == refreshMode
	if !to.On && s.Management != legacyMode {
		problems.Add(config.At("jwtManagement"), "jwtManagement must be %s or %s, not %q", refreshMode, legacyMode,
			s.Management)
	}
	for _, d := range []struct {
		key  string
		node *yamlfile.Node
		into *time.Duration
	}{
		{"accessTokenLifespan", f.Sessions.Access, &to.Access}, {"maxRefreshTokenLifespan", f.Sessions.Max, &to.Max},
		{"idleRefreshTokenLifespan", f.Sessions.Idle, &to.Idle},
	} {
		if d.node.IsNull() {
			continue
		}
		var ok bool
		if *d.into, ok = ParseLifespan(d.node.Text); !ok || *d.into < time.Second {
			problems.Add(d.node, "%s must be a number of seconds or a time such as 10m or 30d, a second or longer, not %q", d.key,
				d.node.Text)
		}
	}
	s.SameSiteAt = at.Get("cookie").At("sameSite")
	problems = append(problems, s.Cookie.read(&f.Sessions.Cookie, at.Get("cookie"))...)
	changed := *to != defaultUsers.Accounts.Sessions || s.Cookie != defaultUsers.Cookie
	if changed && s.Management == legacyMode {
		problems.Add(at, "sessions has no effect without jwtManagement: %s beside it; add that, or take sessions out",
			refreshMode)
	}
	return problems
}

// read checks the settings that decoding f has set, and sets the others. at is the Node of f.
func (c *SessionCookie) read(f *cookieFile, at *yamlfile.Node) (problems yamlfile.Problems) {
	c.SameSite = strings.ToLower(c.SameSite)
	if !slices.Contains([]string{"strict", "lax", "none"}, c.SameSite) {
		problems.Add(at.At("sameSite"), "sameSite must be strict, lax or none, not %q", c.SameSite)
	}
	if c.SameSite == "none" && c.Secure != nil && !*c.Secure {
		problems.Add(at.At("secure"), "browsers refuse a cookie with sameSite: none that is not secure: take secure out, "+
			"or use sameSite: lax")
	}
	// Valid wants a value; that of the cookie is a JWT.
	if err := (&http.Cookie{Name: c.Name, Value: "x"}).Valid(); err != nil {
		problems.Add(at.At("name"), "name must be the name of a cookie, such as session, not %q", c.Name)
	}
	if err := (&http.Cookie{Name: "x", Path: c.Path}).Valid(); err != nil || !strings.HasPrefix(c.Path, "/") {
		problems.Add(at.At("path"), "path must begin with /, such as /api/auth, and have no semicolon; it is %q", c.Path)
	}
	if err := (&http.Cookie{Name: "x", Domain: c.Domain}).Valid(); err != nil {
		problems.Add(at.At("domain"), "domain must be a domain such as example.org, not %q", c.Domain)
	}
	problems = append(problems, c.checkPrefix(at)...)
	if f.MaxAge.IsNull() {
		return problems
	}
	var ok bool
	if c.Life, ok = parseMilliseconds(f.MaxAge.Text); !ok || c.Life < time.Second {
		problems.Add(f.MaxAge, "maxAge must be a number of milliseconds or a time such as 30d, a second or longer, not %q",
			f.MaxAge.Text)
	}
	return problems
}

// checkPrefix reports a name with a prefix that browsers take with certain settings only; they drop the cookie
// otherwise, in development as well as in production. They compare prefixes in any case.
func (c *SessionCookie) checkPrefix(at *yamlfile.Node) (problems yamlfile.Problems) {
	name := strings.ToLower(c.Name)
	host := strings.HasPrefix(name, "__host-")
	if !host && !strings.HasPrefix(name, "__secure-") {
		return nil
	}
	if c.Secure == nil || !*c.Secure {
		problems.Add(at.At("name"), "browsers drop a cookie named %s that is not secure: add secure: true, or use another "+
			"name, which works without https in development", c.Name)
	}
	if host && (c.Path != "/" || c.Domain != "") {
		problems.Add(at.At("name"), "browsers drop a cookie named %s that has a domain or another path than /: take domain "+
			"and path out, or use a name with __Secure-", c.Name)
	}
	return problems
}

// checkCookie reports a cookie of sessions by which pages of any site get the JWT of a user who visits them.
func (s *Settings) checkCookie() (problems yamlfile.Problems) {
	if u := &s.Users; u.Accounts.Sessions.On && u.Cookie.SameSite == "none" && s.Server.CORS.AnyOrigin() {
		problems.Add(u.SameSiteAt, "with sameSite: none browsers send the cookie from pages of any site, and all of them may "+
			"read the JWT: name those of your front end at cors.origin in config/server.yaml, or use sameSite: lax")
	}
	return problems
}

// parseMilliseconds parses a number of milliseconds, or a time as ParseLifespan does.
func parseMilliseconds(text string) (time.Duration, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n) * time.Millisecond, n > 0 && n < 1e15
	}
	return ParseLifespan(text)
}
