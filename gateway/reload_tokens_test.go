package gateway

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lectern/auth"
)

// TestTokensOutliveFailures takes a token out of permissions.yaml together with a change that cannot be served: at a
// start, and in a project that is served. The former file comes back, so that the token must still be there.
func TestTokensOutliveFailures(t *testing.T) {
	failing := &Extensions{routes: []Route{{Method: "GET", Path: "no slash"}}}
	for name, fail := range map[string]func(*node) error{
		"start": func(n *node) error {
			n.must(n.project.Close())
			var err error
			n.project, err = Open(n.project.role.Files(), n.project.options)
			n.must(err)
			project := n.project
			n.Cleanup(func() { n.must(project.Close()) })
			project.generation.Load().extensions = failing
			return n.project.Run(context.Background())
		},
		"reload": func(n *node) error {
			return n.project.replace(
				n.Context(), replacement{store: n.project.role.Redefine, load: func() (*Definition, error) {
					d, err := n.project.load()
					if err == nil {
						d.extensions = failing
					}
					return d, err
				}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := projectOfNotes(t)
			permissions := filepath.Join(dir, "config", "permissions.yaml")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(permissions, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Dir(permissions), 0o700); err != nil {
				t.Fatal(err)
			}
			write("tokens: [{name: clerk, type: read-only}]\n")
			n := openNode(t, dir, Options{Addr: "127.0.0.1:0"})
			_, _, err := n.project.CreateToken(t.Context(), auth.Declaration{Name: "clerk"})
			n.must(err)
			write("tokens: []\n")
			if err := fail(n); err == nil || !strings.Contains(err.Error(), "no slash") {
				t.Fatalf("served: %v", err)
			}
			tokens, err := n.project.Tokens(t.Context())
			n.must(err)
			if !slices.ContainsFunc(tokens, func(tok auth.Token) bool { return tok.Name == "clerk" }) {
				t.Error("the token is revoked")
			}
		})
	}
}
