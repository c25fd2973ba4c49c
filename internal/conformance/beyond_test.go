package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// The tests below cover the section beyond of differences.yaml, as far as TestBadInput does not.

// wants requests a path and compares the part of the response at a dotted path with JSON.
func (b *bench) wants(path, at, want string) {
	b.t.Helper()
	got, err := json.Marshal(dig(b.do("GET", path, ""), at))
	if err != nil {
		b.t.Fatal(err)
	}
	if string(got) != want {
		b.t.Errorf("GET %s: %s is %s, want %s", path, at, got, want)
	}
}

// names requests a list and compares the names in it with JSON.
func (b *bench) names(path, want string) {
	b.t.Helper()
	rows, _ := dig(b.do("GET", path, ""), "data").([]any)
	names := []any{}
	for _, row := range rows {
		names = append(names, dig(row, "name"))
	}
	if got, _ := json.Marshal(names); string(got) != want {
		b.t.Errorf("GET %s: %s, want %s", path, got, want)
	}
}

func (b *bench) statusOf(method, path string) int {
	b.t.Helper()
	status, _ := b.send(b.t, badRequest{method: method, path: path})
	return status
}

func TestBeyondRequests(t *testing.T) {
	b := newBench(t)
	res, err := http.Get(b.target.Base + "/api/restaurants")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if origin, there := res.Header["Access-Control-Allow-Origin"]; there {
		t.Errorf("without an Origin, access-control-allow-origin is %q", origin)
	}
	for _, query := range []string{"?status=draft", "?hasPublishedVersion=false"} {
		b.create("x", "/api/restaurants", `{"name":"Gone"}`)
		if status := b.statusOf("DELETE", "/api/restaurants/{x}"+query); status != http.StatusNoContent {
			t.Errorf("DELETE %s answers %d", query, status)
		}
		for _, version := range []string{"draft", "published"} {
			if status := b.statusOf("GET", "/api/restaurants/{x}?status="+version); status != http.StatusNotFound {
				t.Errorf("after DELETE %s, the %s version answers %d", query, version, status)
			}
		}
	}
}

func TestBeyondValues(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ attribute, given, kept string }{
		{"visits", `"9223372036854775807"`, `"9223372036854775807"`},
		{"visits", `9007199254740993`, `"9007199254740993"`},
		{"extra", `true`, `true`},
		{"extra", `false`, `false`},
		{"extra", `"true"`, `true`},
		{"extra", `"null"`, `"null"`},
		{"extra", `[true,1]`, `[true,1]`},
		{"openedOn", `"2024-01-02T23:00:00-05:00"`, `"2024-01-02"`},
		{"summary", `"a\ud800b"`, `"a` + "\ufffd" + `b"`},
	} {
		b.create("x", "/api/restaurants", fmt.Sprintf(`{"name":"Values",%q:%s}`, c.attribute, c.given))
		b.wants("/api/restaurants/{x}", "data."+c.attribute, c.kept)
	}
	b.names("/api/restaurants?filters[visits]=9007199254740993", `["Values"]`)
	b.names("/api/restaurants?filters[visits]=9007199254740992", `[]`)
}

