package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A bench is a server with documents of every type.
type bench struct {
	t      testing.TB
	target *Target
	ids    map[string]string // documentIds, keyed by a letter that paths use
}

func newBench(t testing.TB) *bench {
	return &bench{t: t, target: serve(t, projectDir, nil), ids: map[string]string{}}
}

const projectDir = "../../testdata/conformance/projects/kitchen"

// fill creates documents with drafts, locales, relations, components and zones.
func (b *bench) fill() {
	b.create("p", "/api/people", `{"firstName":"Ann","email":"ann@example.org"}`)
	b.create("c", "/api/categories", `{"name":"Bread"}`)
	b.create("r", "/api/restaurants",
		fmt.Sprintf(`{"name":"First","seats":20,"visits":"9007199254740993","openedOn":"2020-01-02",
		"owner":%q,"categories":[%q],"hidden":"h","secret":"s","extra":{"a":[1]},
		"address":{"city":"Here","geo":{"lat":1.5}},"closingPeriods":[{"label":"May"},{"label":"June"}],
		"dz":[{"__component":"blocks.rich-text","body":"x"},{"__component":"blocks.slider","caption":"y"}]}`, b.ids["p"], b.ids["c"]))
	b.do("PUT", "/api/restaurants/{r}?locale=fr", `{"data":{"name":"Premier"}}`)
	b.do("PUT", "/api/restaurants/{r}?status=draft", `{"data":{"name":"First, changed"}}`)
	b.create("d", "/api/restaurants?status=draft", `{"name":"Draft"}`)
	b.create("v", "/api/reviews", fmt.Sprintf(`{"stars":4,"comment":"good","restaurant":%q}`, b.ids["r"]))
	b.create("m", "/api/meal-plans", fmt.Sprintf(`{"title":"Week","places":[%q],"steps":[{"name":"soup"}]}`,
		b.ids["r"]))
	b.do("PUT", "/api/setting", `{"data":{"siteName":"Site"}}`)
	b.do("PUT", "/api/homepage", `{"data":{"title":"Home"}}`)
}

// create creates a document and records its documentId under a letter.
func (b *bench) create(letter, path, data string) {
	b.t.Helper()
	b.ids[letter] = text(dig(b.do("POST", path, `{"data":`+data+`}`), "data.documentId"))
}

// do sends a request that must succeed and returns the response body.
func (b *bench) do(method, path, body string) any {
	b.t.Helper()
	status, answer := b.send(b.t, badRequest{method: method, path: path, body: body, headers: jsonType})
	if status >= 300 {
		b.t.Fatalf("%s %s %s answers %d: %v", method, path, body, status, answer)
	}
	return answer
}

// send sends a request. A letter in braces in the path, such as {r}, is replaced by the documentId recorded under it.
func (b *bench) send(t testing.TB, c badRequest) (status int, body any) {
	t.Helper()
	for letter, id := range b.ids {
		c.path = strings.ReplaceAll(c.path, "{"+letter+"}", id)
	}
	step := Step{As: c.as, Request: Request{Method: c.method, Path: c.path, Headers: c.headers}}
	if c.body != "" {
		step.Request.Raw = &c.body
		if c.method == "" {
			step.Request.Method = "POST"
		}
	}
	answer, err := b.target.Send(&step, Vars{})
	if err != nil {
		t.Fatalf("%s %.200s: %v", c.method, c.path, err)
	}
	return answer.Status, answer.Body
}

// content returns all documents in every version and locale, as a client with full access sees them.
func (b *bench) content() string {
	b.t.Helper()
	var all strings.Builder
	for _, path := range []string{"people", "categories", "restaurants", "reviews", "meal-plans", "menus", "setting",
		"homepage"} {
		for _, status := range []string{"draft", "published"} {
			locale := "*"
			if path == "setting" || path == "homepage" {
				locale = ""
			}
			answer := b.do("GET", "/api/"+path+"?populate=*&locale="+locale+"&status="+status, "")
			data, err := json.Marshal(answer)
			if err != nil {
				b.t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s %s %s\n", path, status, data)
		}
	}
	return all.String()
}
