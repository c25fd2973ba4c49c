package credentials_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/credentials"
	"lectern/internal/servertest"
)

// An issuer is a certificate authority that an operator runs without Lectern. It signs certificates with any contents.
type issuer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// issuerOf returns the authority that Create has made in dir.
func issuerOf(t *testing.T, dir string) issuer {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	return issuer{pair.Leaf, pair.PrivateKey.(crypto.Signer)}
}

// newIssuer returns an authority that is valid for a time from now.
func newIssuer(t *testing.T, valid time.Duration) issuer {
	t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "given"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid), KeyUsage: x509.KeyUsageCertSign}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	self := issuer{template, key}
	self.certificate = self.sign(t, template, key.Public())
	return self
}

func (i issuer) sign(t *testing.T, template *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, public, i.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// nodeTemplate returns a certificate as nodes need it, for an hour.
func nodeTemplate(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// give writes a node's certificate and key to dir, the certificate followed by those of the issuers between.
func (i issuer) give(t *testing.T, dir string, template *x509.Certificate, between ...*x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "node.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	write(t, dir, "node.crt", inPEM(append([]*x509.Certificate{i.sign(t, template, key.Public())}, between...)...))
}

func inPEM(list ...*x509.Certificate) (text []byte) {
	for _, c := range list {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return text
}

func write(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGivenCertificates loads certificates that Create has not made.
func TestGivenCertificates(t *testing.T) {
	past := time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		name   string
		change func(*x509.Certificate)
		want   string // in the error
		warns  bool
	}{
		{"for an hour", func(*x509.Certificate) {}, "", true},
		{"for a year", func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(1, 0, 0) }, "", false},
		{"expired", func(c *x509.Certificate) { c.NotAfter = past }, "node.crt expired on " +
			past.UTC().Format(time.DateOnly) + "; renew it", false},
		{"not valid yet", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) },
			"look at the clock of this machine", false},
		{"for servers only", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] },
			"serverAuth and clientAuth", false},
		{"for clients only", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] },
			"serverAuth and clientAuth", false},
		{"of nobody", func(c *x509.Certificate) { c.Subject.CommonName = "" }, "names no node", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := created(t)
			template := nodeTemplate("given1")
			tt.change(template)
			issuerOf(t, dir).give(t, filepath.Join(dir, "node1"), template)
			var log bytes.Buffer
			c, err := credentials.Load(filepath.Join(dir, "node1"), slog.New(slog.NewTextHandler(&log, nil)))
			if warns := strings.Contains(log.String(), "expires soon"); warns != tt.warns {
				t.Errorf("the log is %q", &log)
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("the error is %v; want %q", err, tt.want)
				}
				return
			}
			if err != nil || c.Name() != "given1" || !c.Expires().Equal(template.NotAfter.Truncate(time.Second)) {
				t.Fatalf("%+v, %v", c, err)
			}
			if state, err1, err2 := shake(t, c.Client("127.0.0.1"),
				load(t, filepath.Join(dir, "node2")).Server()); credentials.PeerName(state) != "given1" {
				t.Errorf("node2 sees %q; %v; %v", credentials.PeerName(state), err1, err2)
			}
		})
	}
}

