package gateway_test

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The tests in this file look for oracles: answers that reveal hidden values indirectly. TestQueriesShowNoHiddenValues
// sends the same queries, with every parameter at any nesting, to two servers whose contents differ in hidden values
// only, and expects equal answers.

// hiddenValues are the hidden values of each server. They have the same length and letter case, but sort in opposite
// order.
var hiddenValues = [2][2]string{{"alpha-one", "beta-two!"}, {"omega-two", "beta-one?"}}

// subscribable are a project with subscriptions.
var subscribable = map[string]string{"config/plugins.yaml": peopleFiles["config/plugins.yaml"] +
	"graphql: {config: {subscriptions: true}}\n"}

// secretive starts a server of files with two users of these names and an article of each. Their hidden values are
// hiddenValues[i].
func secretive(t *testing.T, i int, files map[string]string, names ...string) *api {
	a := serve(t, files)
	for n, name := range names {
		value := hiddenValues[i][n]
		_, id := a.register(name)
		a.want(200, "PUT", userPath(id), "full",
			object{"password": value, "resetPasswordToken": value, "confirmationToken": value})
		a.want(201, "POST", "/api/articles", "full", object{"data": object{
			"title": fmt.Sprint("by ", n), "hidden": value, "code": value, "author": id,
			"parts": []any{object{"label": "part", "hidden": value, "reader": id}},
			"zone":  []any{object{"__component": "page.part", "label": "part", "hidden": value, "reader": id}},
		}})
	}
	list := a.want(200, "GET", "/api/articles?fields=title", "full", nil).at("data").([]any)
	first, second := list[0].(object)["documentId"], list[1].(object)["documentId"]
	a.want(200, "PUT", fmt.Sprint("/api/articles/", first), "full", object{"data": object{"related": []any{second}}})
	// The role keeper may find users but not roles; the role reader may find neither.
	for _, who := range []struct{ name, role string }{{"keeper", "keeper"}, {"reader", "authenticated"}} {
		jwt, id := a.register(who.name)
		a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID(who.role)})
		a.Tokens[who.name] = jwt
	}
	return a
}

// These are the attributes with hidden values, and the relations from each kind of document to others.
var (
	hiddenIn = map[string][]string{
		"article": {"hidden", "code"}, "user": {"password", "resetPasswordToken", "confirmationToken"},
		"part": {"hidden"},
		"role": {}, "permission": {"declared"},
	}
	shownIn = map[string][]string{
		"article": {"title", "id"}, "user": {"username", "email", "blocked"}, "part": {"label"},
		"role": {"name", "type"}, "permission": {"action"},
	}
	leadsTo = map[string]map[string]string{
		"article":    {"author": "user", "parts": "part", "zone": "part", "related": "article", "relating": "article"},
		"user":       {"role": "role"},
		"part":       {"reader": "user"},
		"role":       {"users": "user", "permissions": "permission"},
		"permission": {"role": "role"},
	}
	comparisons = []string{"$eq", "$eqi", "$ne", "$nei", "$lt", "$lte", "$gt", "$gte", "$in", "$notIn", "$contains",
		"$notContains", "$containsi", "$notContainsi",
		"$startsWith", "$startsWithi", "$endsWith", "$endsWithi", "$null", "$notNull", "$between", ""}
	searches = []string{"alpha-one", "omega-two", "$2a$", "-", "o-!", "sha256:", "e?", "by 0", "ann@", "zoe@",
		"@people"} // characters that no documentId contains by chance
	guesses = []string{"alpha-one", "omega-two", "alpha", "a", "o", "two", "ONE", "beta", "true", "0", "$2a$", "$2",
		"", "sha256:", "m", "ann", "zoe", "bob", "1", "2"}
)

