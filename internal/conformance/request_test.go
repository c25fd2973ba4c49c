package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestTarget(t *testing.T) {
	for path, want := range map[string]string{
		"/api/a?filters[name][$eq]=x y": "/api/a?filters%5Bname%5D%5B$eq%5D=x%20y",
		"/api/a?x=%5B%24eq":             "/api/a?x=%5B%24eq",
		"/api/a?x=100%&y=%":             "/api/a?x=100%&y=%",
		"/api/it's?q=it's":              "/api/it's?q=it%27s",
		"/api/é?q=\"<>`{}|^\\":          "/api/%C3%A9?q=%22%3C%3E%60%7B%7D%7C%5E%5C",
		"/api/a?x=1#y":                  "/api/a?x=1",
		"/api/a\x00\n":                  "/api/a%00%0A",
		"/api/a?x=;,/?:@&=+$-_.!~*()":   "/api/a?x=;,/?:@&=+$-_.!~*()",
	} {
		if got := requestTarget(path); got != want {
			t.Errorf("%q: sent as %q, want %q", path, got, want)
		}
	}
}

// seen is a request as the server received it.
type seen struct {
	Method, Target, Type, Authorization, Body string
}

func TestSend(t *testing.T) {
	var got seen
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = seen{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body)}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}))
	defer srv.Close()
	target := &Target{Base: srv.URL, Tokens: map[string]string{"full": "F", "readonly": "R"}}
	vars := Vars{"n": json.Number("7"), "jwt": "a.b.c"}

	for _, c := range []struct {
		name, step string
		want       seen
	}{
		{"a full-access token is the default", `{"request":{"path":"/api/a/{{n}}"}}`,
			seen{"GET", "/api/a/7", "", "Bearer F", ""}},
		{"no credential", `{"as":"public","request":{"method":"DELETE","path":"/api/a"}}`,
			seen{"DELETE", "/api/a", "", "", ""}},
		{"another token", `{"as":"readonly","request":{"path":"/api/a"}}`, seen{"GET", "/api/a", "", "Bearer R", ""}},
		{"what was saved", `{"as":"{{jwt}}","request":{"path":"/api/a"}}`,
			seen{"GET", "/api/a", "", "Bearer a.b.c", ""}},
		{"a header goes before the token", `{"request":{"path":"/api/a","headers":{"authorization":"Basic x"}}}`,
			seen{"GET", "/api/a", "", "Basic x", ""}},
		{"JSON keeps order and types",
			`{"request":{"method":"POST","path":"/api/a","json":{"z":"{{n}}","a":"<{{n}}>","{{n}}":[1.50,null]}}}`,
			seen{"POST", "/api/a", "application/json", "Bearer F", `{"z":7,"a":"<7>","7":[1.50,null]}`}},
		{"repetition", `{"request":{"method":"POST","path":"/api/a","json":"<repeat:ab:2><repeat:x:3>"}}`,
			seen{"POST", "/api/a", "application/json", "Bearer F", `"<repeat:ab:2>xxx"`}},
		{"a content-type of its own",
			`{"request":{"method":"POST","path":"/api/a","headers":{"content-type":"text/x"},"raw":"{{n}}{"}}`,
			seen{"POST", "/api/a", "text/x", "Bearer F", `7{`}},
		{"text without a content-type", `{"request":{"method":"POST","path":"/api/a","raw":"é"}}`,
			seen{"POST", "/api/a", "text/plain;charset=UTF-8", "Bearer F", `é`}},
		{"GraphQL", `{"request":{"graphql":{"query":"{a}"}}}`,
			seen{"POST", "/graphql", "application/json", "Bearer F", `{"query":"{a}"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var step Step
			if err := json.Unmarshal([]byte(c.step), &step); err != nil {
				t.Fatal(err)
			}
			a, err := target.Send(&step, vars)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("sent %+v, want %+v", got, c.want)
			}
			if a.Status != http.StatusFound {
				t.Errorf("status %d: the redirect was followed", a.Status)
			}
		})
	}
}

func TestSendForm(t *testing.T) {
	var form, file, fileType, fileName string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, head, err := r.FormFile("files")
		if err != nil {
			t.Error(err)
			return
		}
		data, _ := io.ReadAll(f)
		form, file, fileType, fileName = r.FormValue("fileInfo"), string(data), head.Header.Get("Content-Type"),
			head.Filename
	}))
	defer srv.Close()
	var step Step
	if err := json.Unmarshal([]byte(`{"request":{"method":"POST","path":"/api/upload","multipart":[
		{"name":"fileInfo","value":{"name":"a"}},{"name":"files","file":"ä.txt","type":"text/plain","base64":"aGVsbG8="}]}}`), &step); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Target{Base: srv.URL}).Send(&step, Vars{}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join([]string{form, file, fileType, fileName}, " "),
		`{"name":"a"} hello text/plain ä.txt`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestUnsavedValueIsAnError(t *testing.T) {
	for _, step := range []Step{
		{Request: Request{Path: "/api/{{nope}}"}},
		{As: "{{nope}}", Request: Request{Path: "/api/a"}},
		{Request: Request{Path: "/api/a", JSON: []byte(`{"a":["{{nope}}"]}`)}},
	} {
		if _, err := (&Target{Base: "http://127.0.0.1:1"}).request(&step, Vars{}); err == nil {
			t.Errorf("%+v: no error", step.Request)
		}
	}
}
