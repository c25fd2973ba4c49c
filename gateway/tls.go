package gateway

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"lectern/gateway/internal/certificates"
)

// tlsConfig returns how the server speaks TLS, and what answers plain requests at tls.redirect. Both are nil if it
// speaks plain HTTP.
func (p *Project) tlsConfig() (*tls.Config, http.Handler, error) {
	s := &p.Definition().Settings.Server.TLS
	switch {
	case !s.On():
		return nil, nil, nil
	case s.Certificate == "":
		authority := certificates.Authority{Directory: s.ACME.Directory, Email: s.ACME.Email,
			Cache: filepath.Join(p.Data.Path, "acme")}
		return authority.ForDomains(p.httpsPort(), s.ACME.Domains...)
	}
	c, err := certificates.FromFiles(p.inProject(s.Certificate), p.inProject(s.Key), func(err error) {
		p.log.Error("the former certificate is still used", "error", err)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w; mend tls.certificate and tls.key in config/server.yaml", err)
	}
	return c, certificates.RedirectTo(p.httpsPort()), nil
}

// httpsPort returns the port of the address at which clients reach the server, if the settings say one.
func (p *Project) httpsPort() string {
	if u, err := url.Parse(p.Definition().Settings.Server.URL); err == nil && u.Scheme == "https" {
		return u.Port()
	}
	return ""
}

// inProject returns a path that may be relative to the project.
func (p *Project) inProject(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.directory.Dir, path)
}

// scheme returns the scheme of the URL at which the server listens.
func (p *Project) scheme() string {
	if p.Definition().Settings.Server.TLS.On() {
		return "https"
	}
	return "http"
}

// listenToRedirect listens at tls.redirect, where h answers plain requests; the result is nil if there is no such
// address.
func (p *Project) listenToRedirect(h http.Handler) (*sideServer, error) {
	const wait = 10 * time.Second // these answers are short
	return listenBeside(p.Definition().Settings.Server.TLS.Redirect,
		&http.Server{Handler: h, ReadTimeout: wait, WriteTimeout: wait, IdleTimeout: wait, MaxHeaderBytes: 16 << 10})
}

// isHTTPS reports whether clients reach the server by https: it speaks TLS itself, or a proxy does.
func (p *Project) isHTTPS() bool {
	return p.scheme() == "https" || strings.HasPrefix(p.Definition().Settings.Server.URL, "https://")
}
