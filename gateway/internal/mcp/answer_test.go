package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/gateway/internal/mcp"
	"lectern/internal/budget"
)

// TestAnswersThatCannotBeShown calls tools whose requests have answers that are too long, or break off. A client must
// learn that a write was carried out, or it would send it again.
func TestAnswersThatCannotBeShown(t *testing.T) {
	const (
		find   = `{"name":"find","arguments":{"type":"notes"}}`
		create = `{"name":"create","arguments":{"type":"notes","data":{}}}`
	)
	for _, c := range []struct {
		call     string
		status   int // 0: nothing was sent
		body     string
		cut      bool
		isError  bool
		contains string
	}{
		{find, 200, "whole", false, false, "whole"},
		{create, 201, "whole", false, false, "whole"},
		{find, 200, strings.Repeat(" ", mcp.MaxAnswer+1), false, true, "PayloadTooLargeError"},
		{create, 201, strings.Repeat(" ", mcp.MaxAnswer+1), false, false, "was carried out"},
		{find, 200, "half", true, true, "broken off"},
		{create, 201, "half", true, false, "was carried out"},
		{create, 400, "half", true, true, "broken off"},
		{create, 0, "", true, true, "broken off"},
		{create, 400, "refused", false, true, "400"},
	} {
		h := mcp.New(mcp.Options{
			Prefix: "/api",
			Types:  []mcp.Type{{ContentType: &contenttypes.ContentType{Schema: contenttypes.Schema{UID: "api::note.note"}}, Name: "notes", Actions: []string{"find", "create"}}},
			Call: func(w http.ResponseWriter, _ *http.Request) bool {
				if c.status != 0 {
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.body))
				}
				return !c.cut
			},
		})
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+c.call+`}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.Serve(w, r, permission.FullAccess, new(budget.Tally))
		text := w.Body.String()
		if strings.Contains(text, `"isError":true`) != c.isError || !strings.Contains(text, c.contains) {
			t.Errorf("%s answered %d %.9q, cut %v: %.300s", c.call, c.status, c.body, c.cut, text)
		}
	}
}
