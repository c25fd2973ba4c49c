package gateway

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/shadowcrud/qs"
)

// FuzzChanges sends any query string to the change feed. Its parameters are read within their bounds, or refused with 400. The answers of
// requests that do not wait are JSON with a status below 500.
func FuzzChanges(f *testing.F) {
	for _, query := range []string{
		"since=0&limit=3&feed=normal&types=restaurant,menu&types[1]=api::review.review&locale=en&status=draft",
		"feed=eventsource&heartbeat=true&since=now", "feed=longpoll&timeout=99999999&heartbeat=-1", "limit=10001", "limit[]=1",
		"include=document&fields[0]=name&populate[menu][fields]=*&locale=*", "fields=name", "types=,&locale= ", "types[a]=b", "Since=1",
		"since=0123456789abcdef-3", "include=document&populate=*&types=restaurants&limit=10000",
	} {
		f.Add(query)
	}
	p, err := Open("../testdata/conformance/projects/kitchen", Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
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
	f.Fuzz(func(t *testing.T, query string) {
		read, valid := checkChangesParams(t, query)
		if valid && read.feed != normalFeed {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/api/_changes", nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError || !valid && w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	})
}

// checkChangesParams reads the parameters in a query string, and fails the test if they are not within their bounds.
func checkChangesParams(t *testing.T, query string) (p *changesParams, valid bool) {
	t.Helper()
	q, err := qs.Parse(query)
	if err != nil {
		return nil, false
	}
	p, err = parseChanges(q)
	var refused *apierror.Error
	if err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Message == "") {
		t.Errorf("%q: %v", query, err)
	}
	if err != nil {
		return nil, false
	}
	feeds := []feedKind{normalFeed, longFeed, eventFeed}
	if !slices.Contains(feeds, p.feed) || p.limit < 1 || p.limit > mostChanges || p.heartbeat < leastInterval || p.heartbeat > mostInterval ||
		p.timeout < leastInterval || p.timeout > mostInterval || p.types != nil && len(p.types) == 0 || slices.Contains(p.types, "") ||
		slices.Contains(p.locales, "") || !p.document && len(p.selection.Keys) > 0 {
		t.Errorf("%q: %+v", query, p)
	}
	for _, key := range q.Keys {
		if !slices.Contains(changesKeys, key) {
			t.Errorf("%q: the parameter %q is ignored", query, key)
		}
	}
	return p, true
}
