package rest_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// definitions is a project with one type of each kind and with every kind of value that an answer can contain.
var definitions = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  words: {type: integer, max: 1000}
  secret: {type: string, private: true}
  cover: {type: media}
  tags: {type: relation, relation: manyToMany, target: "api::tag.tag", inversedBy: articles}
  writer: {type: relation, relation: oneToOne, target: "api::tag.tag"}
  about: {type: relation, relation: morphToMany}
  place: {type: component, component: parts.place}
  places: {type: component, component: parts.place, repeatable: true}
  zone: {type: dynamiczone, components: [parts.place, parts.quote]}
`,
	"content-types/tag.yaml": `
kind: collectionType
info: {singularName: tag, pluralName: tags, displayName: Tag}
attributes:
  name: {type: string, unique: true}
  articles: {type: relation, relation: manyToMany, target: "api::article.article", mappedBy: tags}
`,
	"content-types/site.yaml": `
kind: singleType
info: {singularName: site, pluralName: sites, displayName: Site}
options: {draftAndPublish: true}
attributes:
  name: {type: string, default: Lectern}
`,
	"components/parts/place.yaml": `
info: {displayName: Place}
attributes:
  city: {type: string, required: true}
  tag: {type: relation, relation: oneToOne, target: "api::tag.tag"}
`,
	"components/parts/quote.yaml": `
info: {displayName: Quote}
attributes:
  text: {type: string}
