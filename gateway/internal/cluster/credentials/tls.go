package credentials

import (
	"crypto/tls"
	"slices"
)

// Server returns how a node speaks TLS to nodes that connect to it with one of the given protocols (ALPN). It lets in
// only nodes whose certificate is of the cluster's authority.
func (c *Credentials) Server(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: slices.Clone(protocols), GetCertificate: c.get,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.roots,
		SessionTicketsDisabled:      true, // each connection proves itself anew
		DynamicRecordSizingDisabled: true, // nodes send entries and copies, in fewer system calls
	}
}

// Client returns how a node connects to a node at a host, for one of the given protocols (ALPN). The other node's
// certificate must be of the cluster's authority and for that host.
func (c *Credentials) Client(host string, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: slices.Clone(protocols), ServerName: host, RootCAs: c.roots,
		// The certificate is sent even if the other node does not trust its authority: that node then logs why it
		// refuses.
		GetClientCertificate:        func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.get(nil) },
		DynamicRecordSizingDisabled: true,
	}
}

// PeerName returns the name of the node at the other end of a connection; "" if the handshake is not complete.
func PeerName(s tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	return s.PeerCertificates[0].Subject.CommonName
}
