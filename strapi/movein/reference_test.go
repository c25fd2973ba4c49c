package movein_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
	"lectern/strapi/remote"
)

// TestReferenceOrders compares the lists of a running Strapi with those of the projects that its archive and its
// content API make. LECTERN_REFERENCE is its URL, LECTERN_REFERENCE_TOKEN the key of a full-access token, and
// LECTERN_REFERENCE_ARCHIVE what `strapi export` wrote there.
func TestReferenceOrders(t *testing.T) {
	base, key := os.Getenv("LECTERN_REFERENCE"), os.Getenv("LECTERN_REFERENCE_TOKEN")
	source := os.Getenv("LECTERN_REFERENCE_ARCHIVE")
	if base == "" || source == "" {
		t.Skip("LECTERN_REFERENCE and LECTERN_REFERENCE_ARCHIVE are not set")
	}
	from, err := archive.Open(t.Context(), source, archive.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var schemas []*jsontree.Object
	for s, err := range from.Schemas(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, s.Data)
	}
	want := shownLists(t, base, key, schemas)
	read := t.TempDir()
	if _, err := remote.Read(t.Context(), read, remote.Options{URL: base, Token: key, Rate: 200}); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{source, remote.Archive(read)} {
		dir, _ := move(t, movein.Options{Source: way})
		moved, movedKey := servertest.ServeStored(t, dir)
		if diff := cmp.Diff(want, shownLists(t, moved, movedKey, schemas)); diff != "" {
			t.Errorf("%s: -Strapi +Lectern\n%s", way, diff)
		}
	}
	t.Logf("%d lists compared", len(want))
}

// shownLists returns the documents in each list of relations that a server shows, in all locales and statuses.
func shownLists(t *testing.T, base, key string, schemas []*jsontree.Object) map[string]string {
	lists := map[string]string{}
	for _, s := range schemas {
		info, _ := s.Value("info").(*jsontree.Object)
		if !strings.HasPrefix(s.Text("uid"), "api::") || s.Text("kind") != "collectionType" {
			continue
		}
		for _, status := range []string{"draft", "published"} {
			url := fmt.Sprintf("%s/api/%s?populate=*&locale=*&pagination[pageSize]=100&status=%s", base,
				info.Text("pluralName"), status)
			text := get(t, url, key)
			var answer struct{ Data []map[string]any }
			if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Data == nil {
				t.Fatalf("%s: %v %s", url, err, text)
			}
			for _, d := range answer.Data {
				for _, name := range slices.Sorted(maps.Keys(d)) {
					if names := namesIn(d[name]); names != "" && name != "localizations" {
						lists[fmt.Sprint(s.Text("uid"), " ", d["documentId"], " ", d["locale"], " ", status, " ",
							name)] = names
					}
				}
			}
		}
	}
	return lists
}

// namesIn returns the documents in a list with their locales, or the document that a value is, "" if it is none. Which
// of several localizations a relation to one shows does not count.
func namesIn(v any) (names string) {
	if o, ok := v.(map[string]any); ok && o["documentId"] != nil {
		return fmt.Sprint(o["documentId"])
	}
	list, _ := v.([]any)
	for _, item := range list {
		if o, ok := item.(map[string]any); ok && o["documentId"] != nil {
			names += fmt.Sprint(o["documentId"], " ", o["locale"], "\n")
		}
	}
	return names
}
