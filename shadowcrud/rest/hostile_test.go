package rest_test

import (
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// TestHostileRequests sends requests that only an attacker would send. None may cause an internal error or change
// anything.
func TestHostileRequests(t *testing.T) {
	h := newHandler(t)
	for _, request := range []struct{ method, path, body string }{
		{"GET", "/api/articles?" + strings.Repeat("filters[", 3000) + "=1", ""},
		{"GET", "/api/articles?filters" + strings.Repeat("[$not]", 3000) + "[title]=1", ""},
		{"GET", "/api/articles?filters" + strings.Repeat("[tags][articles]", 2000) + "[title]=1", ""},
		{"GET", "/api/articles?populate=" + strings.Repeat("tags.articles.", 3000) + "tags", ""},
		{"GET", "/api/articles?sort=" + strings.Repeat("tags.articles.", 3000) + "title", ""},
		{"GET", "/api/articles?" + strings.Repeat("filters[title][$in]=1&", 3000), ""},
		{"GET", "/api/articles?filters[title]=%00%FF%zz&sort=%FF&fields=%00&populate=%FF&locale=%FF&status=%00&_q=%FF",
			""},
		{"GET", "/api/articles?pagination[page]=1e308&pagination[pageSize]=-1e308", ""},
		{"GET", "/api/articles?pagination[start]=9223372036854775807&pagination[limit]=9223372036854775807", ""},
		{"GET", "/api/articles?filters[words]=NaN&filters[words][$between]=Infinity", ""},
		{"GET", "/api/articles?filters[__proto__]=1&filters[constructor]=1", ""},
		{"GET", "/api/articles/" + strings.Repeat("a", 60000), ""},
		{"GET", "/api/articles?locale=" + strings.Repeat("x", 60000), ""},
		{"POST", "/api/articles?locale=" + strings.Repeat("x", 60000), `{"data":{"title":5}}`},
		{"POST", "/api/articles", strings.Repeat("[", 10000)},
		{"POST", "/api/articles", strings.Repeat(`{"data":`, 10000)},
		{"POST", "/api/articles", `{"data":{"title":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`},
		{"POST", "/api/articles", `{"data":{"title":"A","words":1e999}}`},
		{"POST", "/api/articles", `{"data":{"title":{"toString":1}}}`},
		{"POST", "/api/articles", `{"data":{"constructor":1}}`},
		{"POST", "/api/articles", `{"data":{"title":"A","tags":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) +
			`}}`},
		{"POST", "/api/articles",
			`{"data":{"title":"A","tags":{"connect":[{"documentId":"x","position":{"before":"x"}}]}}}`},
		{"POST", "/api/articles",
			`{"data":{"title":"A","zone":[null,1,"x",{"__component":null},{"__component":"parts.nope"}]}}`},
		{"PUT", "/api/articles/%20%0A", `{"data":{}}`},
		{"PUT", "/api/site?locale[]=a&locale[]=b&status[]=x", `{"data":{"name":[]}}`},
	} {
		r := httptest.NewRequest(request.method, request.path, strings.NewReader(request.body))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code < 300 && request.method != "GET" {
			t.Errorf("%s %.80s %.80s: got %d %.200s", request.method, request.path, request.body, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/api/articles?status=draft&locale=*", "/api/articles", "/api/tags"} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer full")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), `"total":0`) {
			t.Errorf("something was written: %s: %s", path, w.Body)
		}
	}
}

// TestPopulateInCircles requests answers that are longer than any memory. The server must refuse them before it builds
// them.
func TestPopulateInCircles(t *testing.T) {
	h := newHandler(t)
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer full")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var tags []string
	for i := range 40 {
		tags = append(tags, strconv.Quote(docs.FindStringSubmatch(send("POST", "/api/tags",
			fmt.Sprintf(`{"data":{"name":"t%d"}}`, i)).Body.String())[1]))
	}
	for range 10 {
		send("POST", "/api/articles", `{"data":{"title":"A","tags":[`+strings.Join(tags, ",")+`]}}`)
	}
	w := send("GET", "/api/articles?populate="+strings.Repeat("tags.articles.", 8)+"tags", "")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "too large") {
		t.Errorf("got %d, %d bytes", w.Code, w.Body.Len())
	}
}

// TestHead expects HEAD to return the headers that GET would return.
func TestHead(t *testing.T) {
	h := newHandler(t)
	var length [2]string
	for i, method := range []string{"GET", "HEAD"} {
		r := httptest.NewRequest(method, "/api/tags", nil)
		r.Header.Set("Authorization", "Bearer full")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		length[i] = w.Header().Get("Content-Length")
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	if length[0] == "" || length[0] != length[1] {
		t.Errorf("Content-Length: %q", length)
	}
}
