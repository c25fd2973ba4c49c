package admission

import (
	"context"
	"net/netip"
)

// A Client identifies the sender of requests by network: an IPv4 address, or the /64 network of an IPv6 address, since
// one owner commonly has all addresses of a /64. The zero Client stands for unknown senders and for the server itself.
type Client struct{ network netip.Prefix }

// ClientAt returns the client with an address, or the zero Client when the address is not valid.
func ClientAt(addr netip.Addr) Client {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	network, err := addr.Prefix(bits)
	if err != nil {
		return Client{}
	}
	return Client{network}
}

// String returns the client's network as logs show it.
func (c Client) String() string {
	switch {
	case !c.network.IsValid():
		return "unknown"
	case c.network.Addr().Is4():
		return c.network.Addr().String()
	}
	return c.network.String()
}

type clientKey struct{}

// WithClient returns a context for work on behalf of a client.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the client that a context of WithClient names, or the zero Client.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