`,
}

// newHandler serves an empty store. The credential "Bearer X" authenticates the caller X: full, tags (may read tags) or
// arts (may list articles). A request without a credential is public.
func newHandler(t testing.TB) http.Handler {
	h, _, _ := newProject(t)
	return h
}

func newProject(t testing.TB) (http.Handler, *contenttypes.Model, *documents.Service) {
	t.Helper()
	m := storetest.Model(t, storetest.Files(definitions))
	st := storetest.Open(t, m)
	access := map[string]*permission.Access{
		"":            permission.NewAccess([]string{"api::site.site.find"}),
		"Bearer full": permission.FullAccess,
		"Bearer tags": permission.NewAccess([]string{"api::tag.tag.find", "api::tag.tag.findOne"}),
		"Bearer arts": permission.NewAccess([]string{"api::article.article.find"}),
	}
	service := documents.NewService(st, m, "en")
	api := rest.New(m, st, service,
		params.New(m, "en", params.ListSettings{DefaultLimit: 25, MaxLimit: 100, WithCount: true}))
	api.SetVersion("of the tests")
	s, err := gateway.NewServer(gateway.Config{}, gateway.Runtime{
		REST: api,
		Authenticate: func(r *http.Request) (auth.Principal, error) {
			return auth.Principal{Access: access[r.Header.Get("Authorization")]}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Handler(), m, service
}

// An exchange is a request and its expected answer. plain normalizes an answer before it is compared with want: D
// stands for any documentId, T for any time and 0 for any id. <name> in a path or body is the documentId that was saved
// under that name.
type exchange struct {
	name         string
	method, path string
	as           string // "" is full, "-" is the public
	format       string // the header Strapi-Response-Format
	body         string
	status       int
	want         string
	save         string
}

var (
	ids   = regexp.MustCompile(`"id":\d+`)
	docs  = regexp.MustCompile(`"documentId":"([a-z0-9]{24})"`)
	times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)
	saved = regexp.MustCompile(`<(\w+)>`)
)

func plain(answer string) string {
	answer = ids.ReplaceAllString(answer, `"id":0`)
	answer = docs.ReplaceAllString(answer, `"documentId":"D"`)
	return times.ReplaceAllString(answer, `"T"`)
}

func run(t *testing.T, exchanges []exchange) {
	t.Helper()
	exchangeAll(t, newHandler(t), map[string]string{}, exchanges)
}

func exchangeAll(t *testing.T, h http.Handler, known map[string]string, exchanges []exchange) {
	t.Helper()
	fill := func(s string) string {
		return saved.ReplaceAllStringFunc(s, func(name string) string { return known[name[1:len(name)-1]] })
	}
	for _, x := range exchanges {
		r := httptest.NewRequest(x.method, fill(x.path), strings.NewReader(fill(x.body)))
		r.Header.Set("Content-Type", "application/json")
		switch x.as {
		case "":
			r.Header.Set("Authorization", "Bearer full")
		case "-":
		default:
			r.Header.Set("Authorization", "Bearer "+x.as)
		}
		if x.format != "" {
			r.Header.Set("strapi-response-format", x.format)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code != x.status || x.want != "" && plain(got) != x.want {
			t.Errorf("%s: %s %s\n got %d %s\nwant %d %s", x.name, x.method, x.path, w.Code, plain(got), x.status,
				x.want)
		}
		if x.save == "" {
			continue
		}
		doc := docs.FindStringSubmatch(got)
		if doc == nil {
			t.Fatalf("%s: no documentId to save in %s", x.name, got)
		}
		known[x.save] = doc[1]
	}
}

const (
	notFound  = `{"data":null,"error":{"status":404,"name":"NotFoundError","message":"Not Found","details":{}}}`
	forbidden = `{"data":null,"error":{"status":403,"name":"ForbiddenError","message":"Forbidden","details":{}}}`
	noData    = `{"data":null,"error":{"status":400,"name":"ValidationError","message":"Missing \"data\" payload in the request body","details":{}}}`
	badKey    = `{"data":null,"error":{"status":400,"name":"ValidationError","message":"Invalid key nope","details":{"key":"nope","path":null,"source":"body"}}}`
	badQuery  = `{"data":null,"error":{"status":400,"name":"ValidationError","message":"Invalid key nope","details":{"key":"nope","path":"nope","source":"query","param":"populate"}}}`
	tag       = `{"id":0,"documentId":"D","name":"go","createdAt":"T","updatedAt":"T","publishedAt":"T"}`
)

func TestCollection(t *testing.T) {
	run(t, []exchange{
		{name: "an empty list", method: "GET", path: "/api/tags", status: 200,
			want: `{"data":[],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":0,"total":0}}}`},
		{name: "create", method: "POST", path: "/api/tags", body: `{"data":{"name":"go"}}`, status: 201, save: "tag",
			want: `{"data":` + tag + `,"meta":{}}`},
		{name: "get", method: "GET", path: "/api/tags/<tag>", status: 200, want: `{"data":` + tag + `,"meta":{}}`},
		{name: "list", method: "GET", path: "/api/tags", status: 200, want: `{"data":[` + tag +
			`],"meta":{"pagination":{"page":1,"pageSize":25,"pageCount":1,"total":1}}}`},
		{name: "list by offset", method: "GET", path: "/api/tags?pagination[start]=1", status: 200,
			want: `{"data":[],"meta":{"pagination":{"start":1,"limit":25,"total":1}}}`},
		{name: "list without a count", method: "GET", path: "/api/tags?pagination[withCount]=false&fields=name",
			status: 200, want: `{"data":[{"id":0,"documentId":"D","name":"go"}],"meta":{"pagination":{"page":1,"pageSize":25}}}`},
		{name: "update", method: "PUT", path: "/api/tags/<tag>?fields=name", body: `{"data":{"name":"Go"}}`,
			status: 200, want: `{"data":{"id":0,"documentId":"D","name":"Go"},"meta":{}}`},
		{name: "a condition that leaves it out", method: "GET", path: "/api/tags/<tag>?filters[name]=go", status: 404,
			want: notFound},
		{name: "a condition that holds", method: "GET", path: "/api/tags/<tag>?filters[name]=Go", status: 200},
		{name: "another type's id", method: "GET", path: "/api/articles/<tag>", status: 404, want: notFound},
		{name: "the singular", method: "GET", path: "/api/tag", status: 404, want: notFound},
		{name: "a built-in type", method: "GET", path: "/api/roles", status: 404, want: notFound},
		{name: "actions of a type without drafts", method: "POST", path: "/api/tags/<tag>/actions/publish",
			status: 405},
		{name: "delete does not read its body", method: "DELETE", path: "/api/tags/<tag>", body: `{bad`, status: 204,
			want: ""},
		{name: "delete again", method: "DELETE", path: "/api/tags/<tag>", status: 204},
		{name: "gone", method: "GET", path: "/api/tags/<tag>", status: 404, want: notFound},
		{name: "update what is gone", method: "PUT", path: "/api/tags/<tag>", body: `{"data":{}}`, status: 404,
			want: notFound},
	})
}

