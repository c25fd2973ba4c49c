package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"lectern/internal/yamlfile"
)

// A ClusterNode is a node of a cluster, as settings and the command line name it: NAME@HOST:PORT.
type ClusterNode struct {
	Name    string // lower-case letters, digits and hyphens
	Address string // HOST:PORT, at which the other nodes reach it
}

var (
	nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)
	number   = regexp.MustCompile(`(^|\.)[0-9]+$`) // at the end of what looks like an IP address
)

// ParseClusterNode parses NAME@HOST:PORT.
func ParseClusterNode(s string) (ClusterNode, error) {
	name, address, ok := strings.Cut(s, "@")
	if !ok {
		return ClusterNode{}, fmt.Errorf("%q is not NAME@HOST:PORT, such as node1@10.0.0.1:7331", s)
	}
	if !nodeName.MatchString(name) {
		return ClusterNode{},
			fmt.Errorf("%q cannot be the name of a node: it has lower-case letters, digits and hyphens, such as node1",
				name)
	}
	address, err := ParseClusterAddress(address)
	return ClusterNode{name, address}, err
}

// ParseClusterAddress parses HOST:PORT, at which other nodes reach a node, and returns it in one spelling.
func ParseClusterAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT, such as 10.0.0.1:7331 or [fd00::1]:7331", s)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("%q in %q is no port; a port is a number from 1 to 65535", port, s)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsUnspecified() || ip.Zone() != "" || ip.IsMulticast() {
			return "", fmt.Errorf("other nodes cannot reach a node at %s; name the address that they connect to", host)
		}
		host = ip.Unmap().String()
	} else if host = strings.ToLower(host); len(host) > 253 || !hostName.MatchString(host) || number.MatchString(host) {
		return "", fmt.Errorf("%q in %q is neither an IP address nor the name of a host", host, s)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// Host returns the host of the node's address.
func (n ClusterNode) Host() string {
	host, _, err := net.SplitHostPort(n.Address)
	if err != nil {
		return n.Address // it was not parsed
	}
	return host
}

// check brings the addresses into one spelling, sets NoVote, and reports settings of a node that are incomplete.
func (c *Cluster) check(n *yamlfile.Node, vote bool) (problems yamlfile.Problems) {
	c.NoVote = !vote
	if c.Name == "" {
		if c.Address != "" || len(c.Join) > 0 || c.Expect != 0 || c.NoVote || c.Certificates != "" {
			problems.Add(n.At("cluster"), "cluster needs name, the name of this node, such as node1")
		}
		return problems
	}
	if !nodeName.MatchString(c.Name) {
		problems.Add(n.At("cluster", "name"),
			"%q cannot be the name of a node: it has lower-case letters, digits and hyphens, such as node1", c.Name)
	}
	if c.Address == "" {
		problems.Add(n.At("cluster"),
			"cluster needs address, the HOST:PORT at which the other nodes reach this one, such as 10.0.0.1:7331")
	} else if address, err := ParseClusterAddress(c.Address); err != nil {
		problems.Add(n.At("cluster", "address"), "%v", err)
	} else {
		c.Address = address
	}
	for i, text := range c.Join {
		address, err := ParseClusterAddress(text)
		if err != nil {
			problems.Add(n.At("cluster", "join"), "%v", err)
		}
		c.Join[i] = address
	}
	if c.Expect < 0 || c.Expect > 0 && len(c.Join) == 0 {
		problems.Add(n.At("cluster", "expect"),
			"expect is how many nodes find each other by join: it needs join, and is not negative")
	}
	return problems
}
