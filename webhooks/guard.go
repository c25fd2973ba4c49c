package webhooks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// errPrivate means that a request was to go to an address that is not public.
var errPrivate = errors.New("the address is not public; name it under allowPrivate if requests may go there")

// notPublic are the ranges that net/netip does not tell by itself, but that lead to machines of one's own network, or to nowhere.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // behind the NAT of a provider; some clouds have their metadata there
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation, as are the next two
	netip.MustParsePrefix("198.51.100.0/24"), //
	netip.MustParsePrefix("203.0.113.0/24"),  //
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("64:ff9b::/96"),    // translated IPv4 addresses, as are the next three
	netip.MustParsePrefix("64:ff9b:1::/48"),  //
	netip.MustParsePrefix("2002::/16"),       //
	netip.MustParsePrefix("2001::/32"),       //
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// allowed reports whether a request may be sent to an address: a public one, or one that is within a prefix of private. The addresses of
// cloud metadata (169.254.169.254, fd00:ec2::254) are link-local and unique local ones, which are not public.
func allowed(a netip.Addr, private []netip.Prefix) bool {
	a = a.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(private, within) {
		return true
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, within)
}

// guard returns a function for net.Dialer.Control that refuses addresses that are not allowed. The dialer calls it for each address that it
// connects to, after names were resolved, so a name cannot lead elsewhere between the check and the connection.
func guard(private []netip.Prefix) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		a, err := netip.ParseAddr(host)
		if err != nil {
			return err
		}
		if !allowed(a, private) {
			return fmt.Errorf("%s: %w", a, errPrivate)
		}
		return nil
	}
}
