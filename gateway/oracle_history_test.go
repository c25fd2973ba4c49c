package gateway_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// storiedFiles are a project whose articles have hidden values of each kind. Only tokens of the type full-access may
// find vaults.
var storiedFiles = map[string]string{
	"content-types/article.yaml": strings.Replace(peopleFiles["content-types/article.yaml"], "type: password",
		"type: password, maxLength: 9", 1) + `
  vault: {type: relation, relation: manyToOne, target: api::vault.vault}
  subjects: {type: relation, relation: morphToMany}
  serial: {type: string, private: true, unique: true}
`,
	"content-types/vault.yaml": `
kind: collectionType
info: {singularName: vault, pluralName: vaults, displayName: Vault}
attributes:
  name: {type: string}
`,
	"components/page/part.yaml": peopleFiles["components/page/part.yaml"] + `
  vault: {type: relation, relation: manyToOne, target: api::vault.vault}
`,
	"config/permissions.yaml": `
roles:
  public:
    api::article.article: [find, findOne]
  authenticated:
    api::article.article: [find, findOne, history, restore]
  keeper:
    plugin::users-permissions.user: [me, find, findOne, count]
    api::article.article: [find, findOne, history]
`,
}

// A storied server has two articles with equal histories: the values differ in what is hidden from all callers, and in
// the article "linked" also in what is hidden from those who may not find vaults.
type storied struct {
	*api
	paths map[string]string   // of the articles
	seqs  map[string][]string // of their histories, newest first
}

// tell starts a server and writes the history of its articles. Every write of server 0 changes something hidden. Server
// 1 sends the same value as before in its place.
func tell(t *testing.T, i int) *storied {
	s := &storied{secretive(t, i, storiedFiles, "ann", "bob"), map[string]string{}, map[string][]string{}}
	var vaults []any
	for n := range 2 {
		vaults = append(vaults, s.want(201, "POST", "/api/vaults", "full",
			object{"data": object{"name": hiddenValues[i][n]}}).at("data.documentId"))
	}
	other := s.want(200, "GET", "/api/articles?sort=id", "full", nil).at("data").([]any)[0].(object)["documentId"]
	for _, name := range []string{"private", "linked"} {
		vault := func(n int) any { // as of write n
			switch {
			case name == "private":
				return nil
			case i == 0:
				return vaults[n%2]
			}
			return vaults[0]
		}
		value := func(n int) string { return hiddenValues[i][n*(1-i)%2] }
		part := func(n int) object {
			return object{"label": "part", "hidden": value(n), "vault": vault(n), "reader": 1}
		}
		inZone := func(n int) object {
			p := part(n)
			p["__component"] = "page.part"
			return p
		}
		subjects := func(n int) []any {
			list := []any{object{"documentId": other, "__type": "api::article.article"}}
			if id := vault(n); id != nil {
				list = append(list, object{"documentId": id, "__type": "api::vault.vault"})
			}
			return list
		}
		path := "/api/articles/" + s.want(201, "POST", "/api/articles", "full",
			object{"data": object{"title": name, "hidden": value(0), "code": value(0), "serial": name + value(0),
				"vault": vault(0), "subjects": subjects(0), "parts": []any{part(0)}, "zone": []any{inZone(0)},
				"related": []any{other}}}).at("data.documentId").(string)
		for _, write := range []object{
			{"hidden": value(1)}, {"code": value(1)}, {"serial": name + value(1)}, {"vault": vault(1)},
			{"subjects": subjects(1)},
			{"parts": []any{part(1)}}, {"zone": []any{inZone(1)}}, {"title": "told", "related": []any{}},
			{"serial": nil},
		} {
			s.want(200, "PUT", path, "full", object{"data": write})
		}
		s.paths[name] = path
	}
	s.want(204, "DELETE", fmt.Sprint("/api/vaults/", vaults[1]), "full", nil)
	s.want(204, "DELETE", s.paths["linked"], "full", nil)
	for name, path := range s.paths {
		for _, item := range s.want(200, "GET", path+"/_history", "full", nil).at("data").([]any) {
			s.seqs[name] = append(s.seqs[name], item.(object)["seq"].(string))
		}
	}
	return s
}

