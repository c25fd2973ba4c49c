package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"lectern/gateway/internal/certificates"
)

// tlsConfig returns how the server speaks TLS, and what answers plain requests at tls.redirect. Both are nil if it speaks plain HTTP.
func (p *Project) tlsConfig() (*tls.Config, http.Handler, error) {
	s := &p.Definition().Settings.Server.TLS
	switch {
	case !s.On():
		return nil, nil, nil
	case s.Certificate == "":
		authority := certificates.Authority{Directory: s.ACME.Directory, Email: s.ACME.Email, Cache: filepath.Join(p.Data.Path, "acme")}
		return authority.ForDomains(s.ACME.Domains...)
	}
	c, err := certificates.FromFiles(p.inProject(s.Certificate), p.inProject(s.Key), func(err error) {
		p.log.Error("the former certificate is still used", "error", err)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("tls: %w; mend tls.certificate and tls.key in config/server.yaml", err)
	}
	return c, certificates.Redirect, nil
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

// A redirector answers plain requests at tls.redirect.
type redirector struct {
	server   *http.Server
	listener net.Listener
}

// listenToRedirect listens at tls.redirect; the redirector is nil if there is none.
func (p *Project) listenToRedirect(h http.Handler) (*redirector, error) {
	address := p.Definition().Settings.Server.TLS.Redirect
	if address == "" {
		return nil, nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, cannotListen(address, err)
	}
	const wait = 10 * time.Second // these answers are short
	return &redirector{&http.Server{Handler: h, ReadTimeout: wait, WriteTimeout: wait, IdleTimeout: wait, MaxHeaderBytes: 16 << 10}, ln}, nil
}

// run answers requests until ctx ends.
func (r *redirector) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = r.server.Close() })()
	if err := r.server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("redirect to https: %w", err)
	}
	return nil
}

// isHTTPS reports whether clients reach the server by https: it speaks TLS itself, or a proxy does.
func (p *Project) isHTTPS() bool {
	return p.scheme() == "https" || strings.HasPrefix(p.Definition().Settings.Server.URL, "https://")
}
