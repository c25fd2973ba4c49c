package webhooks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"lectern/internal/publicaddr"
)

// errPrivate means that a request was to go to an address that is not public.
var errPrivate = errors.New("the address is not public; name it under allowPrivate if requests may go there")

// allowed reports whether a request may be sent to an address: a public one, or one that is within a prefix of private.
func allowed(a netip.Addr, private []netip.Prefix) bool {
	a = a.WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(a) || p.Contains(publicaddr.Unwrap(a)) }
	return slices.ContainsFunc(private, within) || publicaddr.Is(a)
}

// guard returns a function for net.Dialer.Control that refuses addresses that are not allowed. The dialer calls it for
// each address that it connects to, after names were resolved, so a name cannot lead elsewhere between the check and
// the connection.
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