func TestBeyondQueries(t *testing.T) {
	b := newBench(t)
	b.create("p", "/api/people", `{"firstName":"Zoe"}`)
	b.create("a", "/api/restaurants",
		fmt.Sprintf(`{"name":"a_b","summary":"Élan","hidden":"treasure","rating":3,"owner":%q}`, b.ids["p"]))
	b.create("x", "/api/restaurants", `{"name":"axb","rating":4.5}`)
	b.create("d", "/api/restaurants?status=draft", `{"name":"Secret draft"}`)
	b.create("m", "/api/meal-plans", fmt.Sprintf(`{"title":"Week","places":[%q]}`, b.ids["d"]))

	b.names("/api/restaurants?_q=treasure", `[]`)
	b.names("/api/restaurants?_q=a_b", `["a_b"]`)
	b.names("/api/restaurants?filters[summary][$eqi]=élan", `["a_b"]`)
	b.names("/api/restaurants?filters[summary][$containsi]=ÉLAN", `["a_b"]`)
	b.names("/api/restaurants?filters[rating][$eqi]=3", `["a_b"]`)
	b.names("/api/restaurants?filters[rating][$endsWith]=5", `["axb"]`)
	b.names("/api/restaurants?filters[createdAt][$contains]=T", `["a_b","axb"]`)
	b.names("/api/restaurants?sort[0][name]=desc&sort[1]=id", `["axb","a_b"]`)
	b.names("/api/restaurants?filters[name][$ne][0]=axb&filters[name][$ne][1]=other", `["a_b"]`)
	b.names("/api/restaurants?filters[name][$contains][0]=xb&filters[name][$contains][1]=other", `["axb"]`)
	b.names("/api/restaurants?filters[$not][0][name]=axb", `["a_b"]`)
	b.names("/api/restaurants?filters[vegan]=no", `["a_b","axb"]`)
	b.names("/api/restaurants?filters[owner][$null]=False", `["a_b"]`)
	b.names("/api/restaurants?sort=.name", `["a_b","axb"]`)
	b.names("/api/restaurants?filters[name][$or][0]=axb", `["axb"]`)
	b.names("/api/restaurants?pagination[page]=1e300", `[]`)
	b.names("/api/restaurants?pagination[page]=9007199254740993", `[]`)
	b.wants("/api/meal-plans?filters[places][name]=Secret draft", "data", `[]`)
	b.wants("/api/meal-plans?filters[places][name]=Secret draft&status=draft", "data.0.title", `"Week"`)
	b.wants("/api/restaurants?fields=id&sort=name&filters[owner][firstName]=Zoe", "data.0.name", `null`)
	b.wants("/api/restaurants/{a}?page=0&pageSize=x&start=1&limit=x", "data.name", `"a_b"`)
}

func TestBeyondRelations(t *testing.T) {
	b := newBench(t)
	b.create("a", "/api/restaurants", `{"name":"Aa"}`)
	b.create("x", "/api/restaurants", fmt.Sprintf(`{"name":"Xx","related":[%q]}`, b.ids["a"]))
	b.do("PUT", "/api/restaurants/{a}", `{"data":{"seats":5}}`)
	b.wants("/api/restaurants/{x}?populate=related", "data.related.0.seats", `5`)

	b.do("PUT", "/api/restaurants/{a}", fmt.Sprintf(`{"data":{"related":[%q]}}`, b.ids["a"]))
	b.wants("/api/restaurants/{a}?populate=related", "data.related.0.name", `"Aa"`)
	b.create("c", "/api/categories", `{"name":"Loop"}`)
	b.do("PUT", "/api/categories/{c}", fmt.Sprintf(`{"data":{"parent":%q}}`, b.ids["c"]))
	b.wants("/api/categories/{c}?populate=parent", "data.parent.name", `"Loop"`)
}