// drawQuestion draws a random query: an entry point, and parameters that refer to something hidden.
func drawQuestion(t *rapid.T) (path, as string) {
	as = rapid.SampledFrom([]string{"", "full", "readonly", "keeper", "reader"}).Draw(t, "as")
	kind := rapid.SampledFrom([]string{"article", "user"}).Draw(t, "kind")
	path = "/api/articles"
	if kind == "user" {
		path = rapid.SampledFrom(
			[]string{"/api/users", "/api/users/count", "/api/users/me", "/api/users/1", "/api/users/2"}).Draw(t, "path")
	}
	pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawParameter(t, kind, "", 3) }), 1, 3).Draw(
		t, "pairs")
	return path + "?" + strings.Join(pairs, "&"), as
}

// drawParameter draws one parameter of a query for a kind of document. within is the prefix of its key inside a
// populate.
func drawParameter(t *rapid.T, kind, within string, depth int) string {
	key := func(parts ...string) string {
		if within == "" {
			return parts[0] + brackets(parts[1:])
		}
		return within + brackets(parts)
	}
	way, last := drawWay(t, kind, depth)
	names := hiddenIn[last]
	if len(names) == 0 || rapid.IntRange(0, 4).Draw(t, "shown") == 0 {
		names = append(append([]string(nil), names...), shownIn[last]...)
	}
	leaf := rapid.SampledFrom(names).Draw(t, "leaf")
	value := url.QueryEscape(rapid.SampledFrom(guesses).Draw(t, "value"))
	search := key("_q") + "=" + url.QueryEscape(rapid.SampledFrom(searches).Draw(t, "search"))
	switch rapid.SampledFrom([]string{"filters", "filters", "filters", "sort", "fields", "populate", "search",
		"inner"}).Draw(t, "parameter") {
	case "filters":
		parts := append([]string{"filters"}, drawLogic(t)...)
		for _, step := range way {
			parts = append(append(parts, step), drawLogic(t)...)
		}
		parts = append(parts, leaf)
		if op := rapid.SampledFrom(comparisons).Draw(t, "op"); op != "" {
			parts = append(parts, op)
		}
		return key(parts...) + "=" + value
	case "sort":
		dotted := strings.Join(append(way, leaf), ".")
		return rapid.SampledFrom([]string{
			key("sort") + "=" + dotted, key("sort") + "=" + dotted + ":desc", key("sort", "0") + "=" + dotted + ":DESC",
			key(append(append([]string{"sort"}, way...), leaf)...) + "=asc", key("sort") + "=id," + dotted,
		}).Draw(t, "sort")
	case "fields":
		return rapid.SampledFrom([]string{key("fields") + "=" + leaf, key("fields", "0") + "=" + leaf, key("fields") +
			"=id," + leaf, key("fields", "1") + "=" + leaf}).Draw(t, "fields")
	case "populate":
		dotted := strings.Join(append(way, leaf), ".")
		return rapid.SampledFrom([]string{key("populate") + "=" + dotted, key("populate", "0") + "=" + dotted,
			key("populate") + "=*", key("populate", leaf) + "=true",
			key("populate") + "=" + strings.Join(way, ".")}).Draw(t, "populate")
	case "search":
		return search
	}
	if len(leadsTo[kind]) == 0 || depth == 0 {
		return search
	}
	step := rapid.SampledFrom(sortedKeys(leadsTo[kind])).Draw(t, "step")
	inner := key("populate", step)
	if step == "zone" {
		inner = key("populate", step, "on", "page.part")
	}
	return drawParameter(t, leadsTo[kind][step], inner, depth-1)
}

// drawWay draws a path of relations from one kind of document to another.
func drawWay(t *rapid.T, kind string, most int) (way []string, last string) {
	for range rapid.IntRange(0, most).Draw(t, "steps") {
		if len(leadsTo[kind]) == 0 {
			break
		}
		step := rapid.SampledFrom(sortedKeys(leadsTo[kind])).Draw(t, "relation")
		way, kind = append(way, step), leadsTo[kind][step]
	}
	return way, kind
}

