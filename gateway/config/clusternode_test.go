package config_test

import (
	"crypto/x509"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway/config"
)

func TestParseClusterNode(t *testing.T) {
	for _, tt := range []struct {
		text, want,
		host string
	}{ // want is the node in one spelling, or a part of the error after "! "
		{"node1@10.0.0.1:7331", "node1@10.0.0.1:7331", "10.0.0.1"},
		{"a@[FD00:0::1]:07331", "a@[fd00::1]:7331", "fd00::1"},
		{"node-2@[::ffff:10.0.0.1]:1", "node-2@10.0.0.1:1", "10.0.0.1"},
		{"3@Node3.Example.COM:65535", "3@node3.example.com:65535", "node3.example.com"},
		{"node1@node_1:7331", "node1@node_1:7331", "node_1"},
		{"node1@3f:7331", "node1@3f:7331", "3f"},
		{"node1@", "! is not HOST:PORT", ""},
		{"node1", "! is not NAME@HOST:PORT", ""},
		{"10.0.0.1:7331", "! is not NAME@HOST:PORT", ""},
		{"@10.0.0.1:7331", "! cannot be the name of a node", ""},
		{"Node1@10.0.0.1:7331", "! cannot be the name of a node", ""},
		{"../a@10.0.0.1:7331", "! cannot be the name of a node", ""},
		{"a-@10.0.0.1:7331", "! cannot be the name of a node", ""},
		{strings.Repeat("a", 64) + "@10.0.0.1:7331", "! cannot be the name of a node", ""},
		{"node1@10.0.0.1", "! is not HOST:PORT", ""},
		{"node1@fd00::1:7331", "! is not HOST:PORT", ""},
		{"node1@10.0.0.1:0", "! is no port", ""},
		{"node1@10.0.0.1:65536", "! is no port", ""},
		{"node1@10.0.0.1:http", "! is no port", ""},
		{"node1@0.0.0.0:7331", "! other nodes cannot reach", ""},
		{"node1@[::]:7331", "! other nodes cannot reach", ""},
		{"node1@[fe80::1%eth0]:7331", "! other nodes cannot reach", ""},
		{"node1@224.0.0.1:7331", "! other nodes cannot reach", ""},
		{"node1@:7331", "! is neither an IP address nor the name of a host", ""},
		{"node1@10.0.1:7331", "! is neither an IP address nor the name of a host", ""},
		{"node1@a..b:7331", "! is neither an IP address nor the name of a host", ""},
		{"node1@a b:7331", "! is neither an IP address nor the name of a host", ""},
		{"node1@b@c:7331", "! is neither an IP address nor the name of a host", ""},
		{"node1@" + strings.Repeat("a.", 127) + "a:7331", "! is neither an IP address nor the name of a host", ""},
	} {
		n, err := config.ParseClusterNode(tt.text)
		if part, fails := strings.CutPrefix(tt.want, "! "); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %+v, %v; want the error %q", tt.text, n, err, part)
			}
		} else if err != nil || n.Name+"@"+n.Address != tt.want || n.Host() != tt.host {
			t.Errorf("%s: %+v with the host %s, %v; want %s", tt.text, n, n.Host(), err, tt.want)
		}
	}
}

func FuzzParseClusterNode(f *testing.F) {
	for _, text := range []string{"node1@10.0.0.1:7331", "a@[fd00::1]:07331", "n@node_1.lan:1", "@:", "a@[fe80::1%a]:1",
		"node1@1.2.3:4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := config.ParseClusterNode(text)
		if err != nil {
			return
		}
		if again, err := config.ParseClusterNode(n.Name + "@" + n.Address); err != nil || again != n {
			t.Errorf("%q is %+v, and that is %+v, %v", text, n, again, err)
		}
		if !filepath.IsLocal(n.Name) || filepath.Base(n.Name) != n.Name {
			t.Errorf("%q has the name %q, which is no name of a directory", text, n.Name)
		}
		certificate := x509.Certificate{DNSNames: []string{n.Name, n.Host()}}
		if ip := net.ParseIP(n.Host()); ip != nil {
			certificate.IPAddresses = []net.IP{ip}
		}
		for _, host := range []string{n.Name, n.Host()} {
			if err := certificate.VerifyHostname(host); err != nil {
				t.Errorf("%q: a certificate cannot be for %q: %v", text, host, err)
			}
		}
	})
}
