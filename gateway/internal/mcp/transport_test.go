package mcp_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/gateway"
)

// testTransport sends messages with the headers of the transport right and wrong.
func testTransport(t *testing.T, server gateway.Ready) {
	const unknownTool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aggregate"}}`
	for _, c := range []struct {
		body    string
		headers []string
		status  int
		text    string
	}{
		{ping, []string{"Mcp-Protocol-Version", "2025-06-18"}, 200, `"result"`},
		{ping, []string{"Mcp-Protocol-Version", "1999-01-01"}, 400, "Unsupported protocol version"},
		{ping, []string{"Mcp-Session-Id", "of-a-server-before-this-one"}, 200, `"result"`}, // there are no sessions that could be lost
		{ping, []string{"Accept", "application/json"}, 400, "text/event-stream"},
		{ping, []string{"Content-Type", "text/plain"}, 415, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"nope"}`, nil, 400, "unsupported"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, ""},
		{unknownTool, nil, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, nil, 200, "not found"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"lectern://types/api::article.article"}}`, nil, 200, "-32601"},
	} {
		if status, text := send(t, server, "POST", "", "", "full", c.body, c.headers...); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %v: %d %s", c.body, c.headers, status, text)
		}
	}
	a := connect(t, server, "full")
	_, err := a.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "lectern://types/api::nope.nope"})
	var told *jsonrpc.Error
	if !errors.As(err, &told) || told.Code != -32002 && told.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("an unknown resource: %v", err)
	}
}

// testCancellation gives up a call. The session goes on.
func testCancellation(t *testing.T, server gateway.Ready) {
	a := connect(t, server, "full")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.session.CallTool(ctx, &sdk.CallToolParams{Name: "list_types"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	a.do("find", object{"type": "authors"})
}

// testIdempotencyKey sends a write with an idempotency key, which the endpoint refuses: it keeps no answers.
func testIdempotencyKey(t *testing.T, server gateway.Ready) {
	const create = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create","arguments":{"type":"notes","data":{"text":"with a key"}}}}`
	status, text := send(t, server, "POST", "", "", "full", create, "Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
	if status != 400 || !strings.Contains(text, "without an Idempotency-Key") {
		t.Errorf("%d %s", status, text)
	}
	if found := get(t, server, "/api/notes?filters[text]=with%20a%20key"); len(found["data"].([]any)) != 0 {
		t.Errorf("the refused call wrote %v", found)
	}
}

// TestConformance runs the official conformance suite (npm @modelcontextprotocol/conformance) against the endpoint, if the environment variable
// LECTERN_MCP_CONFORMANCE names its command. Version 0.1.16 passed. The other scenarios of the suite call tools, prompts and resources that a
// server made for the suite has, such as test_simple_text, or need what this server does not offer: completion, sampling, elicitation, subscriptions.
func TestConformance(t *testing.T) {
	command := os.Getenv("LECTERN_MCP_CONFORMANCE")
	if command == "" {
		t.Skip("LECTERN_MCP_CONFORMANCE names no command")
	}
	server := serve(t, nil)
	endpoint := strings.Replace(server.Base, "127.0.0.1", "localhost", 1) + "/mcp" // the suite tests DNS rebinding by the name localhost
	for _, scenario := range []string{
		"server-initialize", "logging-set-level", "ping", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "server-sse-polling",
		"dns-rebinding-protection",
	} {
		out, err := exec.CommandContext(t.Context(), command, "server", "--url", endpoint, "--scenario", scenario).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", scenario, err, out)
		}
	}
}
