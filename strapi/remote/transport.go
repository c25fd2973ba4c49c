package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"lectern/internal/publicaddr"
)

const maxRedirects = 5

// A redirectError says that a server has sent a request elsewhere, where the token must not go.
type redirectError struct{ to string }

func (e *redirectError) Error() string {
	return fmt.Sprintf("the server redirects to %s, and the token goes to no other server; if that is the right one, "+
		"use its URL instead", e.to)
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// redirectWithin follows redirects to the same server only.
func redirectWithin(r *http.Request, via []*http.Request) error {
	if !sameOrigin(r.URL, via[0].URL) {
		return &redirectError{r.URL.Scheme + "://" + r.URL.Host}
	}
	return redirectAnywhere(r, via)
}

// redirectAnywhere follows redirects to any web server.
func redirectAnywhere(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return fmt.Errorf("redirect to %s, which is no web server", r.URL.Scheme)
	}
	return nil
}

// isCertificate reports whether an error says that a certificate cannot be trusted. Another attempt would not change
// that.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host)
}

// parseBase checks the URL of a server.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil && !strings.Contains(text, "://") { // such as 127.0.0.1:1337
		u, err = &url.URL{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("URL of the server: %w", errors.Unwrap(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("URL of the server: %q is none; an example is https://cms.example.com", text)
	case u.User != nil:
		return nil, errors.New("URL of the server: it has a user or password, and only a token is used")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("URL of the server: it has a query or a fragment; an example is https://cms.example.com")
	}
	u.Path = trimAPI(u.Path)
	u.RawPath = ""
	return u, nil
}

// trimAPI removes what people copy along with the URL of a server: slashes at the end, and /api.
func trimAPI(path string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(path, "/"), "/api"), "/")
}

// errPrivate means that the URL of a file leads to a private network.
var errPrivate = errors.New("its URL leads to another host in a private network")

// publicTransport returns a transport for files, whose URLs a server chooses. It connects to the server itself, to
// proxies of the environment, and to public addresses, but not to other hosts of the network that this program runs in.
func publicTransport(base *url.URL) http.RoundTripper {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		t = standard.Clone()
	}
	known := []string{base.Hostname()}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base}); err == nil && proxy != nil {
		known = append(known, proxy.Hostname())
	}
	free := &net.Dialer{Timeout: 30 * time.Second}
	guarded := &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !publicaddr.Is(to.Addr()) {
			return errPrivate
		}
		return nil
	}}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil && slices.Contains(known, host) {
			return free.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	return t
}
