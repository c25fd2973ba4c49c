// Lectern is a headless content API server: it reads content-types from YAML files, keeps content in one file, and serves it
// over the REST API of Strapi 5.
package main

import (
	"context"
	"os"

	"lectern/command"
)

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{}))
}