// TestOrderOfChecks sends requests with several errors. The answer is that of the first check that fails.
func TestOrderOfChecks(t *testing.T) {
	run(t, []exchange{
		{name: "permission before everything", method: "POST", path: "/api/articles?populate=nope", as: "tags",
			body: `{bad`, status: 403, want: forbidden},
		{name: "permission before existence", method: "GET", path: "/api/articles/nope", as: "-", status: 403,
			want: forbidden},
		{name: "list is not one", method: "GET", path: "/api/articles/nope", as: "arts", status: 403, want: forbidden},
		{name: "the body's form before the query", method: "POST", path: "/api/tags?populate=nope", body: `{bad`,
			status: 400},
		{name: "the query before data", method: "POST", path: "/api/tags?populate=nope", body: `{}`, status: 400,
			want: badQuery},
		{name: "data before existence", method: "PUT", path: "/api/tags/nope", body: `{}`, status: 400, want: noData},
		{name: "keys before existence", method: "PUT", path: "/api/tags/nope", body: `{"data":{"nope":1}}`, status: 400,
			want: badKey},
		{name: "existence before values", method: "PUT", path: "/api/tags/nope", body: `{"data":{"name":5}}`,
			status: 404, want: notFound},
	})
}

func TestSingle(t *testing.T) {
	const site = `{"data":{"id":0,"documentId":"D","name":"Lectern","createdAt":"T","updatedAt":"T","publishedAt":"T"},"meta":{}}`
	const draft = `{"data":{"id":0,"documentId":"D","name":"Draft","createdAt":"T","updatedAt":"T","publishedAt":null},"meta":{}}`
	run(t, []exchange{
		{name: "before it is made", method: "GET", path: "/api/site", as: "-", status: 404, want: notFound},
		{name: "delete nothing", method: "DELETE", path: "/api/site", status: 204},
		{name: "make", method: "PUT", path: "/api/site", body: `{"data":{}}`, status: 200, want: site},
		{name: "get", method: "GET", path: "/api/site", as: "-", status: 200, want: site},
		{name: "change the draft", method: "PUT", path: "/api/site?status=draft", body: `{"data":{"name":"Draft"}}`,
			status: 200, want: draft},
		{name: "the draft", method: "GET", path: "/api/site?status=draft", status: 200, want: draft},
		{name: "the published one", method: "GET", path: "/api/site", status: 200, want: site},
		{name: "discard the draft", method: "POST", path: "/api/site/actions/discard-draft?fields=name", status: 200,
			want: `{"data":{"id":0,"documentId":"D","name":"Lectern"},"meta":{}}`},
		{name: "unpublish", method: "POST", path: "/api/site/actions/unpublish?fields=name", status: 200},
		{name: "not published", method: "GET", path: "/api/site", status: 404, want: notFound},
		{name: "publish", method: "POST", path: "/api/site/actions/publish", status: 200, want: site},
		{name: "publish without permission", method: "POST", path: "/api/site/actions/publish", as: "-", status: 403,
			want: forbidden},
		{name: "delete", method: "DELETE", path: "/api/site", status: 204},
		{name: "gone", method: "GET", path: "/api/site?status=draft", status: 404, want: notFound},
	})
}

