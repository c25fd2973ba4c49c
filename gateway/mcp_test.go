package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestToolsOfReplica calls tools of MCP at a replica that forwards writes: what one of them writes at the origin, the next one reads at the replica.
func TestToolsOfReplica(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/plugins.yaml", "mcp: {enabled: true}\n")
	e.serve(nil)
	between := newWaypoint(t, e.base)
	dir := t.TempDir()
	settings := filepath.Join(dir, "config", "server.yaml")
	e.must(os.MkdirAll(filepath.Dir(settings), 0o700))
	e.must(os.WriteFile(settings, []byte("replica: {url: "+between.URL+", token: '${KEY_OF_ORIGIN}', writes: forward}\n"), 0o600))
	t.Setenv("KEY_OF_ORIGIN", e.key)
	r := serveReplica(t, dir, gateway.Options{})

	call := func(tool, arguments string) string {
		t.Helper()
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		answer, text := r.writing("POST", "/mcp", e.key, "application/json", []byte(message), "Accept", "application/json, text/event-stream")
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Lectern-Forwarded") != "" || strings.Contains(text, `"isError":true`) {
			t.Fatalf("%s %s: %d %s", tool, arguments, answer.StatusCode, text)
		}
		return strings.ReplaceAll(text, `\"`, `"`)
	}
	made := call("create", `{"type":"notes","data":{"title":"by a tool","rank":7}}`)
	id := regexp.MustCompile(`"documentId":"([a-z0-9]+)"`).FindStringSubmatch(made)[1]
	if text := call("read", `{"type":"notes","documentId":"`+id+`"}`); !strings.Contains(text, `"by a tool"`) {
		t.Error(text)
	}
	call("delete", `{"type":"notes","documentId":"`+id+`"}`)
	if text := call("find", `{"type":"notes"}`); !strings.Contains(text, `"data":[]`) {
		t.Error(text)
	}
	_, text := r.writing("POST", "/mcp", "", "application/json",
		[]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create","arguments":{"type":"notes","data":{"title":"no"}}}}`), "Accept", "application/json, text/event-stream")
	if !strings.Contains(text, "ForbiddenError") || !strings.Contains(text, `"isError":true`) {
		t.Error(text)
	}
}