func drawLogic(t *rapid.T) []string {
	return rapid.SampledFrom([][]string{nil, nil, nil, {"$and", "0"}, {"$or", "0"}, {"$or", "1"}, {"$not"},
		{"$not", "$or", "0"}}).Draw(t, "logic")
}

func brackets(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("[" + url.QueryEscape(p) + "]")
	}
	return b.String()
}

// differing matches the parts of an answer that always differ between the servers.
var differing = regexp.MustCompile(`"documentId":"[a-z0-9]{24}"|"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)

func TestQueriesShowNoHiddenValues(t *testing.T) {
	a, b := secretive(t, 0, subscribable, "ann", "bob"), secretive(t, 1, subscribable, "ann", "bob")
	answers := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			path, as := drawQuestion(t)
			answers[sameAnswer(t, a, b, path, as)]++
		}
	})
	if answers[200] == 0 || answers[400] == 0 || answers[403] == 0 {
		t.Errorf("the questions were all answered alike: %v", answers)
	}
}

// TestRelationsToUsersShowNothing queries two servers as callers who may not find users. The users of the two servers
// differ in names, addresses, roles and number.
func TestRelationsToUsersShowNothing(t *testing.T) {
	a, b := secretive(t, 0, subscribable, "ann", "bob"), secretive(t, 1, subscribable, "zoe", "abe")
	b.register("another")
	b.want(200, "PUT", userPath(1), "full", object{"role": b.roleID("public"), "blocked": true, "confirmed": false})
	answers := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			as := rapid.SampledFrom([]string{"", "reader"}).Draw(t, "as")
			pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawParameter(t, "article", "", 3) }),
				1, 3).Draw(t, "pairs")
			answers[sameAnswer(t, a, b, "/api/articles?"+strings.Join(pairs, "&"), as)]++
		}
	})
	if answers[200] == 0 || answers[400] == 0 {
		t.Errorf("the questions were all answered alike: %v", answers)
	}
	for _, as := range []string{"", "reader"} {
		for _, query := range []string{"populate=author", "populate=*", "populate[parts][populate]=reader",
			"populate[parts][populate]=*",
			"populate[zone][on][page.part][populate]=*", "populate[related][populate][author]=true",
			"populate[0]=related.author", "populate[author][count]=true"} {
			r := a.want(200, "GET", "/api/articles?"+query, as, nil)
			if strings.Contains(r.text, "author") || strings.Contains(r.text, "reader") ||
				strings.Contains(r.text, `"ann"`) { // a documentId may have the letters
				t.Errorf("%s shows %s", query, r.text)
			}
		}
	}
}

// TestFeedShowsNoHiddenValues reads the change feed of two servers whose contents differ in hidden values only, from
// the beginning and after a write that changes nothing but them. The servers tell the same, the position and times
// aside.
func TestFeedShowsNoHiddenValues(t *testing.T) {
	a, b := secretive(t, 0, subscribable, "ann", "bob"), secretive(t, 1, subscribable, "ann", "bob")
	positions := regexp.MustCompile(`"(seq|last_seq)":"[^"]+"`)
	sinces := map[*api]map[string]string{a: {}, b: {}}
	read := func(s *api, query, as string) string {
		r := s.do("GET", "/api/_changes?"+query+"&since="+sinces[s][as], as, nil)
		if r.status != 200 && r.status != 400 {
			t.Fatalf("%s as %q: %d %s", query, as, r.status, r.text)
		}
		for _, values := range hiddenValues {
			for _, v := range values {
				if strings.Contains(r.text, v) {
					t.Errorf("%s as %q shows %q: %s", query, as, v, r.text)
				}
			}
		}
		return fmt.Sprint(r.status, positions.ReplaceAllString(differing.ReplaceAllString(r.text, ""), ""))
	}
	answers := map[bool]int{}
	for _, round := range []string{"at first", "after a write"} {
		for _, as := range []string{"", "full", "readonly", "keeper", "reader"} {
			for _, query := range []string{"limit=1", "", "include=document", "include=document&populate=*",
				"include=document&populate[author]=*",
				"include=document&fields=hidden", "include=document&populate=hidden",
				"include=document&populate[parts][fields]=hidden", "filters[hidden]=alpha-one"} {
				x, y := read(a, query, as), read(b, query, as)
				if x != y {
					t.Errorf("%s, %s as %q: the feed tells\n%s\nand, where the hidden values are others,\n%s", round,
						query, as, x, y)
				}
				answers[strings.HasPrefix(x, "200")]++
			}
			for s := range sinces {
				sinces[s][as] = s.changes("", as).last
			}
		}
		for i, s := range []*api{a, b} {
			id := s.want(200, "GET", "/api/articles?sort=id", "full", nil).at("data").([]any)[0].(object)["documentId"]
			s.want(200, "PUT", fmt.Sprint("/api/articles/", id), "full",
				object{"data": object{"hidden": hiddenValues[i][1], "code": hiddenValues[i][1]}})
		}
	}
	if answers[true] == 0 || answers[false] == 0 {
		t.Errorf("the questions were all answered alike: %v", answers)
	}
}

