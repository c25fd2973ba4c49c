// Package credentials has what the nodes of a cluster prove themselves by: certificates of an authority that the
// cluster has to itself, and a key that all nodes share, with which secrets in the replicated log are sealed.
//
// Create makes the credentials of all nodes on one machine. Each node is given a directory of its own, which it reads
// with Load.
package credentials

import (
	"crypto/cipher"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"lectern/gateway/internal/certificates"
)

// The files of a node's credentials. The authority's directory has authorityKeyFile as well.
const (
	authorityFile    = "ca.crt"
	authorityKeyFile = "ca.key"
	certificateFile  = "node.crt"
	keyFile          = "node.key"
	clusterKeyFile   = "cluster.key"
)

// warnBefore is how long before a certificate expires Load warns about it.
const warnBefore = 30 * 24 * time.Hour

// Credentials are what one node has. Any number of goroutines may use them.
type Credentials struct {
	name    string
	roots   *x509.CertPool
	get     func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	sealing []cipher.AEAD // of the cluster keys, of which the first encrypts
}

// Name returns the name of the node, which is that in its certificate.
func (c *Credentials) Name() string { return c.name }

// Expires returns when the node's present certificate ends.
func (c *Credentials) Expires() time.Time {
	present, err := c.get(nil)
	if err != nil {
		return time.Time{}
	}
	return present.Leaf.NotAfter
}

// Load reads the credentials of a node from dir: ca.crt, node.crt, node.key and cluster.key. It refuses credentials
// that other nodes would refuse, and keys that other users of the machine can read. When node.crt and node.key change,
// later handshakes use the new ones.
func Load(dir string, log *slog.Logger) (*Credentials, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{keyFile, clusterKeyFile} {
		if err := checkPrivate(path(name)); err != nil {
			return nil, explainMissing(dir, err)
		}
	}
	authorities, err := readCertificates(path(authorityFile))
	if err != nil {
		return nil, explainMissing(dir, err)
	}
	sealing, err := readClusterKeys(path(clusterKeyFile))
	if err != nil {
		return nil, err
	}
	c := &Credentials{roots: x509.NewCertPool(), sealing: sealing}
	for _, a := range authorities {
		c.roots.AddCert(a)
	}
	files, err := certificates.FromFiles(path(certificateFile), path(keyFile), func(err error) {
		log.Error("the certificate that this node has is still used", "error", err)
	})
	if err != nil {
		return nil, explainMissing(dir, err)
	}
	c.get = files.GetCertificate
	chain, err := readCertificates(path(certificateFile))
	if err != nil {
		return nil, err
	}
	if err := check(chain, c.roots, path(certificateFile), path(authorityFile)); err != nil {
		return nil, err
	}
	c.name = chain[0].Subject.CommonName
	if expires := chain[0].NotAfter; time.Until(expires) < warnBefore {
		log.Warn("the certificate of this node expires soon; renew it", "certificate", path(certificateFile), "expires",
			expires)
	}
	return c, nil
}

// check returns an error if other nodes would refuse a certificate, which is first in a chain with those that lead to
// an authority.
func check(chain []*x509.Certificate, roots *x509.CertPool, path, authorityPath string) error {
	now, leaf, between := time.Now(), chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{usage}})
		var unknown x509.UnknownAuthorityError
		var invalid x509.CertificateInvalidError
		switch {
		case err == nil:
		case errors.As(err, &unknown):
			return fmt.Errorf("%s is not signed by %s; copy all files of the node from one directory that `lectern cluster init` made", path, authorityPath)
		case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.After(invalid.Cert.NotAfter) &&
			invalid.Cert.Equal(leaf):
			return fmt.Errorf("%s expired on %s; renew it: move the node's directory away where `lectern cluster init` made it, run that "+
				"again, and copy the new files", path, day(leaf.NotAfter))
		case errors.As(err, &invalid) && invalid.Reason == x509.Expired && now.After(invalid.Cert.NotAfter):
			return fmt.Errorf("%s expired on %s; make new credentials of all nodes with `lectern cluster init`",
				authorityPath, day(invalid.Cert.NotAfter))
		case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
			return fmt.Errorf("%s is not for both ends of a connection; it needs the extended key usages serverAuth and clientAuth", path)
		default:
			return fmt.Errorf("%s cannot be used: %w; look at the clock of this machine, too", path, err)
		}
	}
	if leaf.Subject.CommonName == "" {
		return fmt.Errorf("%s names no node; its common name must be the name of the node", path)
	}
	return nil
}

// explainMissing adds to the error for a missing file where it comes from.
func explainMissing(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the credentials of this node: %w; make them with `lectern cluster init`, and copy the node's directory to %s", err, dir)
	}
	return err
}

// checkPrivate returns an error if users of the machine other than the owner and its group can read or write a file.
func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("every user of this machine can read or write the key %s; run: chmod 600 %[1]s", path)
	}
	return nil
}

// readCertificates reads the certificates in a PEM file, at least one.
func readCertificates(path string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list, err := parseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// parseCertificates returns the certificates in PEM, at least one. It passes over blocks of other kinds.
func parseCertificates(text []byte) (list []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("it has no certificate in PEM")
	}
	return list, nil
}
