// Magazine is a server with extensions: a route, policies, middleware, hooks around writes, and GraphQL fields beside
// those generated from content-types/. It has the same command line as lectern itself.
package main

import (
	"context"
	"os"

	"lectern/command"
	"lectern/gateway"
)

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{Name: "magazine", Extend: extend}))
}

// extend registers everything that this program adds.
func extend(x *gateway.Extensions) error {
	x.Policy("is-owner", isOwner)
	x.Policy("at-most", atMost)
	x.Middleware("cache-for", cacheFor)
	addRoutes(x)
	addArchive(x)
	addHooks(x)
	addGraphQL(x)
	addEditing(x)
	return nil
}
