package gateway_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// counterFiles define documents that count.
var counterFiles = map[string]string{
	"content-types/counter.yaml": `
kind: collectionType
info: {singularName: counter, pluralName: counters, displayName: Counter}
attributes:
  n: {type: integer}
`,
}

// tagOf returns the ETag of a document.
func (a *api) tagOf(path string) string {
	a.t.Helper()
	tag := a.want(200, "GET", path, "full", nil).header.Get("ETag")
	if !strings.Contains(tag, ".") {
		a.t.Fatalf("GET %s: ETag %q has no version", path, tag)
	}
	return tag
}

// TestPreconditionsProtectFromLostUpdates writes with If-Match and If-None-Match.
func TestPreconditionsProtectFromLostUpdates(t *testing.T) {
	a := serve(t, historyFiles)
	title := func(text string) object { return object{"data": object{"title": text}} }
	topic := a.want(201, "POST", "/api/topics", "full", object{"data": object{"name": "one"}}).at("data.documentId").(string)
	page, other := a.create("pages", "a"), a.create("pages", "b")
	path := "/api/pages/" + page
	refused := func(method, path string, body any, headers ...string) {
		t.Helper()
		if r := a.do(method, path, "full", body, headers...); r.status != 412 ||
			r.at("error.name") != "PreconditionFailedError" {
			t.Fatalf("%s %s with %v: %d %s", method, path, headers, r.status, r.text)
		}
	}

	t.Run("a tag serves one write", func(t *testing.T) {
		tag := a.tagOf(path)
		a.want(200, "PUT", "/api/pages/"+other, "full", title("elsewhere"))
		a.want(200, "PUT", path, "full", title("first"), "If-Match", `"other", `+tag)
		refused("PUT", path, title("second"), "If-Match", tag)
		refused("DELETE", path, nil, "If-Match", tag)
		for _, action := range []string{"publish", "unpublish", "discard-draft"} {
			refused("POST", path+"/actions/"+action, nil, "If-Match", tag)
		}
		refused("POST", path+"/actions/publish", object{"data": object{"publishAt": "2999-01-01T00:00:00Z"}},
			"If-Match", tag)
		items, _ := a.want(200, "GET", path+"/_history", "full", nil).at("data").([]any)
		refused("POST", path+"/actions/restore", object{"data": object{"seq": items[0].(object)["seq"]}}, "If-Match",
			tag)
		if got := a.want(200, "GET", path, "full", nil).at("data.title"); got != "first" {
			t.Errorf("the title is %v", got)
		}
	})
	t.Run("any answer with the document will do", func(t *testing.T) {
		for _, query := range []string{"", "?status=draft", "?fields=title", "?populate=*"} {
			a.want(200, "PUT", path, "full", title("by "+query), "If-Match", a.tagOf(path+query))
		}
		a.want(200, "PUT", path, "full", title("compressed"), "If-Match", strings.TrimSuffix(a.tagOf(path), `"`)+
			`-gzip"`)
	})
	t.Run("both versions count", func(t *testing.T) {
		tag := a.tagOf(path)
		a.want(200, "PUT", path+"?status=draft", "full", title("draft"))
		refused("PUT", path, title("lost"), "If-Match", tag)
		a.want(200, "POST", path+"/actions/publish", "full", nil, "If-Match", a.tagOf(path+"?status=draft"))
	})
	t.Run("relations count from either side", func(t *testing.T) {
		tag, of := a.tagOf(path), a.tagOf("/api/topics/"+topic)
		a.want(200, "PUT", "/api/topics/"+topic, "full",
			object{"data": object{"pages": object{"connect": []any{page}}}}, "If-Match", of)
		refused("PUT", path, title("lost"), "If-Match", tag)
		tag, of = a.tagOf(path), a.tagOf("/api/topics/"+topic)
		a.want(200, "PUT", path, "full", object{"data": object{"topics": []any{}}}, "If-Match", tag)
		refused("PUT", "/api/topics/"+topic, object{"data": object{"pages": []any{}}}, "If-Match", of)
	})
	t.Run("localizations are apart", func(t *testing.T) {
		tag := a.tagOf(path)
		refused("PUT", path+"?locale=fr", title("fr"), "If-Match", tag)
		refused("PUT", path+"?locale=fr", title("fr"), "If-Match", "*")
		a.want(200, "PUT", path+"?locale=fr", "full", title("fr"), "If-None-Match", "*")
		refused("PUT", path+"?locale=fr", title("fr"), "If-None-Match", "*")
		refused("PUT", path+"?locale=fr", title("fr"), "If-Match", tag)
		a.want(200, "PUT", path, "full", title("en"), "If-Match", tag)
		tag = a.tagOf(path)
		a.want(200, "PUT", path+"?locale=fr", "full", title("encore"))
		refused("DELETE", path+"?locale=*", nil, "If-Match", tag)
		a.want(204, "DELETE", path+"?locale=*", "full", nil, "If-Match", a.tagOf(path+"?locale=fr"))
		refused("DELETE", path, nil, "If-Match", "*")
		a.want(404, "PUT", path, "full", title("gone"), "If-Match", "*")
	})
	t.Run("what no document is known by", func(t *testing.T) {
		path := "/api/pages/" + other
		tag := a.tagOf(path)
		list := a.want(200, "GET", "/api/pages", "full", nil).header.Get("ETag")
		for _, match := range []string{`"other"`, "W/" + tag, list, "", strings.Trim(tag, `"`),
			a.tagOf("/api/topics/" + topic), strings.Replace(tag, ".", ".0", 1), tag[:len(tag)-1] + `0"`} {
			refused("PUT", path, title("lost"), "If-Match", match)
		}
		refused("POST", "/api/pages", title("new"), "If-Match", list)
		a.want(201, "POST", "/api/pages", "full", title("new"), "If-None-Match", "*")
		refused("PUT", path, title("lost"), "If-None-Match", "W/"+tag)
		a.want(200, "PUT", path, "full", title("changed"), "If-None-Match", `"other"`)
		a.want(400, "PUT", path, "full", object{"data": object{"nope": 1}}, "If-Match", `"other"`)
		a.want(403, "PUT", path, "", title("no permission"), "If-Match", `"other"`)
	})
	t.Run("where they are not looked at", func(t *testing.T) {
		_, user := a.register("ada")
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/api/_batch",
				object{"operations": []any{object{"op": "create", "type": "pages", "data": object{"title": "lost"}}}}},
			{"PUT", fmt.Sprint("/api/users/", user), object{"username": "eve"}},
			{"POST", "/graphql", object{"query": `mutation {createTopic(data: {name: "lost"}) {name}}`}},
		} {
			for _, condition := range [][]string{{"If-Match", `"other"`}, {"If-None-Match", "*"}} {
				if r := a.do(c.method, c.path, "full", c.body, condition...); r.status != 400 ||
					!strings.Contains(r.text, "If-Match") {
					t.Errorf("%s %s with %v: %d %s", c.method, c.path, condition, r.status, r.text)
				}
			}
		}
		for _, path := range []string{"/api/pages?filters[title]=lost", "/api/topics?filters[name]=lost"} {
			if list := a.want(200, "GET", path, "full", nil).at("data").([]any); len(list) != 0 {
				t.Errorf("%s: %v", path, list)
			}
		}
	})
	t.Run("single types", func(t *testing.T) {
		heading := object{"data": object{"heading": "h"}}
		refused("PUT", "/api/home", heading, "If-Match", "*")
		a.want(200, "PUT", "/api/home", "full", heading, "If-None-Match", "*")
		refused("PUT", "/api/home", heading, "If-None-Match", "*")
		tag := a.tagOf("/api/home")
		a.want(200, "PUT", "/api/home", "full", heading, "If-Match", tag)
		refused("DELETE", "/api/home", nil, "If-Match", tag)
		a.want(204, "DELETE", "/api/home", "full", nil, "If-Match", a.tagOf("/api/home"))
	})
}