var seqs = regexp.MustCompile(`"seq":"[^"]+"`)

// TestHistoryShowsNoHiddenValues reads the histories of two servers whose contents differ in hidden values only, and
// their articles as of each entry, with random parameters. SEQ stands for a seq in a query.
func TestHistoryShowsNoHiddenValues(t *testing.T) {
	a, b := tell(t, 0), tell(t, 1)
	answers := map[string]int{}
	same := func(t rapid.TB, name, as, query string, n int) {
		ask := func(s *storied) reply {
			r := s.do("GET", s.paths[name]+strings.Replace(query, "SEQ", s.seqs[name][n], 1), as, nil)
			r.text = seqs.ReplaceAllString(r.text, "")
			return r
		}
		answers[fmt.Sprint(query[:2], equalReplies(t, name+query, as, ask(a), ask(b)))]++
	}
	callers := map[string][]string{"private": {"", "full", "readonly", "keeper", "reader"},
		"linked": {"", "keeper", "reader"}}
	for name, list := range callers {
		for _, as := range list {
			for _, query := range []string{"", "?status=published", "?status=draft", "?pagination[pageSize]=2",
				"?pagination[page]=2&pagination[pageSize]=3", "?fields=hidden"} {
				same(t, name, as, "/_history"+query, 0)
			}
			for n := range a.seqs[name] {
				for _, query := range []string{"", "&populate=*", "&fields=hidden", "&fields=title,code",
					"&populate=vault", "&populate[parts][populate]=*", "&populate=parts.vault",
					"&populate[zone][on][page.part][populate]=*", "&populate=subjects",
					"&populate[subjects][on][api::article.article]=true", "&populate[related][populate]=*"} {
					same(t, name, as, "?asOf=SEQ"+query, n)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			name := rapid.SampledFrom([]string{"private", "linked"}).Draw(t, "article")
			as := rapid.SampledFrom(callers[name]).Draw(t, "as")
			pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawParameter(t, "article", "", 3) }),
				1, 2).Draw(t, "pairs")
			same(t, name, as, "?asOf=SEQ&"+strings.Join(pairs, "&"),
				rapid.IntRange(0, len(a.seqs[name])-1).Draw(t, "seq"))
		}
	})
	for _, want := range []string{"/_200", "/_400", "/_403", "?a200", "?a400", "?a403", "?a404"} {
		if answers[want] == 0 {
			t.Errorf("no answer was %s: %v", want, answers)
		}
	}
}

// TestRestoreShowsNoHiddenValues restores versions, at last one whose hidden value another article has taken since. The
// refusal does not show the value.
func TestRestoreShowsNoHiddenValues(t *testing.T) {
	a, b := tell(t, 0), tell(t, 1)
	restore := func(i int, s *storied) reply {
		list := s.seqs["private"]
		s.want(200, "POST", s.paths["private"]+"/actions/restore", "reader", object{"data": object{"seq": list[1]}})
		s.want(200, "PUT", s.paths["private"], "full", object{"data": object{"serial": nil}})
		s.want(201, "POST", "/api/articles", "full",
			object{"data": object{"title": "thief", "serial": "private" + hiddenValues[i][0]}})
		return s.do("POST", s.paths["private"]+"/actions/restore", "reader",
			object{"data": object{"seq": list[len(list)-1]}})
	}
	x, y := restore(0, a), restore(1, b)
	if equalReplies(t, "restore", "reader", x, y) != 400 || !strings.Contains(x.text, "unique") {
		t.Errorf("restored although a value is taken: %d %s", x.status, x.text)
	}
}
