// Lectern is a headless content API server. It reads content-types from YAML files, stores content in one file, and
// serves it over the REST and GraphQL APIs of Strapi 5.
package main

import (
	"context"
	"os"

	"lectern/command"
)

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{}))
}