// TestPreconditionsSeeNestedRelations deletes the targets of relations in components and dynamic zones. What shows them
// has changed with it, and what does not show them has not.
func TestPreconditionsSeeNestedRelations(t *testing.T) {
	a := serve(t, map[string]string{
		"components/seat/row.yaml":  "info: {displayName: Row}\nattributes:\n  seat: {type: component, component: seat.seat}\n",
		"components/seat/seat.yaml": "info: {displayName: Seat}\nattributes:\n  guest: {type: relation, relation: oneToOne, target: api::guest.guest}\n",
		"content-types/table.yaml": `
kind: collectionType
info: {singularName: table, pluralName: tables, displayName: Table}
attributes:
  name: {type: string}
  rows: {type: component, component: seat.row, repeatable: true}
  zone: {type: dynamiczone, components: [seat.seat]}
`,
		"content-types/guest.yaml": `
kind: collectionType
info: {singularName: guest, pluralName: guests, displayName: Guest}
attributes:
  name: {type: string}
`,
	})
	create := func(plural string, data object) string {
		return fmt.Sprint("/api/", plural, "/",
			a.want(201, "POST", "/api/"+plural, "full", object{"data": data}).at("data.documentId"))
	}
	for name, seated := range map[string]func(id string) object{
		"component": func(id string) object {
			return object{"rows": []any{object{},
				object{"seat": object{"guest": id}}}}
		},
		"zone": func(id string) object {
			return object{"zone": []any{object{"__component": "seat.seat", "guest": id}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			guest, stranger := create("guests", object{"name": "ada"}), create("guests", object{"name": "eve"})
			table := create("tables", seated(strings.TrimPrefix(guest, "/api/guests/")))
			rename := object{"data": object{"name": "round"}}
			tag := a.tagOf(table)
			a.want(204, "DELETE", stranger, "full", nil)
			a.want(200, "PUT", table, "full", rename, "If-Match", tag)
			tag = a.tagOf(table)
			a.want(204, "DELETE", guest, "full", nil)
			a.want(412, "PUT", table, "full", rename, "If-Match", tag)
			a.want(200, "PUT", table, "full", rename, "If-Match", a.tagOf(table))
		})
	}
}

// TestPreconditionsHoldWithoutLog writes to a server that keeps no log. It compares by the last change of the whole
// type.
func TestPreconditionsHoldWithoutLog(t *testing.T) {
	files := maps.Clone(counterFiles)
	files["config/server.yaml"] = "log: {keep: 0}\n"
	a := serve(t, files)
	create := func() any { return a.want(201, "POST", "/api/counters", "full", counted(0)).at("data.documentId") }
	one, other := create(), create()
	path := fmt.Sprint("/api/counters/", one)
	a.want(200, "PUT", path, "full", counted(1), "If-Match", a.tagOf(path))
	tag := a.tagOf(path)
	a.want(200, "PUT", fmt.Sprint("/api/counters/", other), "full", counted(1))
	a.want(412, "PUT", path, "full", counted(2), "If-Match", tag)
}

func counted(n int) object { return object{"data": object{"n": n}} }

// A swap is an operation of TestConcurrentPreconditionsLoseNoUpdate: a write of to if the counter is from, or a read,
// whose result is from.
type swap struct {
	reads    bool
	from, to int
}

// counterModel is a counter that is read, and changed by those who know its value.
var counterModel = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		op, n := input.(swap), state.(int)
		switch {
		case op.reads:
			return output == n, n
		case op.from == n:
			return output == true, op.to
		}
		return output == false, n
	},
}

