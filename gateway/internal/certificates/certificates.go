// Package certificates provides the TLS certificates of the server: from files, which are read again when they change,
// or from an ACME authority such as Let's Encrypt, which renews them.
package certificates

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// FromFiles returns a configuration with the certificate chain and the private key of two PEM files. When the files
// change, the next handshakes use the new certificate; if the new files cannot be used, failed is called and the former
// certificate stays.
func FromFiles(certificate, key string, failed func(error)) (*tls.Config, error) {
	f := &files{certificate: certificate, key: key, failed: failed}
	if err := f.read(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.get}, nil
}

// lookEvery is the least time between two looks at the files.
const lookEvery = time.Second

// files is a certificate in two files.
type files struct {
	certificate, key string
	failed           func(error)

	mu       sync.Mutex
	present  *tls.Certificate
	stamps   [2]stamp
	looked   time.Time
	reported string // the error that failed was last called with
}

// A stamp changes when a file does.
type stamp struct {
	modified time.Time
	size     int64
}

// get returns the certificate for a handshake.
func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) >= lookEvery {
		f.tell(f.read())
	}
	return f.present, nil
}

// tell calls failed with an error, unless it was the last one, too.
func (f *files) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.reported {
		f.failed(err)
	}
	f.reported = text
}

// read reads the files if they have changed. A file that could not be used is not read again until it changes.
func (f *files) read() error {
	f.looked = time.Now()
	stamps, err := f.stampFiles()
	if err != nil || stamps == f.stamps {
		return err
	}
	f.stamps = stamps
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", f.certificate, f.key, err)
	}
	f.present = &pair
	return nil
}

func (f *files) stampFiles() (stamps [2]stamp, err error) {
	for i, path := range []string{f.certificate, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return f.stamps, fmt.Errorf("the certificate: %w", err)
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

// An Authority issues certificates by the ACME protocol (RFC 8555).
type Authority struct {
	Directory string // its URL; "" is Let's Encrypt
	Email     string // where it sends warnings; may be empty
	Cache     string // the directory that keeps the account and the certificates; it is made when it is needed
}

// ForDomains returns a configuration with certificates of the authority for the given domains. The authority checks the
// domains by handshakes at port 443 of each, or by requests at port 80, which the returned handler answers. It
// redirects all other requests as RedirectTo does. A certificate is obtained in the first handshake for its domain.
func (a Authority) ForDomains(port string, domains ...string) (*tls.Config, http.Handler, error) {
	if len(domains) == 0 {
		return nil, nil, errors.New("there is no domain to get a certificate for")
	}
	m := &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(a.Cache), HostPolicy: autocert.HostWhitelist(domains...),
		Email: a.Email,
	}
	if a.Directory != "" {
		m.Client = &acme.Client{DirectoryURL: a.Directory}
	}
	c := m.TLSConfig()
	c.MinVersion = tls.VersionTLS12
	return c, m.HTTPHandler(RedirectTo(port)), nil
}

// RedirectTo answers each request with a redirection to the same host and path by https, at a port; "" is the default
// port. Requests other than GET and HEAD keep their method.
func RedirectTo(port string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := url.URL{Host: r.Host}
		host := to.Hostname()
		switch {
		case port != "":
			host = net.JoinHostPort(host, port)
		case strings.Contains(host, ":"):
			host = "[" + host + "]" // an IPv6 address
		}
		http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
	})
}