func TestShapes(t *testing.T) {
	const body = `{"data":{"title":"A","words":3,"secret":"s","tags":["<go>","<db>"],"writer":"<go>",
		"place":{"city":"Rome","tag":"<db>"},"places":[{"city":"Oslo"}],"zone":[{"__component":"parts.quote","text":"q"},{"__component":"parts.place","city":"Bern"}]}}`
	const scalars = `"title":"A","words":3,"createdAt":"T","updatedAt":"T","publishedAt":"T","locale":"en"`
	const list = "/api/articles?fields=title&pagination[withCount]=false&"
	entry := func(rest string) string {
		return `{"data":[{"id":0,"documentId":"D","title":"A"` + rest +
			`}],"meta":{"pagination":{"page":1,"pageSize":25}}}`
	}
	entry4 := func(rest string) string {
		return `{"data":[{"id":0,"documentId":"D","attributes":{"title":"A"` + rest +
			`}}],"meta":{"pagination":{"page":1,"pageSize":25}}}`
	}
	run(t, []exchange{
		{name: "a tag", method: "POST", path: "/api/tags", body: `{"data":{"name":"go"}}`, status: 201, save: "go"},
		{name: "another tag", method: "POST", path: "/api/tags", body: `{"data":{"name":"db"}}`, status: 201,
			save: "db"},
		{name: "create", method: "POST", path: "/api/articles", body: body, status: 201, save: "a",
			want: `{"data":{"id":0,"documentId":"D",` + scalars + `},"meta":{}}`},
		{name: "v4", method: "GET", path: "/api/articles/<a>", format: "v4", status: 200,
			want: `{"data":{"id":0,"documentId":"D","attributes":{` + scalars + `}},"meta":{}}`},
		{name: "V4 is not v4", method: "GET", path: "/api/articles/<a>", format: "V4", status: 200,
			want: `{"data":{"id":0,"documentId":"D",` + scalars + `},"meta":{}}`},
		{name: "v4 with ids alone", method: "GET", path: "/api/tags/<go>?fields=id", format: "v4", status: 200,
			want: `{"data":{"id":0,"documentId":"D","attributes":{}},"meta":{}}`},
		{name: "to many", method: "GET", path: list + "populate[tags][fields]=name", status: 200,
			want: entry(`,"tags":[{"id":0,"documentId":"D","name":"go"},{"id":0,"documentId":"D","name":"db"}]`)},
		{name: "to many, sorted and filtered", method: "GET", path: list +
			"populate[tags][fields]=name&populate[tags][sort]=name&populate[tags][filters][name][$ne]=x", status: 200,
			want: entry(`,"tags":[{"id":0,"documentId":"D","name":"db"},{"id":0,"documentId":"D","name":"go"}]`)},
		{name: "to many, none left", method: "GET", path: list + "populate[tags][filters][name]=x", status: 200,
			want: entry(`,"tags":[]`)},
		{name: "to one, left out", method: "GET", path: list + "populate[writer][filters][name]=x", status: 200,
			want: entry(`,"writer":null`)},
		{name: "counts", method: "GET", path: list +
			"populate[tags][count]=true&populate[writer][count]=true&populate[places][count]=true", status: 200,
			want: entry(`,"tags":{"count":2},"writer":{"count":1},"places":{"count":1}`)},
		{name: "counts in v4", method: "GET", path: list + "populate[tags][count]=true&populate[places][count]=true",
			format: "v4", status: 200,
			want: entry4(`,"tags":{"data":{"attributes":{"count":2}}},"places":{"count":1}`)},
		{name: "to one, media, both v4", method: "GET",
			path: list + "populate[cover]=true&populate[tags][fields]=name&populate[tags][filters][name]=go&populate[writer][fields]=name", format: "v4", status: 200,
			want: entry4(`,"cover":{"data":null},"tags":{"data":[{"id":0,"documentId":"D","attributes":{"name":"go"}}]},"writer":{"data":{"id":0,"documentId":"D","attributes":{"name":"go"}}}`)},
		{name: "components", method: "GET",
			path: list + "populate[place][populate][tag][fields]=name&populate[places]=true", status: 200,
			want: entry(`,"place":{"id":0,"city":"Rome","tag":{"id":0,"documentId":"D","name":"db"}},"places":[{"id":0,"city":"Oslo"}]`)},
		{name: "components in v4", method: "GET", path: list + "populate[place][populate][tag][fields]=name",
			format: "v4", status: 200,
			want: entry4(`,"place":{"id":0,"city":"Rome","tag":{"data":{"id":0,"documentId":"D","attributes":{"name":"db"}}}}`)},
		{name: "a zone", method: "GET", path: list + "populate[zone]=true", status: 200,
			want: entry(`,"zone":[{"__component":"parts.quote","id":0,"text":"q"},{"__component":"parts.place","id":0,"city":"Bern"}]`)},
		{name: "a morph relation", method: "PUT",
			path: "/api/articles/<a>?fields=title&populate[about][on][api::tag.tag][fields]=name",
			body: `{"data":{"about":[{"__type":"api::tag.tag","documentId":"<db>"}]}}`, status: 200,
			want: `{"data":{"id":0,"documentId":"D","title":"A","about":[{"id":0,"documentId":"D","name":"db","__type":"api::tag.tag"}]},"meta":{}}`},
		{name: "one component of a zone", method: "GET", path: list + "populate[zone][on][parts.quote]=true",
			status: 200,
			want:   entry(`,"zone":[{"__component":"parts.quote","id":0,"text":"q"}]`)},
		{name: "localizations", method: "GET", path: list + "populate=localizations", status: 200,
			want: entry(`,"localizations":[]`)},
		{name: "another locale", method: "PUT", path: "/api/articles/<a>?locale=fr&fields=title,locale",
			body: `{"data":{"title":"F"}}`, status: 200,
			want: `{"data":{"id":0,"documentId":"D","title":"F","locale":"fr"},"meta":{}}`},
		{name: "localizations, one", method: "GET", path: list + "populate[localizations][fields]=title", status: 200,
			want: entry(`,"localizations":[{"id":0,"documentId":"D","title":"F"}]`)},
		{name: "what may not be found is left out", method: "GET", path: list + "populate=*", as: "arts", status: 200,
			want: entry(`,"cover":null,"about":[],"place":{"id":0,"city":"Rome"},"places":[{"id":0,"city":"Oslo"}],"zone":[{"__component":"parts.quote","id":0,"text":"q"},{"__component":"parts.place","id":0,"city":"Bern"}],"localizations":[{"id":0,"documentId":"D","title":"F","words":3,"createdAt":"T","updatedAt":"T","publishedAt":"T","locale":"fr"}]`)},
	})
}

