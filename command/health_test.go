package command_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/command"
)

// TestHealthBelievesTheAuthorityOfAFile asks a server whose certificate only a file vouches for.
func TestHealthBelievesTheAuthorityOfAFile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"state":"ready"}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	authority, empty := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "empty.pem")
	for file, text := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), empty: nil,
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   []string
		code   int
		prints string
	}{
		{[]string{"--url", server.URL, "--ca", authority}, 0, "ready"},
		{[]string{"--url", server.URL}, 1, "certificate"},
		{[]string{"--url", server.URL, "--ca", empty}, 1, "has no certificate in PEM"},
		{[]string{"--url", server.URL, "--ca", filepath.Join(dir, "none.pem")}, 1, "none.pem"},
		{[]string{"--ca", authority}, 2, "--ca is for --url"},
	} {
		var out bytes.Buffer
		code := command.Main(t.Context(), append([]string{"health"}, c.args...),
			command.Program{Stdout: &out, Stderr: &out})
		if code != c.code || !strings.Contains(out.String(), c.prints) {
			t.Errorf("%q: exit code %d, want %d\n%swant %s", c.args, code, c.code, out.String(), c.prints)
		}
	}
}
