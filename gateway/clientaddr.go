package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddr is the address that a request comes from. The header X-Forwarded-For says so where a trusted proxy sent it: read
// from its end, the first address that is no trusted proxy's. All before that is what the client itself says, and not heeded.
// It is the zero Addr where the connection has none.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(addr, trusted); i-- {
		hop, ok := parseHop(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		addr = hop
	}
	return addr
}

// parseHop reads an address as proxies write it: alone or, as some do, with the port.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap(), true
	}
	both, err := netip.ParseAddrPort(s)
	return both.Addr().Unmap(), err == nil
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	for _, p := range trusted {
		if p.Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}