func TestBeyondVersions(t *testing.T) {
	b := newBench(t)
	b.create("r", "/api/restaurants", `{"name":"English","seats":1}`)
	b.do("PUT", "/api/restaurants/{r}?locale=fr", `{"data":{"name":"French"}}`)

	b.wants("/api/restaurants?locale=*&sort=name&populate=localizations", "data.0.localizations.0.name", `"French"`)
	b.wants("/api/restaurants?locale=*&sort=name&populate=localizations", "data.1.localizations.0.name", `"English"`)
	b.wants("/api/restaurants/{r}?populate[localizations][count]=true", "data.localizations", `{"count":1}`)
	b.names("/api/restaurants?locale=*&filters[localizations][name]=French", `["English"]`)
	b.do("PUT", "/api/restaurants/{r}?locale=de&status=draft", `{"data":{"name":"German"}}`)
	b.names("/api/restaurants?filters[localizations][name]=German", `[]`)
	b.names("/api/restaurants?status=draft&filters[localizations][name]=German", `["English"]`)

	// Publishing one locale copies its shared values to the drafts of the other locales.
	b.do("PUT", "/api/restaurants/{r}", `{"data":{"seats":2}}`)
	b.wants("/api/restaurants/{r}?locale=fr&status=draft", "data.seats", `2`)
	b.do("PUT", "/api/restaurants/{r}?locale=fr", `{"data":{"name":"French again"}}`)
	b.wants("/api/restaurants/{r}", "data.seats", `2`)

	// A document that is published late appears at once.
	b.create("d", "/api/restaurants?status=draft", `{"name":"Late"}`)
	b.do("PUT", "/api/homepage", fmt.Sprintf(`{"data":{"featured":[%q]}}`, b.ids["d"]))
	b.wants("/api/homepage?populate=featured", "data.featured", `[]`)
	b.do("PUT", "/api/restaurants/{d}", `{"data":{}}`)
	b.wants("/api/homepage?populate=featured", "data.featured.0.name", `"Late"`)

	// Editing a draft takes nothing away from published rows.
	b.create("m", "/api/menus", `{"title":"Menu","dishes":[{"name":"soup"}]}`)
	b.do("PUT", "/api/restaurants/{r}", fmt.Sprintf(`{"data":{"menu":%q}}`, b.ids["m"]))
	b.do("PUT", "/api/restaurants/{d}?status=draft", fmt.Sprintf(`{"data":{"menu":%q}}`, b.ids["m"]))
	b.wants("/api/restaurants/{r}?populate=menu", "data.menu.title", `"Menu"`)
	b.wants("/api/restaurants/{d}?populate=menu&status=draft", "data.menu.title", `"Menu"`)
	b.create("v", "/api/reviews", fmt.Sprintf(`{"stars":5,"restaurant":%q}`, b.ids["r"]))
	b.do("PUT", "/api/restaurants/{d}?status=draft", fmt.Sprintf(`{"data":{"reviews":[%q]}}`, b.ids["v"]))
	b.wants("/api/restaurants/{r}?populate=reviews", "data.reviews.0.stars", `5`)
	b.wants("/api/restaurants/{d}?populate=reviews&status=draft", "data.reviews.0.stars", `5`)
	b.wants("/api/restaurants/{r}?populate=reviews&status=draft", "data.reviews", `[]`)
}

// TestBeyondSharedValues checks that values that are not localized are the same in all drafts and in all published rows
// after a write to any of them.
func TestBeyondSharedValues(t *testing.T) {
	for _, c := range []struct{ what, path, published, draft string }{
		{"a draft localization is added", "/api/restaurants/{r}?locale=fr&status=draft", `1`, `2`},
		{"a localization is published", "/api/restaurants/{r}?locale=fr", `2`, `2`},
	} {
		t.Run(c.what, func(t *testing.T) {
			b := newBench(t)
			b.create("r", "/api/restaurants", `{"name":"English","seats":1}`)
			b.do("PUT", "/api/restaurants/{r}?status=draft", `{"data":{"seats":2}}`)
			b.do("PUT", c.path, `{"data":{"name":"French"}}`)
			b.wants("/api/restaurants/{r}", "data.seats", c.published)
			b.wants("/api/restaurants/{r}?status=draft", "data.seats", c.draft)
			b.wants("/api/restaurants/{r}?locale=fr&status=draft", "data.seats", c.draft)
		})
	}
	b := newBench(t)
	b.create("r", "/api/restaurants", `{"name":"English","seats":1}`)
	b.do("PUT", "/api/restaurants/{r}?locale=fr", `{"data":{"name":"French"}}`)
	b.do("PUT", "/api/restaurants/{r}?status=draft", `{"data":{"seats":2}}`)
	b.do("PUT", "/api/restaurants/{r}?locale=fr", `{"data":{"name":"French again"}}`)
	b.wants("/api/restaurants/{r}?locale=fr", "data.seats", `2`)
	b.wants("/api/restaurants/{r}", "data.seats", `2`)
}

