package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/shell"
	"lectern/store/evolve"
)

// These are files before and after an edit that renames a type, an attribute of it, and a relation to it.
const (
	tagFile = "kind: collectionType\ninfo: {singularName: tag, pluralName: tags, displayName: T}\nattributes:\n  name: {type: string}\n  colour: {type: string}\n" +
		"  dishes: {type: relation, relation: manyToMany, target: api::dish.dish, mappedBy: tags}\n"
	labelFile = "kind: collectionType\ninfo: {singularName: label, pluralName: labels, displayName: L}\nattributes:\n  name: {type: string}\n  hue: {type: string}\n" +
		"  dishes: {type: relation, relation: manyToMany, target: api::dish.dish, mappedBy: labels}\n"
	dishFile = "kind: collectionType\ninfo: {singularName: dish, pluralName: dishes, displayName: D}\nattributes:\n  name: {type: string}\n" +
		"  %s: {type: relation, relation: manyToMany, target: api::%s, inversedBy: dishes}\n"

	renameAll = "rename-type api::tag.tag api::label.label rename-attribute api::dish.dish.tags labels rename-attribute api::label.label.colour hue"
)

// TestRenamesInOneEditLoseNothing renames a type together with an attribute and the relation to it, while 900 links
// exist. No suggested command removes a link, one call carries out all renames, and all links exist afterwards.
func TestRenamesInOneEditLoseNothing(t *testing.T) {
	const dishes, each = 300, 3
	e := newEditing(t)
	e.write("content-types/tag.yaml", tagFile)
	e.write("content-types/dish.yaml", fmt.Sprintf(dishFile, "tags", "tag.tag"))
	for status := 0; status != 200; status, _ = e.do(t.Context(), "GET", "/api/dishes?populate=tags", nil) {
		_ = e.awaitReload() // a reload may read the first of the two files alone
	}
	var tags [each + 1]string
	for i := range tags {
		tags[i] = e.create("/api/tags", object{"name": fmt.Sprint("tag ", i), "colour": "red"})
	}
	for i := range dishes {
		e.create("/api/dishes",
			object{"name": fmt.Sprint("dish ", i), "tags": []string{tags[i%4], tags[(i+1)%4], tags[(i+2)%4]}})
	}
	links := func(path, list string) (n int) {
		t.Helper()
		for page := 1; ; page++ {
			status, body := e.do(t.Context(), "GET",
				fmt.Sprintf("%s?populate=%s&pagination[pageSize]=100&pagination[page]=%d", path, list, page), nil)
			var answer struct{ Data []map[string]json.RawMessage }
			if err := json.Unmarshal(body, &answer); err != nil || status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			if len(answer.Data) == 0 {
				return n
			}
			for _, d := range answer.Data {
				var targets []json.RawMessage
				e.must(json.Unmarshal(d[list], &targets))
				n += len(targets)
			}
		}
	}
	if n := links("/api/dishes", "tags"); n != dishes*each {
		t.Fatalf("%d links", n)
	}

	// Three files change. Reloads that read only some of the changes are refused.
	e.must(os.Remove(e.path("content-types/tag.yaml")))
	e.write("content-types/label.yaml", labelFile)
	e.write("content-types/dish.yaml", fmt.Sprintf(dishFile, "labels", "label.label"))
	var refused *evolve.DefinitionError
	for refused == nil || refused.AtOnce() == "" {
		errors.As(e.awaitReload(), &refused)
	}
	command := "lectern migrate " + shell.Path(e.dir) + " "
	if refused.AtOnce() != command+renameAll {
		t.Errorf("offered is %s", refused.AtOnce())
	}
	d, err := gateway.Load(e.dir, nil)
	e.must(err)
	_, checked := gateway.Directory(e.dir, gateway.Options{}).Foresee(t.Context(), d.Definition)
	for what, text := range map[string]string{"the reload": refused.Error(), "check": checked.Error(),
		"the log": e.log()} {
		if strings.Contains(text, "drop-") || !strings.Contains(text, command+renameAll) {
			t.Errorf("%s says %s", what, text)
		}
	}

	// A migration with only one of the renames is refused with an error that says so, and so is one that removes
	// content.
	e.refuse("nothing was done: after rename-type api::tag.tag api::label.label there is more to be settled in the same call", "rename-type", "api::tag.tag", "api::label.label")
	e.refuse("drop-links api::dish.dish.tags: cannot be done while the server runs", "drop-links",
		"api::dish.dish.tags")
	e.refuse("rename-type api::tag.tag api::lable.lable: cannot be done while the server runs: the definitions have no api::lable.lable",
		"rename-type", "api::tag.tag", "api::lable.lable")
	ms, err := evolve.ParseMigrations(strings.Fields(renameAll))
	e.must(err)
	removed, err := gateway.Directory(e.dir, gateway.Options{}).Migrate(ms, nil)
	if err != nil || removed != (evolve.Removed{}) {
		t.Fatalf("%+v, %v", removed, err)
	}
	if n := links("/api/dishes", "labels"); n != dishes*each {
		t.Errorf("%d links of %d are left", n, dishes*each)
	}
	if n := links("/api/labels", "dishes"); n != dishes*each {
		t.Errorf("%d links of %d are left at their other end", n, dishes*each)
	}

	// A command that was suggested before the renames would now remove all links. The stopped server refuses it.
	e.close()
	e.refuse("drop-links api::dish.dish.labels: nothing is left to settle here", "drop-links", "api::dish.dish.labels")
	e.must(os.WriteFile(filepath.Join(e.dir, "content-types", "broken.yaml"), []byte("kind: nothing\n"), 0o644))
	e.refuse("cannot be told while its files have problems", "drop-links", "api::dish.dish.labels")
}

// create creates a document and returns its documentId.
func (e *editing) create(path string, data object) string {
	e.Helper()
	status, body := e.do(e.Context(), "POST", path, object{"data": data})
	var answer struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal(body, &answer); status != 201 || err != nil {
		e.Fatalf("%d %s", status, bytes.TrimSpace(body))
	}
	return answer.Data.DocumentID
}

// refuse carries out a migration and expects an error that contains want.
func (e *editing) refuse(want string, words ...string) {
	e.Helper()
	ms, err := evolve.ParseMigrations(words)
	e.must(err)
	if _, err := gateway.Directory(e.dir, gateway.Options{}).Migrate(ms, nil); err == nil ||
		!strings.Contains(err.Error(), want) {
		e.Errorf("%v: %v, want %s", words, err, want)
	}
}
