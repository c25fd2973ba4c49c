package config

import (
	"net"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// TLS holds the settings tls of config/server.yaml. The server speaks plain HTTP unless it has a certificate or
// domains.
type TLS struct {
	Certificate, Key string // paths of PEM files, relative to the project
	Redirect         string // an address at which plain requests are redirected to https; "" for none
	ACME             ACME
}

// ACME holds the settings tls.acme of config/server.yaml: an authority that issues certificates.
type ACME struct {
	Domains   []string
	Email     string
	Directory string // the URL of the authority; "" is Let's Encrypt
}

// On reports whether the server speaks TLS.
func (t *TLS) On() bool { return t.Certificate != "" || len(t.ACME.Domains) > 0 }

// tlsFile is tls in config/server.yaml as written. Decoding it sets the settings that its pointers lead to.
type tlsFile struct {
	// PEM file with the certificate of the server and the intermediate ones, relative to the project. The server then
	// speaks TLS and HTTP/2, and no plain HTTP. It reads the file again when it changes: see [TLS](network.md#tls)
	// Default: none
	Certificate *string
	// PEM file with the private key of the certificate
	// Default: none
	Key *string
	// address, such as `0.0.0.0:80`, at which plain requests are redirected to https, at the port of `url` (443 if it
	// has none) of the same host
	// Default: none
	Redirect *string
	ACME     acmeFile `yaml:"acme"`
}

type acmeFile struct {
	// domains to get certificates for from an ACME authority, instead of files
	// Default: none
	Domains *wordList
	// where the authority sends warnings
	// Default: none
	Email *string
	// URL of the directory of the authority
	// Default: Let's Encrypt
	Directory *string
}

// tlsFileOf returns a tlsFile whose pointers lead to t.
func tlsFileOf(t *TLS) tlsFile {
	return tlsFile{
		Certificate: &t.Certificate, Key: &t.Key, Redirect: &t.Redirect,
		ACME: acmeFile{Domains: (*wordList)(&t.ACME.Domains), Email: &t.ACME.Email, Directory: &t.ACME.Directory},
	}
}

// check reports settings of TLS that do not fit together.
func (t *TLS) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	if (t.Certificate == "") != (t.Key == "") {
		problems.Add(n.At("tls"), "certificate and key belong together: name both files, or neither")
	}
	if t.Certificate != "" && len(t.ACME.Domains) > 0 {
		problems.Add(n.At("tls", "acme"), "certificates come from files or from acme, not from both")
	}
	for _, domain := range t.ACME.Domains {
		if !isDomain(domain) {
			problems.Add(n.At("tls", "acme", "domains"), "a domain is a name such as content.example.org, not %q",
				domain)
		}
	}
	if t.ACME.Directory != "" && !isHTTP(t.ACME.Directory) {
		problems.Add(n.At("tls", "acme", "directory"), "directory must be the URL of an ACME directory, not %q",
			t.ACME.Directory)
	}
	if len(t.ACME.Domains) == 0 && (t.ACME.Email != "" || t.ACME.Directory != "") {
		problems.Add(n.At("tls", "acme"), "acme needs domains: the names that the certificates are for")
	}
	if _, _, err := net.SplitHostPort(t.Redirect); t.Redirect != "" && err != nil {
		problems.Add(n.At("tls", "redirect"), "redirect must be an address with a port, such as 0.0.0.0:80, not %q",
			t.Redirect)
	}
	if t.Redirect != "" && !t.On() {
		problems.Add(n.At("tls", "redirect"), "redirect needs a certificate or acme: there is no https to redirect to")
	}
	return problems
}

// isDomain reports whether s is a domain name of two labels or more, without a wildcard.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	return len(s) <= 253 && len(labels) > 1 && !slices.ContainsFunc(labels, func(label string) bool {
		return label == "" || len(label) > 63 ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != ""
	})
}