// TestExpiredAuthority has an authority that is valid no longer.
func TestExpiredAuthority(t *testing.T) {
	dir := created(t)
	expired := newIssuer(t, -time.Minute)
	expired.give(t, filepath.Join(dir, "node1"), nodeTemplate("node1"))
	write(t, dir, "node1/ca.crt", inPEM(expired.certificate))
	if _, err := credentials.Load(filepath.Join(dir, "node1"), quiet); err == nil ||
		!strings.Contains(err.Error(), "ca.crt expired on ") {
		t.Errorf("load: %v", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(expired.key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "ca.crt", inPEM(expired.certificate))
	write(t, dir, "ca.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if _, err := credentials.Create(dir, []credentials.Node{{"node3", []string{"127.0.0.1"}}}); err == nil ||
		!strings.Contains(err.Error(), "expired on ") {
		t.Errorf("create: %v", err)
	}
}

// TestExpiredPeer refuses a node whose certificate ends while it runs, at both ends of a connection.
func TestExpiredPeer(t *testing.T) {
	dir := created(t)
	node1, node2 := load(t, filepath.Join(dir, "node1")), load(t, filepath.Join(dir, "node2"))
	later := func() time.Time { return time.Now().AddDate(20, 0, 0) }
	server, client := node2.Server(), node1.Client("127.0.0.1")
	server.Time = later
	if _, _, err := shake(t, node1.Client("127.0.0.1"), server); err == nil ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("the server: %v", err)
	}
	client.Time = later
	if _, err, _ := shake(t, client, node2.Server()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the client: %v", err)
	}
}

// TestChangeOfAuthority moves nodes to another authority one by one: while they trust both, nodes of either can
// connect.
func TestChangeOfAuthority(t *testing.T) {
	dir := created(t)
	former := issuerOf(t, dir)
	next := newIssuer(t, time.Hour)
	between := newIssuer(t, time.Hour)
	between.certificate = next.sign(t, between.certificate, between.key.Public())
	for _, node := range []string{"node1", "node2"} {
		write(t, dir, node+"/ca.crt", inPEM(former.certificate, next.certificate))
	}
	between.give(t, filepath.Join(dir, "node2"), nodeTemplate("node2"), between.certificate)
	node1, node2 := load(t, filepath.Join(dir, "node1")), load(t, filepath.Join(dir, "node2"))
	if state, err1, err2 := shake(t, node1.Client("127.0.0.1"), node2.Server()); credentials.PeerName(
		state) != "node1" {
		t.Errorf("node1 to node2: %v", errors.Join(err1, err2))
	}
	if state, err1, err2 := shake(t, node2.Client("127.0.0.1"), node1.Server()); credentials.PeerName(
		state) != "node2" {
		t.Errorf("node2 to node1: %v", errors.Join(err1, err2))
	}
}

// TestRenewal replaces the certificate of a node that runs: later handshakes use the new one, at both ends.
func TestRenewal(t *testing.T) {
	dir := created(t)
	node1, node2 := load(t, filepath.Join(dir, "node1")), load(t, filepath.Join(dir, "node2"))
	issuerOf(t, dir).give(t, filepath.Join(dir, "node1"), nodeTemplate("renewed"))
	servertest.Until(t, "the new certificate is used", func() bool {
		atServer, err1, err2 := shake(t, node1.Client("127.0.0.1"), node2.Server())
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return credentials.PeerName(atServer) == "renewed"
	})
	if left := time.Until(node1.Expires()); left > time.Hour {
		t.Errorf("the new certificate, which is for an hour, ends in %v", left)
	}
	client := node2.Client("127.0.0.1")
	var seen string
	client.VerifyConnection = func(s tls.ConnectionState) error {
		seen = credentials.PeerName(s)
		return nil
	}
	if _, err1, err2 := shake(t, client, node1.Server()); err1 != nil || err2 != nil || seen != "renewed" {
		t.Errorf("the client sees %q; %v; %v", seen, err1, err2)
	}
}

// FuzzOpen opens what nobody has sealed, and seals it.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	if _, err := credentials.Create(dir, []credentials.Node{{"node1", []string{"127.0.0.1"}}}); err != nil {
		f.Fatal(err)
	}
	node := filepath.Join(dir, "node1")
	c, err := credentials.Load(node, quiet)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.Seal("a", []byte("text")))
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if plain, _, err := c.Open("b", b); !errors.Is(err, credentials.ErrSealed) || plain != nil {
			t.Errorf("opened %x: %x, %v", b, plain, err)
		}
		sealed := c.Seal("a", b)
		if plain, _, err := c.Open("a", sealed); err != nil || !bytes.Equal(plain, b) {
			t.Errorf("sealed %x and opened %x, %v", b, plain, err)
		}
	})
}

// FuzzLoad loads any bytes as the certificate authority and the cluster key of a node.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	if _, err := credentials.Create(dir, []credentials.Node{{"node1", []string{"127.0.0.1"}}}); err != nil {
		f.Fatal(err)
	}
	node := filepath.Join(dir, "node1")
	texts := map[string]string{}
	for name, text := range files(f, dir) {
		texts[filepath.Base(name)] = text
	}
	f.Add(texts["ca.crt"], texts["cluster.key"])
	f.Add(texts["ca.crt"]+texts["node.crt"], strings.ToUpper(texts["cluster.key"]))
	f.Add(texts["node.key"]+texts["ca.crt"], "00")
	f.Add("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "")
	f.Fuzz(func(t *testing.T, authority, key string) {
		write(t, node, "ca.crt", []byte(authority))
		write(t, node, "cluster.key", []byte(key))
		c, err := credentials.Load(node, quiet)
		if err != nil {
			return
		}
		if len(strings.TrimSpace(key)) != 64 || !strings.Contains(authority, "BEGIN CERTIFICATE") ||
			c.Name() != "node1" {
			t.Errorf("%q is loaded with the key %q for authority %q", c.Name(), key, authority)
		}
		if plain, _, err := c.Open("a", c.Seal("a", []byte(key))); err != nil || string(plain) != key {
			t.Errorf("opened %x, %v", plain, err)
		}
	})
}