// sameAnswer sends a query to both servers, expects equal answers and returns their status.
func sameAnswer(t *rapid.T, a, b *api, path, as string) int {
	return equalReplies(t, "GET "+path, as, a.do("GET", path, as, nil), b.do("GET", path, as, nil))
}

// equalReplies expects that the answers of two servers to a request are equal and show nothing hidden, and returns
// their status.
func equalReplies(t rapid.TB, request, as string, x, y reply) int {
	left, right := differing.ReplaceAllString(x.text, ""), differing.ReplaceAllString(y.text, "")
	if x.status != y.status || left != right {
		t.Fatalf("%s as %q answers\n%d %s\nand, where the hidden values are others,\n%d %s", request, as, x.status,
			left, y.status, right)
	}
	if x.status >= 500 {
		t.Fatalf("%s as %q: %d", request, as, x.status)
	}
	for _, values := range hiddenValues {
		for _, v := range values {
			if strings.Contains(x.text, v) && !strings.Contains(request, v) {
				t.Fatalf("%s as %q shows %q: %s", request, as, v, x.text)
			}
		}
	}
	return x.status
}

// TestHiddenFieldsAreRefusedEverywhere uses each hidden field in each parameter once, so that the coverage does not
// depend on chance.
func TestHiddenFieldsAreRefusedEverywhere(t *testing.T) {
	a := secretive(t, 0, subscribable, "ann", "bob")
	for _, as := range []string{"full", "readonly", "keeper"} {
		for path, hidden := range map[string][]string{
			"/api/users": {"password", "resetPasswordToken", "confirmationToken"},
			"/api/articles": {"hidden", "code", "author.password", "author.resetPasswordToken",
				"author.confirmationToken", "parts.hidden", "parts.reader.password", "related.author.password",
				"related.related.hidden"},
		} {
			for _, field := range hidden {
				bracketed := brackets(strings.Split(field, "."))
				for _, query := range []string{
					"filters" + bracketed + "=x", "filters" + bracketed + "[$contains]=x", "filters" + bracketed +
						"[$notNull]=true",
					"filters[$or][0]" + bracketed + "[$startsWith]=x", "filters[$not]" + bracketed + "[$gt]=x",
					"sort=" + field, "sort" + bracketed + "=asc", "sort=id," + field,
				} {
					if r := a.do("GET", path+"?"+query, as, nil); r.status != 400 {
						t.Errorf("GET %s?%s as %s: %d %s", path, query, as, r.status, r.text)
					}
				}
				if !strings.Contains(field, ".") {
					a.want(400, "GET", path+"?fields="+field, as, nil)
					a.want(400, "GET", path+"?populate="+field, as, nil)
				}
			}
			for _, v := range append(hiddenValues[0][:], "$2a$", "sha256:") {
				list := a.want(200, "GET", path+"?_q="+url.QueryEscape(v), as, nil)
				rows, _ := list.body.([]any)
				if data, isObject := list.body.(object); isObject {
					rows, _ = data["data"].([]any)
				}
				if len(rows) > 0 {
					t.Errorf("GET %s?_q=%s as %s finds %s", path, v, as, list.text)
				}
			}
		}
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// TestSubscriptionsShowNoHiddenValues subscribes to the articles of two servers whose contents differ in hidden values
// only, and expects equal events for equal writes.
func TestSubscriptionsShowNoHiddenValues(t *testing.T) {
	a, b := secretive(t, 0, subscribable, "ann", "bob"), secretive(t, 1, subscribable, "ann", "bob")
	seq := regexp.MustCompile(`"seq":"[^"]*"`)
	same := func(t *testing.T, x, y *stream) event {
		t.Helper()
		left, ok := x.next()
		right, too := y.next()
		strip := func(text string) string { return seq.ReplaceAllString(differing.ReplaceAllString(text, ""), "") }
		if ok != too || left.name != right.name || strip(left.data) != strip(right.data) {
			t.Fatalf("%s %s\nand, where the hidden values are others,\n%s %s", left.name, left.data, right.name,
				right.data)
		}
		for _, values := range hiddenValues {
			for _, v := range values {
				if strings.Contains(left.data, v) {
					t.Fatalf("%s shows %q", left.data, v)
				}
			}
		}
		return left
	}
	events := map[string]int{}
	for _, filter := range []string{
		"", `{title:{contains:"by"}}`, `{title:{eq:"x"}}`, `{code:{startsWith:"alpha"}}`, `{code:{notNull:true}}`,
		`{hidden:{eq:"alpha-one"}}`, `{not:{code:{contains:"o"}}}`,
		`{author:{username:{eq:"ann"}}}`, `{author:{password:{notNull:true}}}`, `{author:{email:{contains:"ann"}}}`,
		`{author:{role:{name:{eq:"Keeper"}}}}`,
		`{parts:{label:{eq:"part"}}}`, `{parts:{hidden:{eq:"alpha-one"}}}`, `{parts:{reader:{username:{eq:"ann"}}}}`,
		`{related:{code:{gt:"b"}}}`, `{related:{title:{eq:"by 1"}}}`,
		`{or:[{related:{hidden:{eq:"x"}}},{title:{eq:"by 0"}}]}`,
	} {
		for _, as := range []string{"", "full", "readonly", "keeper", "reader"} {
			query := "{change seq document{title code author{username role{name}} parts{label reader{username}} related{title code}}}"
			if query = "subscription{articleChanged" + query + "}"; filter != "" {
				query = strings.Replace(query, "articleChanged", "articleChanged(filters:"+filter+")", 1)
			}
			x, y := a.subscribe(query, as), b.subscribe(query, as)
			for n, write := range []object{{"title": "by 0"}, {"hidden": ""}} {
				for i, server := range []*api{a, b} {
					if n == 1 {
						write = object{"hidden": hiddenValues[i][0], "code": hiddenValues[i][1]}
					}
					id := server.want(200, "GET", "/api/articles?sort=id&pagination[limit]=1", "full", nil).at("data").([]any)[0].(object)["documentId"]
					server.want(200, "PUT", fmt.Sprint("/api/articles/", id), "full", object{"data": write})
				}
				e := same(t, x, y)
				if events[e.name]++; strings.Contains(e.data, `"change"`) {
					events["change"]++
				}
			}
			x.stop()
			y.stop()
		}
	}
	if events["change"] == 0 || events["complete"] == 0 {
		t.Errorf("the subscriptions were all answered alike: %v", events)
	}
}
