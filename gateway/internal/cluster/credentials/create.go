package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lectern/internal/durable"
)

// lifetimeYears is how long the certificates of Create are valid: those of nodes end with that of their authority at
// the latest.
const lifetimeYears = 10

// backdated is how long before its creation a certificate becomes valid, for nodes whose clocks are behind.
const backdated = 24 * time.Hour

// A Node is a node that Create makes credentials for.
type Node struct {
	Name  string   // also the name of its directory
	Hosts []string // names and IP addresses at which other nodes reach it
}

// Created says what Create has done.
type Created struct {
	Authority  bool     // whether it made a certificate authority and a cluster key
	Made, Kept []string // names of the nodes whose credentials it made, and of those that had them already
	Expires    time.Time
}

// Create makes the credentials of nodes: a directory dir/NAME for each, which Load reads on that node. If dir has no
// certificate authority and cluster key yet, Create makes them, too. It overwrites nothing: a node that has credentials
// for its hosts keeps them, and it is an error if it has credentials for other hosts.
func Create(dir string, nodes []Node) (Created, error) {
	var made Created
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return made, err
	}
	a, err := openAuthority(dir)
	if errors.Is(err, fs.ErrNotExist) {
		made.Authority = true
		a, err = makeAuthority(dir)
	}
	if err != nil {
		return made, err
	}
	made.Expires = a.certificate.NotAfter
	var missing []Node
	for _, n := range nodes {
		switch has, err := a.hasSigned(dir, n); {
		case err != nil:
			return made, err
		case has:
			made.Kept = append(made.Kept, n.Name)
		default:
			missing = append(missing, n)
		}
	}
	for _, n := range missing {
		if err := a.makeNode(dir, n); err != nil {
			return made, fmt.Errorf("make the credentials of %s: %w", n.Name, err)
		}
		made.Made = append(made.Made, n.Name)
	}
	return made, nil
}

// An authority signs the certificates of a cluster's nodes.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte // the certificate
	clusterKey  []byte // the text of the file
}

// openAuthority reads the authority in dir. The error is fs.ErrNotExist if dir has none of its files.
func openAuthority(dir string) (*authority, error) {
	a := &authority{}
	var keyPEM []byte
	var missing []string
	for name, text := range map[string]*[]byte{authorityFile: &a.pem, authorityKeyFile: &keyPEM,
		clusterKeyFile: &a.clusterKey} {
		var err error
		if *text, err = os.ReadFile(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		} else if err != nil {
			return nil, err
		}
	}
	switch len(missing) {
	case 0:
	case 3:
		return nil, fs.ErrNotExist
	default:
		slices.Sort(missing)
		return nil, fmt.Errorf(
			"%s lacks %s, which belong to the other files of its certificate authority; put them back, or name another directory",
			dir, strings.Join(missing, " and "))
	}
	pair, err := tls.X509KeyPair(a.pem, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("the certificate authority in %s: %w", dir, err)
	}
	a.certificate, a.key = pair.Leaf, pair.PrivateKey.(crypto.Signer)
	if time.Now().After(a.certificate.NotAfter) {
		return nil, fmt.Errorf("the certificate authority in %s expired on %s; make another in another directory", dir,
			day(a.certificate.NotAfter))
	}
	return a, nil
}

// makeAuthority makes an authority and a cluster key, and writes them to dir.
func makeAuthority(dir string) (*authority, error) {
	now := time.Now()
	var id [4]byte // tells authorities apart, for people and in errors
	rand.Read(id[:])
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: fmt.Sprintf("Lectern cluster %x", id)}, NotBefore: now.Add(-backdated),
		NotAfter: now.AddDate(lifetimeYears, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, keyPEM, err := makeKey()
	if err != nil {
		return nil, err
	}
	a := &authority{certificate: template, key: key, clusterKey: makeClusterKey()}
	if a.pem, err = a.sign(template, key.Public()); err != nil {
		return nil, err
	}
	signed, err := parseCertificates(a.pem)
	if err != nil {
		return nil, err
	}
	a.certificate = signed[0]
	return a, errors.Join(
		writeNew(filepath.Join(dir, authorityKeyFile), keyPEM),
		writeNew(filepath.Join(dir, authorityFile), a.pem),
		writeNew(filepath.Join(dir, clusterKeyFile), a.clusterKey))
}

// hasSigned reports whether a node has a valid certificate of the authority for all its hosts. It returns an error if
// it has another one.
func (a *authority) hasSigned(dir string, n Node) (bool, error) {
	file := filepath.Join(dir, n.Name, certificateFile)
	if _, err := os.Lstat(filepath.Dir(file)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	chain, err := readCertificates(file)
	if err != nil {
		return false, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	if err := check(chain, roots, file, filepath.Join(dir, authorityFile)); err != nil {
		return false, err
	}
	for _, host := range n.Hosts {
		if err := chain[0].VerifyHostname(host); err != nil {
			return false, fmt.Errorf(
				"%s is there already and not for the host %s; move the directory away to have another made", file, host)
		}
	}
	return true, nil
}

// makeNode makes the credentials of a node and writes them to dir, all of them or none.
func (a *authority) makeNode(dir string, n Node) error {
	key, keyPEM, err := makeKey()
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: n.Name}, NotBefore: time.Now().Add(-backdated),
		NotAfter: earlier(time.Now().AddDate(lifetimeYears, 0, 0), a.certificate.NotAfter), BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{n.Name},
	}
	for _, host := range n.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if host != n.Name {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	certificate, err := a.sign(template, key.Public())
	if err != nil {
		return err
	}
	unfinished := filepath.Join(dir, "."+n.Name+durable.Suffix)
	if err := os.RemoveAll(unfinished); err != nil { // of a process that was killed
		return err
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return err
	}
	err = errors.Join(
		writeNew(filepath.Join(unfinished, authorityFile), a.pem),
		writeNew(filepath.Join(unfinished, certificateFile), certificate),
		writeNew(filepath.Join(unfinished, keyFile), keyPEM),
		writeNew(filepath.Join(unfinished, clusterKeyFile), a.clusterKey))
	if err == nil {
		err = os.Rename(unfinished, filepath.Join(dir, n.Name))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	return durable.SyncDir(dir)
}

// sign returns a certificate of the authority in PEM.
func (a *authority) sign(template *x509.Certificate, public crypto.PublicKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// makeKey makes a private key, and returns it in PEM as well.
func makeKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// writeNew writes a file that only its owner can read, and does not replace one.
func writeNew(path string, text []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
