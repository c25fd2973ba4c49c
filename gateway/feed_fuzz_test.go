package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/changes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// FuzzChanges sends any query string to the change feed, unless that may have it wait. The answer is a page of changes
// in the order in which they happened, no more than were asked for, or says why the query is refused.
func FuzzChanges(f *testing.F) {
	for _, query := range []string{
		"since=0&limit=3&types=restaurant,menu&types[1]=api::review.review&locale=en&status=draft",
		"limit=10001", "limit[]=1",
		"include=document&fields[0]=name&populate[menu][fields]=*&locale=*", "fields=name", "types=,&locale= ",
		"types[a]=b", "Since=1",
		"since=0123456789abcdef-3", "limit=2", "limit=2&include=document", "types=category&status=draft", "include=document&populate=*&types=restaurants&limit=10000",
	} {
		f.Add(query)
	}
	p, err := Open("../testdata/conformance/projects/kitchen",
		Options{Ephemeral: true, Log: slog.New(slog.DiscardHandler)})
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
	for i := range 5 {
		data := jsontree.ObjectOf("name", "category "+strconv.Itoa(i))
		if err := p.Documents().Create(f.Context(), documents.Write{
			Type: p.Definition().Model.Type("api::category.category"), Status: store.Published, Data: data,
			Access: permission.FullAccess,
		}); err != nil {
			f.Fatal(err)
		}
	}
	positions := p.generation.Load().positions
	f.Fuzz(func(t *testing.T, query string) {
		if strings.Contains(query, "feed") {
			return // it may wait
		}
		r := httptest.NewRequest(http.MethodGet, "/api/_changes", nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		var err error
		switch w.Code {
		case http.StatusOK:
			err = checkPage(w.Body.Bytes(), r.URL.Query().Get("limit"), positions.Parse)
		case http.StatusBadRequest:
			err = checkRefusal(w.Body.Bytes())
		default:
			err = errors.New("not a status of the change feed")
		}
		if err != nil {
			t.Errorf("%q: %v: %d %s", query, err, w.Code, w.Body)
		}
	})
}

// checkPage checks a page of changes: it holds no more than limit says, and each change has a later position than the
// one before it.
func checkPage(body []byte, limit string, parse func(string) (changes.Position, error)) error {
	var page struct {
		Results []struct{ Change, Type, DocumentID, Seq string }
		LastSeq string `json:"last_seq"`
		Pending *int
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return err
	}
	if page.Results == nil || page.Pending == nil {
		return errors.New("not a page of changes")
	}
	if most, err := strconv.Atoi(limit); err == nil && len(page.Results) > most {
		return fmt.Errorf("%d changes", len(page.Results))
	}
	var before changes.Position
	var seqs []string
	for i, c := range page.Results {
		at, err := parse(c.Seq)
		if err != nil || c.Change == "" || c.Type == "" || c.DocumentID == "" {
			return fmt.Errorf("change %d: %+v: %v", i, c, err)
		}
		if at.Sequence < before.Sequence || slices.Contains(seqs, c.Seq) {
			return fmt.Errorf("change %d is not after those before it", i)
		}
		before, seqs = at, append(seqs, c.Seq)
	}
	_, err := parse(page.LastSeq)
	return err
}

// checkRefusal checks that an answer is the error 400 of a query that cannot be used.
func checkRefusal(body []byte) error {
	var answer struct {
		Error struct {
			Status        int
			Name, Message string
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if e := answer.Error; e.Status != http.StatusBadRequest || e.Name != "ValidationError" || e.Message == "" {
		return errors.New("not the error of a query")
	}
	return nil
}