// TestConcurrentPreconditionsLoseNoUpdate has 16 clients read a counter and write it plus one if it has not changed.
// Their history must be that of a counter.
func TestConcurrentPreconditionsLoseNoUpdate(t *testing.T) {
	a := serve(t, counterFiles)
	path := fmt.Sprint("/api/counters/", a.want(201, "POST", "/api/counters", "full", counted(0)).at("data.documentId"))
	const clients, turns = 16, 12
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		wg      sync.WaitGroup
	)
	began := time.Now()
	record := func(client int, op swap, do func() any) any {
		call := time.Since(began)
		output := do()
		end := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: client, Input: op, Call: int64(call), Output: output,
			Return: int64(end)})
		return output
	}
	for client := range clients {
		wg.Go(func() {
			for range turns {
				var tag string
				n := record(client, swap{reads: true}, func() any {
					r := a.do("GET", path, "full", nil)
					tag = r.header.Get("ETag")
					n, _ := r.at("data.n").(float64)
					return int(n)
				}).(int)
				record(client, swap{from: n, to: n + 1}, func() any {
					r := a.do("PUT", path, "full", counted(n+1), "If-Match", tag)
					if r.status != 200 && r.status != 412 {
						t.Errorf("PUT: %d %s", r.status, r.text)
					}
					return r.status == 200
				})
			}
		})
	}
	wg.Wait()
	succeeded, refused := 0, 0
	for _, op := range history {
		switch {
		case op.Output == true:
			succeeded++
		case op.Output == false:
			refused++
		}
	}
	if n := a.want(200, "GET", path, "full", nil).at("data.n"); n != float64(succeeded) {
		t.Errorf("the counter is %v after %d writes", n, succeeded)
	}
	if refused == 0 {
		t.Error("no write was refused: the clients did not meet")
	}
	if result := porcupine.CheckOperationsTimeout(counterModel, history, 20*time.Second); result != porcupine.Ok {
		t.Errorf("%d writes and %d refusals are not the history of a counter: %s", succeeded, refused, result)
	}
}
