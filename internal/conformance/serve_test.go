package conformance

import (
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// serve serves a project on an empty store until the test ends. x may be nil.
func serve(t testing.TB, dir string, x *gateway.Extensions) *Target {
	t.Helper()
	r := servertest.Serve(t, dir, x)
	return &Target{Base: r.Base, Tokens: r.Tokens}
}
