// Hello is the smallest program that extends a server: it adds one route.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/gorilla/mux"

	"lectern/command"
	"lectern/documents/permission"
	"lectern/gateway"
)

func main() {
	os.Exit(command.Main(context.Background(), os.Args[1:], command.Program{Name: "hello", Extend: func(x *gateway.Extensions) error {
		x.Handle(gateway.Route{Method: "GET", Path: "/api/hello/{name}", Handle: hello})
		return nil
	}}))
}

func hello(w http.ResponseWriter, r *http.Request, access *permission.Access) error {
	_, err := fmt.Fprintf(w, "Hello, %s!\n", mux.Vars(r)["name"])
	return err
}
