package admission

import (
	"context"
	"net/netip"
)

// A Client is whom requests come from, as far as an address tells: an IPv4 address, or the /64 network of an IPv6 address, whose
// owner has all addresses of it. The zero Client is nobody that can be told from others, such as the server itself.
type Client struct{ network netip.Prefix }

// ClientAt returns the client with an address. That of an address that could not be read is the zero Client.
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

// String is the client's network as logs name it.
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

// WithClient returns a context of work that is done for a client.
func WithClient(ctx context.Context, c Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf is the client that work is done for: the zero Client where nothing says so.
func ClientOf(ctx context.Context) Client {
	c, _ := ctx.Value(clientKey{}).(Client)
	return c
}
