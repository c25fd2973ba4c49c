package port

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"
)

// DialRaft connects to the port of another node for Raft.
func (p *Port) DialRaft(address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	return p.dial(ctx, address, raftProtocol)
}

// DialHTTP connects to the port of another node for HTTP requests. It is meant for DialTLSContext of an http.Transport,
// with https URLs.
func (p *Port) DialHTTP(ctx context.Context, _, address string) (net.Conn, error) {
	return p.dial(ctx, address, httpProtocol)
}

// dial connects to a node and completes the handshake. If that node refuses our certificate, the first read returns its
// error, because TLS 1.3 has no earlier word of it.
func (p *Port) dial(ctx context.Context, address, protocol string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to the node at %q: %w", address, err)
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: p.config.HandshakeTimeout},
		Config: p.config.Credentials.Client(host, protocol)}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to the node at %s: %w", address, explain(err))
	}
	if c.(*tls.Conn).ConnectionState().NegotiatedProtocol != protocol {
		_ = c.Close() // nothing has been sent on it
		return nil, fmt.Errorf("connect to the node at %s: it does not speak %s; is that the port of its cluster?",
			address, protocol)
	}
	return c, nil
}

// explain adds to the error of a handshake what an operator can do about it.
func explain(err error) error {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w; the two nodes need certificates of one authority: compare their ca.crt", err)
	case errors.As(err, &host):
		return fmt.Errorf("%w; make a certificate of that node for this host with `lectern cluster init`, or name another host of it", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("%w; renew the certificate of the other node, and look at the clocks of both", err)
	}
	return err
}
