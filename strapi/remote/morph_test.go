package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/strapi/archive"
	"lectern/strapi/remote"
)

// morphSchemas are those of notes, which have no drafts, with links to rows of any type.
const morphSchemas = `[
{"uid":"api::note.note","modelType":"contentType","kind":"collectionType","info":{"singularName":"note","pluralName":"notes"},
 "options":{"draftAndPublish":false},"attributes":{"one":{"type":"relation","relation":"morphToOne"},"about":{"type":"relation","relation":"morphToMany"}}},
{"uid":"api::tag.tag","modelType":"contentType","kind":"collectionType","info":{"singularName":"tag","pluralName":"tags"},
 "options":{"draftAndPublish":true},"attributes":{"name":{"type":"string"}}}]`

// A morphServer answers as Strapi does: polymorphic relations show the version that was linked, whichever status is
// asked for. Its tags are a, a draft alone with the id 1, and b, whose draft has the id 2 and whose published version
// has the id 3.
type morphServer struct{}

func (morphServer) RoundTrip(r *http.Request) (*http.Response, error) {
	const (
		a = `{"id":1,"documentId":"a","__type":"api::tag.tag"}`
		b = `{"id":3,"documentId":"b","__type":"api::tag.tag"}`
	)
	tags := []string{`{"id":1,"documentId":"a","name":"A"}`, `{"id":2,"documentId":"b","name":"B"}`}
	if r.URL.Query().Get("status") == "published" {
		tags = []string{`{"id":3,"documentId":"b","name":"B"}`}
	}
	rows := map[string][]string{
		"/api/notes": {`{"id":1,"documentId":"n","one":` + a + `,"about":[` + b + `,` + a + `]}`},
		"/api/tags":  tags,
	}[r.URL.Path]
	total := len(rows)
	if after := r.URL.Query().Get("filters[id][$gt]"); after != "" && after != "0" {
		rows = nil
	}
	body := "[]"
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/users-permissions/"):
		body = `{"roles":[]}`
	case total > 0:
		body = fmt.Sprintf(`{"data":[%s],"meta":{"pagination":{"total":%d}}}`, strings.Join(rows, ","), total)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestPolymorphicLinks reads each link of a polymorphic relation once, to the version that was linked, and reports none
// as lost.
func TestPolymorphicLinks(t *testing.T) {
	dir := t.TempDir()
	report, err := remote.Read(t.Context(), dir, remote.Options{URL: "http://strapi.example", Token: "key",
		Schemas: schemasOf(t, morphSchemas), Clock: newFakeClock(),
		Transport: morphServer{}, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range report.Notes {
		if strings.HasPrefix(n.About, "api::note.note") {
			t.Errorf("the report says: %s", n)
		}
	}
	a, err := archive.Open(t.Context(), remote.Archive(dir), archive.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var got []archive.Link
	for l, err := range a.Links(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	note := func(field string, pos float64) archive.End {
		return archive.End{Type: "api::note.note", Field: field, ID: 1, Pos: pos}
	}
	want := []archive.Link{
		{Kind: "relation.morph", Relation: "morphToOne", Left: note("one", 1),
			Right: archive.End{Type: "api::tag.tag", ID: 1}},
		{Kind: "relation.morph", Relation: "morphToMany", Left: note("about", 1),
			Right: archive.End{Type: "api::tag.tag", ID: 3}},
		{Kind: "relation.morph", Relation: "morphToMany", Left: note("about", 3),
			Right: archive.End{Type: "api::tag.tag", ID: 1}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("links\ngot  %v\nwant %v", got, want)
	}
}
