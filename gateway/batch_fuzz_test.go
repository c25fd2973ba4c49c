package gateway

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/auth"
)

// FuzzBatch sends any body as a batch. The answer is JSON with a status below 500, and has one result for each
// operation. A batch that is refused leaves the content as it was, and one that is not makes at most one entry of the
// log.
func FuzzBatch(f *testing.F) {
	for _, body := range []string{
		`{"operations":[{"op":"create","type":"categories","as":"c","data":{"name":"x"}},{"op":"create","type":"restaurants","data":{"name":"y","categories":[{"$ref":"c"}]}}]}`,
		`{"atomic":false,"operations":[{"op":"update","type":"categories","documentId":{"$ref":"c"},"data":{}},{"op":"delete","type":"api::category.category","documentId":"x","locale":["*"]},null]}`,
		`{"operations":[{"op":"create","type":"restaurants","status":"draft","fields":["name"],"populate":{"categories":{"fields":[1,true]}},"as":"r","data":{"name":"z"}},{"op":"publish","type":"restaurants","documentId":{"$ref":"r"}},{"op":"discardDraft","type":"restaurants","documentId":{"$ref":"r"}},{"op":"unpublish","type":"restaurants","documentId":{"$ref":"r"},"ifMatch":"*"}]}`,
		`{"operations":[{"op":"update","type":"homepage","data":{"$ref":"x"},"ifMatch":"\"a.b\""}]}`,
		`{"operations":{}}`, `[]`,
		`{"operations":[{"op":"create","type":"categories","data":{"x":{"$ref":{"$ref":"c"}}}}]}`,
	} {
		f.Add(body)
	}
	p, err := Open("../testdata/conformance/projects/kitchen",
		Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := p.Store().Check(); err != nil {
			f.Error(err)
		}
		p.Close()
	})
	_, key, err := p.CreateToken(f.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess})
	if err != nil {
		f.Fatal(err)
	}
	rt, err := p.generation.Load().runtime()
	if err != nil {
		f.Fatal(err)
	}
	server, err := NewServer(p.serverConfig(), rt)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		before := p.Store().Revision()
		r := httptest.NewRequest(http.MethodPost, "/api/_batch", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		made := p.Store().Revision() - before
		var sent struct{ Operations []any }
		var answer struct{ Data []any }
		switch {
		case w.Code >= http.StatusInternalServerError || json.Unmarshal(w.Body.Bytes(), &answer) != nil:
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		case made > 1 || w.Code >= http.StatusBadRequest && made > 0:
			t.Errorf("%q: %d, and %d entries of the log", body, w.Code, made)
		case w.Code < http.StatusBadRequest && json.Unmarshal([]byte(body), &sent) == nil &&
			len(sent.Operations) != len(answer.Data):
			t.Errorf("%q: %d results\n%s", body, len(answer.Data), w.Body)
		}
	})
}
