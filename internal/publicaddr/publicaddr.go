// Package publicaddr tells addresses of the public internet from those of one's own machine and network, in every form
// in which IPv6 writes an IPv4 address. A program that connects to addresses which somebody else chooses asks it in
// net.Dialer.Control, after names were resolved.
package publicaddr

import (
	"net/netip"
	"slices"
)

// notPublic are the ranges that net/netip does not tell by itself, but that lead to machines of one's own network, or
// to nowhere.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // behind the NAT of a provider; some clouds have their metadata there
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation, as are the next two
	netip.MustParsePrefix("198.51.100.0/24"), //
	netip.MustParsePrefix("203.0.113.0/24"),  //
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("::/96"),           // IPv4-compatible addresses, which nothing public has
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated addresses (SIIT), which stay within a network
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 of one's own network
	netip.MustParsePrefix("2002::/16"),       // 6to4, which is not in use any more
	netip.MustParsePrefix("2001::/32"),       // Teredo, which is not in use any more
	netip.MustParsePrefix("2001:db8::/32"),   // documentation, as is the next one
	netip.MustParsePrefix("3fff::/20"),       //
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// nat64 has, in its last four bytes, the IPv4 addresses that a network with IPv6 alone reaches through NAT64.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Unwrap returns the IPv4 address that a connection to a really leads to, if a is an IPv6 address that stands for one,
// and else a. The result has no zone.
func Unwrap(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// Is reports whether an address is one of the public internet. The addresses of cloud metadata (169.254.169.254,
// fd00:ec2::254) are link-local and unique local ones, which are not.
func Is(a netip.Addr) bool {
	a = Unwrap(a)
	return a.IsGlobalUnicast() && !a.IsPrivate() &&
		!slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}
