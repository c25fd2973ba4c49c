package gateway_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"testing"

	"lectern/gateway"
)

// TestClientKeepsACopyByTheFeed lets a client keep a copy of documents by the change feed, while others write, while
// the client is killed after it has stored a part of a page, and while the server is started anew. In the end the copy
// equals the server's list.
func TestClientKeepsACopyByTheFeed(t *testing.T) {
	dir := writeProject(t, with(map[string]string{"content-types/note.yaml": changesFiles["content-types/note.yaml"]}))
	rnd := rand.New(rand.NewPCG(1, 2))
	have, since := map[string]string{}, ""
	for range 4 {
		serveKept(t, dir, gateway.Options{}, func(a *api) {
			ids := a.titles()
			for range 40 {
				a.changeNotes(rnd, ids)
				since = a.followPart(rnd, have, since)
			}
		})
	}
	serveKept(t, dir, gateway.Options{}, func(a *api) {
		for pending := true; pending; {
			since, pending = a.follow(have, since, 7, -1)
		}
		if want := a.titles(); !maps.Equal(have, want) || len(want) == 0 {
			t.Errorf("the copy is %v, want %v", have, want)
		}
	})
}

// changeNotes writes some notes. ids are those that there are.
func (a *api) changeNotes(rnd *rand.Rand, ids map[string]string) {
	a.t.Helper()
	for range rnd.IntN(5) {
		title := fmt.Sprint("title ", rnd.IntN(1000))
		id := ""
		for id = range ids {
			break
		}
		switch n := rnd.IntN(4); {
		case id == "" || n < 2:
			ids[a.create("notes", title)] = title
		case n == 2:
			a.want(200, "PUT", "/api/notes/"+id, "full", object{"data": object{"title": title}})
		default:
			a.want(204, "DELETE", "/api/notes/"+id, "full", nil)
			delete(ids, id)
		}
	}
}

// followPart reads a page, and is killed now and then after it has stored a part of it.
func (a *api) followPart(rnd *rand.Rand, have map[string]string, since string) string {
	a.t.Helper()
	stores := -1
	if rnd.IntN(3) == 0 {
		stores = rnd.IntN(3)
	}
	since, _ = a.follow(have, since, 1+rnd.IntN(8), stores)
	return since
}

// follow carries out the changes of a page, or only the first ones unless stores is negative, and returns the position
// behind them.
func (a *api) follow(have map[string]string, since string, limit, stores int) (last string, pending bool) {
	a.t.Helper()
	r := a.want(200, "GET", fmt.Sprint("/api/_changes?include=document&types=notes&limit=", limit, "&since=",
		url.QueryEscape(since)), "full", nil)
	if r.at("reset") != nil {
		a.t.Fatalf("after %s: %s", since, r.text)
	}
	results, _ := r.at("results").([]any)
	for i, v := range results {
		if i == stores {
			return since, true
		}
		o := v.(object)
		if id := o["documentId"].(string); o["change"] == "delete" {
			delete(have, id)
		} else {
			have[id] = o["document"].(object)["title"].(string)
		}
		since = o["seq"].(string)
	}
	return r.at("last_seq").(string), r.at("pending") != 0.0
}

// titles lists the notes with their titles.
func (a *api) titles() map[string]string {
	a.t.Helper()
	list := map[string]string{}
	rows, _ := a.want(200, "GET", "/api/notes?pagination[pageSize]=100", "full", nil).at("data").([]any)
	for _, v := range rows {
		o := v.(object)
		list[o["documentId"].(string)] = o["title"].(string)
	}
	return list
}
