package mcp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/gateway"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// TestHTTP sends requests that the endpoint refuses before it looks at their message.
func TestHTTP(t *testing.T) {
	server := serve(t, map[string]string{"config/server.yaml": "url: https://cms.example.com\ncors: {origin: [https://app.example.com]}\nlimits: {json: 4kb}\n"})
	for _, c := range []struct {
		method, host, origin, token, body string
		status                            int
	}{
		{"POST", "", "", "full", ping, 200},
		{"POST", "", "", "", ping, 200},
		{"POST", "", "", "unknown-token", ping, 401},
		{"POST", "localhost:1", "", "full", ping, 200},
		{"POST", "[::1]:80", "", "full", ping, 200},
		{"POST", "CMS.example.com", "", "full", ping, 200},
		{"POST", "cms.example.com", "https://cms.example.com", "full", ping, 200},
		{"POST", "cms.example.com", "https://app.example.com", "full", ping, 200},
		{"POST", "cms.example.com", "https://evil.example.com", "full", ping, 403},
		{"POST", "cms.example.com", "null", "full", ping, 403},
		{"POST", "evil.example.com", "", "full", ping, 403},
		{"POST", "evil.example.com", "http://evil.example.com", "full", ping, 403},
		{"POST", "", "", "full", "[" + ping + "]", 400},
		{"POST", "", "", "full", "  [" + ping + "]", 400},
		{"POST", "", "", "full", "", 400},
		{"POST", "", "", "full", "{", 400},
		{"POST", "", "", "full", strings.Repeat(" ", 5000) + ping, 413},
		{"GET", "", "", "full", "", 405},
		{"DELETE", "", "", "full", "", 405},
		{"PUT", "", "", "full", "", 405},
		{"OPTIONS", "", "", "full", "", 200},
	} {
		status, text := send(t, server, c.method, c.host, c.origin, c.token, c.body)
		if status != c.status {
			t.Errorf("%+v: %d %s", c, status, text)
		}
	}
	for _, method := range []string{"OPTIONS", "GET", "HEAD", "DELETE", "PUT"} {
		r, err := http.NewRequestWithContext(t.Context(), method, server.Base+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if allow := answer.Header.Get("Allow"); allow != "POST" {
			t.Errorf("%s: %s, Allow: %s", method, answer.Status, allow)
		}
	}
}

// send sends a request to the endpoint.
func send(t *testing.T, server gateway.Ready, method, host, origin, token, body string,
	headers ...string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, server.Base+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if key := server.Tokens[token]; key != "" {
		token = key
	}
	answer, err := (&http.Client{Transport: bearer(token)}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

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
		{ping, []string{"Mcp-Session-Id", "of-a-server-before-this-one"}, 200,
			`"result"`}, // there are no sessions that could be lost
		{ping, []string{"Accept", "application/json"}, 400, "text/event-stream"},
		{ping, []string{"Content-Type", "text/plain"}, 415, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"nope"}`, nil, 400, "unsupported"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, ""},
		{unknownTool, nil, 200, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, nil, 200,
			"not found"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"lectern://types/api::article.article"}}`, nil, 200, "-32601"},
	} {
		if status, text := send(t, server, "POST", "", "", "full", c.body, c.headers...); status != c.status ||
			!strings.Contains(text, c.text) {
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

// testNoSubscriptions asks for a stream of notifications, which would hold a place among the requests at work as long
// as the client likes.
func testNoSubscriptions(t *testing.T, server gateway.Ready) {
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	_, text := send(t, server, "POST", "", "", "full", listen, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method",
		"subscriptions/listen")
	if !strings.Contains(text, "-32601") { // no such method
		t.Error(text)
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
	status, text := send(t, server, "POST", "", "", "full", create, "Idempotency-Key",
		"8e03978e-40d5-43dd-bc93-6894a57f9324")
	if status != 400 || !strings.Contains(text, "without an Idempotency-Key") {
		t.Errorf("%d %s", status, text)
	}
	if found := get(t, server, "/api/notes?filters[text]=with%20a%20key"); len(found["data"].([]any)) != 0 {
		t.Errorf("the refused call wrote %v", found)
	}
}