// TestFiles reads files and, if the query populates them, the documents that use the files and that the caller may
// find.
func TestFiles(t *testing.T) {
	h, m, service := newProject(t)
	data, err := jsontree.Parse(
		[]byte(`{"name":"a.png","hash":"a","mime":"image/png","size":1,"url":"/uploads/a.png","provider":"local"}`), 10)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	err = service.Create(t.Context(), documents.Write{
		Type: m.Type("plugin::upload.file"), Data: data.(*jsontree.Object), Access: permission.FullAccess,
		After: func(_ *store.Snapshot, file store.Record) error {
			known["file"] = strconv.FormatUint(file.ID(), 10)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const article = `{"id":0,"documentId":"D","title":"A","words":null,"createdAt":"T","updatedAt":"T","publishedAt":"T","locale":"en","__type":"api::article.article"}`
	const article4 = `{"id":0,"documentId":"D","attributes":{"title":"A","words":null,"createdAt":"T","updatedAt":"T","publishedAt":"T","locale":"en","__type":"api::article.article"}}`
	const cover = "/api/articles/<a>?fields=title&populate[cover][fields]=name"
	exchangeAll(t, h, known, []exchange{
		{name: "link", method: "POST", path: "/api/articles?fields=title&populate[cover][fields]=name",
			body: `{"data":{"title":"A","cover":<file>}}`, status: 201, save: "a",
			want: `{"data":{"id":0,"documentId":"D","title":"A","cover":{"id":0,"documentId":"D","name":"a.png"}},"meta":{}}`},
		{name: "not counted", method: "GET", path: cover + "&populate[cover][count]=true", status: 200,
			want: `{"data":{"id":0,"documentId":"D","title":"A","cover":{"id":0,"documentId":"D","name":"a.png"}},"meta":{}}`},
		{name: "who uses it", method: "GET", path: cover + "&populate[cover][populate]=related", status: 200,
			want: `{"data":{"id":0,"documentId":"D","title":"A","cover":{"id":0,"documentId":"D","name":"a.png","related":[` + article + `]}},"meta":{}}`},
		{name: "who uses it, v4", method: "GET", path: cover + "&populate[cover][populate]=related", format: "v4",
			status: 200,
			want:   `{"data":{"id":0,"documentId":"D","attributes":{"title":"A","cover":{"data":{"id":0,"documentId":"D","attributes":{"name":"a.png","related":{"data":[` + article4 + `]}}}}}},"meta":{}}`},
	})
}
