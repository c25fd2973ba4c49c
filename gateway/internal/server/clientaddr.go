package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddr returns the address of the client that sent a request. If a trusted proxy forwarded the request, that is
// the last address in the header X-Forwarded-For that is not one of a trusted proxy; the addresses before it could be
// forged by the client. The result is the zero Addr if the connection has no address.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap()
	if !isTrusted(addr, trusted) {
		return addr
	}
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

// parseHop reads an address of X-Forwarded-For, with or without a port.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap(), true
	}
	both, err := netip.ParseAddrPort(s)
	return both.Addr().Unmap(), err == nil
}

// isTrusted reports whether an address is one of a trusted proxy.
func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	for _, p := range trusted {
		if p.Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}
