package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
)

// TestSlowMessagesHoldNoMemory sends the heads of messages of MCP on as many connections as would use up limits.memory
// if each held the memory of its answer, and expects another message to be answered.
func TestSlowMessagesHoldNoMemory(t *testing.T) {
	a := serve(t, map[string]string{
		"config/server.yaml":  "limits: {memory: 32mb}\n",
		"config/plugins.yaml": peopleFiles["config/plugins.yaml"] + "mcp: {enabled: true}\n",
	})
	for range 8 {
		c, err := net.Dial("tcp", strings.TrimPrefix(a.Base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		fmt.Fprint(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
		line, err := bufio.NewReader(c).ReadString('\n') // when it has come, the server waits for the body
		if err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatalf("a slow client is answered %q, %v", line, err)
		}
	}
	a.want(200, "POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Content-Type",
		"application/json", "Accept", "application/json, text/event-stream")
}

// TestToolsOfReplicaReadTheirWrites calls tools of MCP at a replica that forwards writes: what one of them writes at
// the origin, the next one reads at the replica.
func TestToolsOfReplicaReadTheirWrites(t *testing.T) {
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/plugins.yaml", "mcp: {enabled: true}\n")
	e.serve(nil)
	between := newWaypoint(t, e.base)
	dir := t.TempDir()
	settings := filepath.Join(dir, "config", "server.yaml")
	e.must(os.MkdirAll(filepath.Dir(settings), 0o700))
	e.must(os.WriteFile(settings,
		[]byte("replica: {url: "+between.URL+", token: '${KEY_OF_ORIGIN}', writes: forward}\n"), 0o600))
	t.Setenv("KEY_OF_ORIGIN", e.key)
	r := serveReplica(t, dir, gateway.Options{})

	call := func(tool, arguments string) string {
		t.Helper()
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` +
			arguments + `}}`
		answer, text := r.writing("POST", "/mcp", e.key, "application/json", []byte(message), "Accept",
			"application/json, text/event-stream")
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Lectern-Forwarded") != "" ||
			strings.Contains(text, `"isError":true`) {
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