// TestBeyondLateLinks checks that a document published late has the same position in the lists of other documents as in
// their drafts.
func TestBeyondLateLinks(t *testing.T) {
	b := newBench(t)
	b.create("a", "/api/restaurants", `{"name":"Aa"}`)
	b.create("b", "/api/restaurants?status=draft", `{"name":"Bb"}`)
	b.create("c", "/api/restaurants", `{"name":"Cc"}`)
	b.create("s", "/api/categories", fmt.Sprintf(`{"name":"S","restaurants":[%q,%q,%q]}`, b.ids["a"], b.ids["b"],
		b.ids["c"]))
	b.wants("/api/categories/{s}?populate=restaurants", "data.restaurants.1.name", `"Cc"`)
	b.do("PUT", "/api/restaurants/{b}", `{"data":{}}`)
	b.wants("/api/categories/{s}?populate=restaurants", "data.restaurants.1.name", `"Bb"`)
	b.wants("/api/categories/{s}?populate=restaurants", "data.restaurants.2.name", `"Cc"`)
}

func TestBeyondUploads(t *testing.T) {
	b := newBench(t)
	b.create("r", "/api/restaurants", `{"name":"With files"}`)
	id := text(dig(b.do("GET", "/api/restaurants/{r}", ""), "data.id"))
	upload := func(fields ...Part) (status int, body any) {
		t.Helper()
		file := Part{Name: "files", File: "a.txt", Type: "text/plain", Base64: "aGVsbG8="} // hello
		a, err := b.target.Send(
			&Step{Request: Request{Method: "POST", Path: "/api/upload", Multipart: append(fields, file)}}, Vars{})
		if err != nil {
			t.Fatal(err)
		}
		return a.Status, a.Body
	}
	field := func(name, value string) Part {
		quoted, _ := json.Marshal(value)
		return Part{Name: name, Value: quoted}
	}
	for _, fields := range [][]Part{
		{field("fileInfo", "{")},
		{field("ref", "api::nothing.nothing"), field("refId", id), field("field", "cover")},
		{field("ref", "api::restaurant.restaurant"), field("refId", id), field("field", "nothing")},
		{field("ref", "api::restaurant.restaurant"), field("refId", id), field("field", "name")},
		{field("ref", "api::restaurant.restaurant"), field("refId", "99999"), field("field", "cover")},
		{field("ref", "api::restaurant.restaurant"), field("refId", "tclb1iwvwv3zxa3zfxk9rrcp"),
			field("field", "cover")},
	} {
		if status, body := upload(fields...); status != http.StatusBadRequest {
			t.Errorf("an upload with %s answers %d: %v", fields[0].Value, status, body)
		}
	}
	if files := b.do("GET", "/api/upload/files", ""); brief(files) != "[]" {
		t.Errorf("files were kept: %v", files)
	}

	status, body := upload()
	if status != http.StatusCreated {
		t.Fatalf("an upload answers %d: %v", status, body)
	}
	url := text(dig(body, "0.url"))
	for _, c := range []struct {
		header, value string
		status        int
		body          string
	}{
		{"Range", "bytes=1-100", http.StatusPartialContent, "ello"},
		{"Range", "bytes=-2", http.StatusPartialContent, "lo"},
		{"Range", "bytes=5-", http.StatusRequestedRangeNotSatisfiable, ""},
		{"Range", "lines=1-2", http.StatusOK, "hello"},
	} {
		a, err := b.target.Send(
			&Step{As: "public", Request: Request{Path: url, Headers: map[string]string{c.header: c.value}}}, Vars{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != c.status || c.body != "" && a.Body != c.body {
			t.Errorf("%s: %s answers %d %v, want %d %s", c.header, c.value, a.Status, a.Body, c.status, c.body)
		}
	}
}
