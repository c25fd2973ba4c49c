package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A badRequest is a request that a server must refuse, and the expected response.
type badRequest struct {
	name    string
	as      string // the name of a token; "" means full access
	method  string // the default is POST with a body, else GET
	path    string
	headers map[string]string
	body    string
	status  int
	error   string // the name of the error; "" when the response has no error envelope
	message string // a part of the error's message
}

const (
	validation = "ValidationError"
	syntax     = "SyntaxError"
	badSyntax  = "BadRequestError"
	tooLarge   = "PayloadTooLargeError"
	pagination = "PaginationError"
	notFound   = "NotFoundError"
)

var (
	jsonType = map[string]string{"Content-Type": "application/json"}
	formType = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
)

func nested(open, inner, end string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// badBodies are requests to documents that exist: {r} in a path is a published restaurant, {v} a review.
var badBodies = []badRequest{
	{name: "JSON that ends early", body: `{"data":`, status: 400, error: syntax},
	{name: "JSON with more behind it", body: `{"data":{"stars":1}} x`, status: 400, error: syntax},
	{name: "a trailing comma", body: `{"data":{"stars":1,}}`, status: 400, error: syntax},
	{name: "single quotes", body: `{'data':{}}`, status: 400, error: syntax},
	{name: "NaN", body: `{"data":{"stars":NaN}}`, status: 400, error: syntax},
	{name: "a string", body: `"x"`, status: 400, error: syntax, message: "only supports object and array"},
	{name: "a number", body: `5`, status: 400, error: syntax, message: "only supports object and array"},
	{name: "null", body: `null`, status: 400, error: syntax},
	{name: "a control character in a string", body: "{\"data\":{\"comment\":\"a\x01b\"}}", status: 400, error: syntax},
	{name: "a zero byte in a string", body: "{\"data\":{\"comment\":\"a\x00b\"}}", status: 400, error: syntax},
	{name: "a zero byte before all", body: "\x00{\"data\":{}}", status: 400, error: syntax},
	{name: "a bad escape", body: `{"data":{"comment":"\x"}}`, status: 400, error: syntax},
	{name: "__proto__", body: `{"data":{"stars":1},"__proto__":{}}`, status: 400, error: syntax},
	{name: "10,000 arrays", body: `{"data":{"stars":` + nested("[", "1", "]", 10000) + `}}`, status: 400},
	{name: "10,000 objects", body: `{"data":` + nested(`{"a":`, "1", "}", 10000) + `}`, status: 400},
	{name: "100,000 arrays never closed", body: strings.Repeat("[", 100000), status: 400, error: syntax},
	{name: "no body", method: "POST", status: 400, error: validation, message: `Missing "data"`},
	{name: "an empty object", body: `{}`, status: 400, error: validation, message: `Missing "data"`},
	{name: "an array", body: `[]`, status: 400, error: validation, message: `Missing "data"`},
	{name: "data null", body: `{"data":null}`, status: 400, error: validation, message: `Missing "data"`},
	{name: "data a string", body: `{"data":"x"}`, status: 400, error: validation, message: `Missing "data"`},
	{name: "data an array", body: `{"data":[]}`, status: 400, error: validation},
	{name: "XML", headers: map[string]string{"Content-Type": "application/xml"}, body: `<a/>`, status: 400,
		error: validation, message: `Missing "data"`},
	{name: "a content-type that is none", headers: map[string]string{"Content-Type": ";;;"},
		body: `{"data":{"stars":1}}`, status: 400, error: validation, message: `Missing "data"`},
	{name: "no content-type", headers: map[string]string{"Content-Type": ""}, body: `{"data":{"stars":1}}`, status: 400,
		error: validation, message: `Missing "data"`},
	{name: "a form where data is text", headers: formType, body: `data={"stars":4}`, status: 400, error: validation,
		message: `Missing "data"`},
	{name: "a form of brackets", headers: formType, body: "data" + strings.Repeat("[a]", 10000) + "=1", status: 400},
	{name: "a form of 2,000 pairs", headers: formType, body: strings.Repeat("data[stars]=1&", 2000), status: 400},
	{name: "a multipart form without a boundary", headers: map[string]string{"Content-Type": "multipart/form-data"},
		body: "--x\r\n\r\n", status: 400},
	{name: "a multipart form that ends early",
		headers: map[string]string{"Content-Type": "multipart/form-data; boundary=x"},
		body:    "--x\r\nContent-Disposition: form-data; name=\"data[stars]\"\r\n\r\n1", status: 400},
	{name: "JSON over the limit", body: `{"data":{"stars":1,"comment":"` + strings.Repeat("x", 1<<20) + `"}}`,
		status: 413, error: tooLarge},
	{name: "a form over the limit", headers: formType, body: "data[stars]=1&data[comment]=" +
		strings.Repeat("x", 56<<10), status: 413, error: tooLarge},
	{name: "a text over the limit", headers: map[string]string{"Content-Type": "text/plain"},
		body: strings.Repeat("x", 60<<10), status: 413, error: tooLarge},
	{name: "JSON over the limit once inflated", headers: map[string]string{"Content-Type": "application/json",
		"Content-Encoding": "gzip"},
		body: gzipped(`{"data":{"comment":"` + strings.Repeat("x", 8<<20) + `"}}`), status: 413, error: tooLarge},
	{name: "what is no gzip", headers: map[string]string{"Content-Type": "application/json",
		"Content-Encoding": "gzip"}, body: `{"data":{"stars":1}}`, status: 400},
	{name: "gzip that ends early", headers: map[string]string{"Content-Type": "application/json",
		"Content-Encoding": "gzip"},
		body: gzipped(`{"data":{"stars":1}}`)[:20], status: 400},
	{name: "an unknown content-encoding", headers: map[string]string{"Content-Type": "application/json",
		"Content-Encoding": "foo"},
		body: `{"data":{"stars":1}}`, status: 415, error: "Error", message: "Unsupported Content-Encoding: foo"},
}

var badValues = []badRequest{
	{name: "an unknown key", body: `{"data":{"stars":1,"nope":1}}`, status: 400, error: validation,
		message: "Invalid key nope"},
	{name: "constructor", body: `{"data":{"stars":1,"constructor":1}}`, status: 400, error: validation,
		message: "Invalid key constructor"},
	{name: "toString", body: `{"data":{"stars":1,"toString":1}}`, status: 400, error: validation,
		message: "Invalid key toString"},
	{name: "an empty key", body: `{"data":{"stars":1,"":1}}`, status: 400, error: validation, message: "Invalid key "},
	{name: "id", body: `{"data":{"stars":1,"id":1}}`, status: 400, error: validation, message: "Invalid key id"},
	{name: "a required value missing", body: `{"data":{}}`, status: 400, error: validation,
		message: "stars must be defined."},
	{name: "a text for a number", body: `{"data":{"stars":"many"}}`, status: 400, error: validation},
	{name: "an object for a number", body: `{"data":{"stars":{"a":1}}}`, status: 400, error: validation},
	{name: "a list for a number", body: `{"data":{"stars":[5]}}`, status: 400, error: validation},
	{name: "too large a number", body: `{"data":{"stars":1e999}}`, status: 400, error: validation},
	{name: "a fraction for an integer", body: `{"data":{"stars":1.5}}`, status: 400, error: validation,
		message: "must be an integer"},
	{name: "beyond max", body: `{"data":{"stars":6}}`, status: 400, error: validation,
		message: "less than or equal to 5"},
	{name: "an object for a text", body: `{"data":{"stars":1,"comment":{}}}`, status: 400, error: validation},
	{name: "too long a text", body: `{"data":{"stars":1,"comment":"` + strings.Repeat("x", 201) + `"}}`, status: 400,
		error: validation, message: "at most 200 characters"},
	{name: "a relation to nothing", body: `{"data":{"stars":1,"restaurant":"aaaaaaaaaaaaaaaaaaaaaaaa"}}`, status: 400,
		error: validation},
	{name: "a relation by an id that is not there", body: `{"data":{"stars":1,"restaurant":999999999}}`, status: 400,
		error: validation},
	{name: "a relation by an absurd id", body: `{"data":{"stars":1,"restaurant":1e300}}`, status: 400,
		error: validation},
	{name: "a relation by a negative id", body: `{"data":{"stars":1,"restaurant":-1}}`, status: 400, error: validation},
	{name: "a relation by nothing known", body: `{"data":{"stars":1,"restaurant":{"attach":1}}}`, status: 400,
		error: validation},
	{name: "a relation connected to true", body: `{"data":{"stars":1,"restaurant":{"connect":true}}}`, status: 400,
		error: validation},
	{name: "a relation by lists in lists", body: `{"data":{"stars":1,"restaurant":` + nested("[", "", "]", 400) + `}}`,
		status: 400, error: validation},

	{name: "a bad enumeration value", path: "/api/restaurants", body: `{"data":{"name":"Ab","tier":"tin"}}`,
		status: 400, error: validation},
	{name: "a bad date", path: "/api/restaurants", body: `{"data":{"name":"Ab","openedOn":"2024-13-01"}}`, status: 400,
		error: validation},
	{name: "a day that does not exist", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","openedOn":"2023-02-29"}}`, status: 400, error: validation,
		message: "Invalid date"},
	{name: "a date and any text", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","openedOn":"2024-01-01 tomorrow"}}`, status: 400, error: validation},
	{name: "a bad time", path: "/api/restaurants", body: `{"data":{"name":"Ab","opensAt":"25:00:00"}}`, status: 400,
		error: validation},
	{name: "a number for a time", path: "/api/restaurants", body: `{"data":{"name":"Ab","opensAt":5}}`, status: 400,
		error: validation},
	{name: "a bad datetime", path: "/api/restaurants", body: `{"data":{"name":"Ab","inspectedAt":"soon"}}`, status: 400,
		error: validation},
	{name: "a datetime beyond all years", path: "/api/restaurants", body: `{"data":{"name":"Ab","inspectedAt":1e300}}`,
		status: 400, error: validation},
	{name: "a bad email", path: "/api/restaurants", body: `{"data":{"name":"Ab","contact":"a@b"}}`, status: 400,
		error: validation},
	{name: "a biginteger of 30 digits", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","visits":"999999999999999999999999999999"}}`, status: 400, error: validation},
	{name: "a boolean that is none", path: "/api/restaurants", body: `{"data":{"name":"Ab","vegan":"perhaps"}}`,
		status: 400, error: validation},
	{name: "blocks: a text", path: "/api/restaurants", body: `{"data":{"name":"Ab","description":"x"}}`, status: 400,
		error: validation},
	{name: "blocks: an object", path: "/api/restaurants", body: `{"data":{"name":"Ab","description":{}}}`, status: 400,
		error: validation},
	{name: "blocks: null among them", path: "/api/restaurants", body: `{"data":{"name":"Ab","description":[null]}}`,
		status: 400, error: validation, message: "Block node is of invalid type"},
	{name: "blocks: null among children", path: "/api/restaurants",
		body:   `{"data":{"name":"Ab","description":[{"type":"paragraph","children":[null]}]}}`,
		status: 400, error: validation, message: "Inline node must be Text or Link"},
	{name: "blocks: lists in lists, 400 deep", path: "/api/restaurants", body: `{"data":{"name":"Ab","description":[` +
		nested(`{"type":"list","format":"ordered","children":[`, `5`, `]}`, 200) + `]}}`, status: 400,
		error: validation},
	{name: "a component that is a text", path: "/api/restaurants", body: `{"data":{"name":"Ab","address":"x"}}`,
		status: 400, error: validation},
	{name: "a list for a component", path: "/api/restaurants", body: `{"data":{"name":"Ab","address":[]}}`, status: 400,
		error: validation},
	{name: "an unknown key of a component", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","address":{"city":"x","nope":1}}}`, status: 400, error: validation},
	{name: "a component of elsewhere", method: "PUT", path: "/api/restaurants/{r}",
		body: `{"data":{"address":{"id":99999,"city":"x"}}}`, status: 400, error: "ApplicationError"},
	{name: "too many components", path: "/api/restaurants", body: `{"data":{"name":"Ab","closingPeriods":[` +
		strings.TrimSuffix(strings.Repeat(`{"label":"a"},`, 6), ",") + `]}}`, status: 400, error: validation},
	{name: "a zone item without component", path: "/api/restaurants", body: `{"data":{"name":"Ab","dz":[{}]}}`,
		status: 400, error: validation},
	{name: "a zone item of an unknown component", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","dz":[{"__component":"a.b"}]}}`, status: 400, error: validation},
	{name: "a zone item of a component of elsewhere", path: "/api/restaurants",
		body: `{"data":{"name":"Ab","dz":[{"__component":"default.geo"}]}}`, status: 400, error: validation},
	{name: "a zone that is a number", path: "/api/restaurants", body: `{"data":{"name":"Ab","dz":5}}`, status: 400,
		error: validation},
	{name: "a file that is not there", path: "/api/restaurants", body: `{"data":{"name":"Ab","cover":999999}}`,
		status: 400, error: validation},
	{name: "a good draft that cannot be published", path: "/api/restaurants", body: `{"data":{"name":"A"}}`,
		status: 400, error: validation, message: "at least 2 characters"},
	{name: "locale *", path: "/api/restaurants?locale=*", body: `{"data":{"name":"Ab"}}`, status: 400,
		error: validation, message: "Invalid locale param"},
	{name: "two locales", path: "/api/restaurants?locale[]=en&locale[]=fr", body: `{"data":{"name":"Ab"}}`, status: 400,
		error: validation, message: "Invalid locale param"},
	{name: "a bad populate", path: "/api/restaurants?populate=nope", body: `{"data":{"name":"Ab"}}`, status: 400,
		error: validation, message: "Invalid key nope"},

	{name: "an update with an unknown key", method: "PUT", path: "/api/restaurants/{r}", body: `{"data":{"nope":1}}`,
		status: 400, error: validation},
	{name: "an update with a bad value", method: "PUT", path: "/api/restaurants/{r}",
		body: `{"data":{"name":"Changed","seats":"x"}}`, status: 400, error: validation},
	{name: "an update that cannot be published", method: "PUT", path: "/api/restaurants/{r}",
		body: `{"data":{"name":"x","seats":9}}`, status: 400, error: validation},
	{name: "an update of nothing", method: "PUT", path: "/api/restaurants/nothing", body: `{"data":{"name":"Ab"}}`,
		status: 404, error: notFound},
	{name: "an update without data", method: "PUT", path: "/api/restaurants/{r}", body: `{}`, status: 400,
		error: validation},
	{name: "a single type with a bad value", method: "PUT", path: "/api/setting", body: `{"data":{"maintenance":"x"}}`,
		status: 400, error: validation},
}

var badQueries = []badRequest{
	{name: "an unknown field", path: "?filters[nope]=1", status: 400, error: validation, message: "Invalid key nope"},
	{name: "an unknown operator", path: "?filters[name][$nope]=1", status: 400, error: validation,
		message: "Invalid key $nope at name"},
	{name: "an operator in an operator", path: "?filters[name][$eq][$eq]=1", status: 400, error: validation},
	{name: "an object for an operator", path: "?filters[name][$in][a]=1", status: 400, error: validation},
	{name: "filters[0]", path: "?filters[0]=1", status: 400, error: validation},
	{name: "filters[]", path: "?filters[]=1", status: 400, error: validation},
	{name: "filters that are text", path: "?filters=x", status: 400, error: validation,
		message: "must be an object or an array"},
	{name: "filters[constructor]", path: "?filters[constructor]=1", status: 400, error: validation},
	{name: "filters[__proto__]", path: "?filters[__proto__]=1", status: 400, error: validation},
	{name: "filters[__proto__][a]", path: "?filters[__proto__][a]=1", status: 400, error: validation},
	{name: "$and of text", path: "?filters[$and]=x", status: 400, error: validation},
	{name: "$or of an object", path: "?filters[$or][name]=x", status: 400, error: validation},
	{name: "$not of text at the root", path: "?filters[$not]=x", status: 400, error: validation},
	{name: "$between one", path: "?filters[seats][$between]=1", status: 400, error: validation},
	{name: "$between three",
		path: "?filters[seats][$between][0]=1&filters[seats][$between][1]=2&filters[seats][$between][2]=3", status: 400,
		error: validation},
	{name: "text in a numeric filter", path: "?filters[seats]=abc", status: 400, error: validation},
	{name: "an empty numeric filter", path: "?filters[seats]=", status: 400, error: validation},
	{name: "a fraction in a biginteger filter", path: "?filters[visits]=5.5", status: 400, error: validation},
	{name: "a bad date", path: "?filters[openedOn]=x", status: 400, error: validation,
		message: "Invalid format, expected yyyy-MM-dd"},
	{name: "one bad date of several", path: "?filters[openedOn][$in][0]=2024-01-01&filters[openedOn][$in][1]=x",
		status: 400, error: validation},
	{name: "a day that does not exist", path: "?filters[openedOn]=2023-02-30", status: 400, error: validation,
		message: "Invalid date"},
	{name: "a bad time", path: "?filters[opensAt]=12:00", status: 400, error: validation},
	{name: "a bad datetime", path: "?filters[createdAt]=yesterday", status: 400, error: validation},
	{name: "a private field", path: "?filters[hidden]=x", status: 400, error: validation,
		message: "Invalid key hidden"},
	{name: "a private field through a relation", path: "?filters[related][hidden]=x", status: 400, error: validation,
		message: "Invalid key hidden at related.hidden"},
	{name: "a password", path: "?filters[secret][$notNull]=true", status: 400, error: validation,
		message: "Invalid key secret"},
	{name: "createdBy", path: "?filters[createdBy][id]=1", status: 400, error: validation,
		message: "Invalid key createdBy"},
	{name: "a zone", path: "?filters[dz]=1", status: 400, error: validation, message: "Invalid key dz"},
	{name: "a relation that may not be followed", as: "public", path: "?filters[owner][firstName]=x", status: 400,
		error: validation, message: "Invalid key owner"},
	{name: "20 relations deep and unknown", path: "?filters" + strings.Repeat("[related]", 19) + "[nope]=x",
		status: 400, error: validation},
	{name: "21 levels", path: "?filters" + strings.Repeat("[related]", 30) + "[name]=x", status: 400},
	{name: "10,000 brackets", path: "?filters" + strings.Repeat("[a]", 10000) + "=x", status: 400},
	{name: "10,000 open brackets", path: "?filters" + strings.Repeat("[", 10000) + "=x", status: 400},
	{name: "101 elements by index", path: "?" + indexed("filters[name][$in]", 101), status: 400},
	{name: "101 elements by repetition", path: "?" + strings.Repeat("filters[name][$in]=x&", 101), status: 400},
	{name: "an index far away", path: "?filters[name][$in][1000000000]=x", status: 400},
	{name: "1,001 pairs", path: "?" + strings.Repeat("a=1&", 1001), status: 400},
	{name: "100 KB of query", path: "?_q=" + strings.Repeat("x", 100<<10), status: 431},

	{name: "sort by nothing known", path: "?sort=nope", status: 400, error: validation, message: "Invalid key nope"},
	{name: "a bad direction", path: "?sort=name:up", status: 400, error: validation, message: "Invalid order"},
	{name: "a bad direction through a relation", path: "?sort=owner.firstName:bad", status: 400, error: validation,
		message: "Invalid order"},
	{name: "sort by a relation", path: "?sort=owner", status: 400, error: validation, message: "Invalid key owner"},
	{name: "sort by lists in lists", path: "?sort[0][0]=name", status: 400, error: validation},
	{name: "sort by a private field", path: "?sort=hidden", status: 400, error: validation,
		message: "Invalid key hidden"},
	{name: "fields unknown", path: "?fields=nope", status: 400, error: validation, message: "Invalid key nope"},
	{name: "fields an object", path: "?fields[a]=name", status: 400, error: validation},
	{name: "fields constructor", path: "?fields=constructor", status: 400, error: validation},
	{name: "fields password", path: "?fields=secret", status: 400, error: validation, message: "Invalid key secret"},
	{name: "_q a list", path: "?_q[]=a", status: 400, error: validation},
	{name: "_q an object", path: "?_q[a]=a", status: 400, error: validation},

	{name: "page no number", path: "?pagination[page]=x", status: 400, error: validation,
		message: "expected a positive integer got NaN"},
	{name: "page a fraction", path: "?pagination[page]=1.5&pagination[pageSize]=3", status: 400, error: validation,
		message: "got 1.5"},
	{name: "page infinite", path: "?pagination[page]=Infinity", status: 400, error: validation},
	{name: "page an object", path: "?pagination[page][a]=1", status: 400},
	{name: "pageSize a fraction", path: "?pagination[pageSize]=2.5", status: 400, error: validation,
		message: "convertLimitQueryParams"},
	{name: "start no number", path: "?pagination[start]=x", status: 400, error: validation},
	{name: "both paginations", path: "?pagination[page]=1&pagination[start]=1", status: 400, error: pagination},
	{name: "page at the top", path: "?page=1", status: 400, error: pagination},
	{name: "withCount", path: "?pagination[withCount]=perhaps", status: 400, error: validation,
		message: "Invalid withCount parameter"},
	{name: "lookup", path: "?lookup=1", status: 400, error: validation, message: "Invalid params: 'lookup'"},

	{name: "populate unknown", path: "?populate=nope", status: 400, error: validation, message: "Invalid key nope"},
	{name: "populate a scalar", path: "?populate=name", status: 400, error: validation, message: "Invalid key name"},
	{name: "populate true", path: "?populate=true", status: 400, error: validation, message: "Invalid key true"},
	{name: "populate constructor", path: "?populate[constructor]=true", status: 400, error: validation},
	{name: "populate with limit", path: "?populate[reviews][limit]=1", status: 400, error: validation,
		message: "Invalid key limit at reviews"},
	{name: "populate a private field", path: "?populate[related][fields]=hidden", status: 400, error: validation,
		message: "Invalid key hidden"},
	{name: "a zone without on", path: "?populate[dz][fields]=body", status: 400, error: validation,
		message: "Invalid nested populate"},
	{name: "an unknown component", path: "?populate[dz][on][blocks.nope]=true", status: 400, error: validation,
		message: "Invalid key blocks.nope"},
	{name: "populate a dotted path of 10,000", path: "?populate=" + strings.Repeat("related.", 5000) + "nope",
		status: 400},

	{name: "hasPublishedVersion", path: "?hasPublishedVersion=1", status: 400, error: validation},
	{name: "publicationFilter", path: "?publicationFilter=Modified", status: 400, error: validation},
	{name: "one of a locale list", path: "/{r}?locale[]=en&locale[]=fr", status: 400, error: validation},
	{name: "one with a bad filter", path: "/{r}?filters[nope]=1", status: 400, error: validation},
	{name: "one with bad fields", path: "/{r}?fields=nope", status: 400, error: validation},
	{name: "one that does not match", path: "/{r}?filters[name]=other", status: 404, error: notFound},
	{name: "no such document", path: "/nothing", status: 404, error: notFound},
	{name: "a documentId of blanks", path: "/%20%20", status: 404, error: notFound},
	{name: "a documentId of 10,000 letters", path: "/" + strings.Repeat("a", 10000), status: 404, error: notFound},
	{name: "no such route", path: "/{r}/nothing", status: 404, error: notFound},

	{name: "an escape without digits", path: "/%zz",
		status: 400}, // net/http answers this request itself, in plain text
	{name: "an escape cut off", path: "/%4", status: 400},
	{name: "escapes that are no UTF-8", path: "/%ff%fe", status: 400, error: badSyntax, message: "failed to decode"},
	{name: "a zero byte", path: "/a%00b", status: 400, error: badSyntax, message: "Malicious Path"},
	{name: "a zero byte in another place", path: "/%00", status: 400, error: badSyntax, message: "Malicious Path"},

	{name: "a method that is none", method: "FOO", path: "", status: 405},
	{name: "PATCH", method: "PATCH", path: "/{r}", status: 405},
	{name: "POST to an entry", method: "POST", path: "/{r}", status: 405},
	{name: "DELETE of a list", method: "DELETE", path: "", status: 405},
	{name: "POST to nothing", method: "POST", path: "/{r}/a/b", status: 405},
	{name: "DELETE of what is not there", method: "DELETE", path: "/nothing", status: 204},
	{name: "DELETE in a locale that is not there", method: "DELETE", path: "/{r}?locale=it", status: 204},
	{name: "DELETE with a bad escape", method: "DELETE", path: "/{r}%zz", status: 400},

	{name: "an unknown credential", path: "", headers: map[string]string{"Authorization": "Bearer nope"}, status: 401,
		error: "UnauthorizedError"},
	{name: "a credential of 10,000 letters", path: "", headers: map[string]string{"Authorization": "Bearer " +
		strings.Repeat("a", 10000)}, status: 401, error: "UnauthorizedError"},
	{name: "a public write", as: "public", method: "DELETE", path: "/{r}", status: 403, error: "ForbiddenError"},
	{name: "a read-only write", as: "readonly", method: "DELETE", path: "/{r}", status: 403, error: "ForbiddenError"},
	{name: "a custom token beyond its permissions", as: "reviewer", path: "?filters[nope]=1", status: 403,
		error: "ForbiddenError"},
}

func indexed(key string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s[%d]=x&", key, i)
	}
	return b.String()
}

// TestBadInput checks that a bad request is answered with an explanation and changes nothing.
func TestBadInput(t *testing.T) {
	b := newBench(t)
	b.fill()
	for _, table := range []struct {
		path  string
		cases []badRequest
	}{{"/api/reviews", badBodies}, {"/api/reviews", badValues}, {"/api/restaurants", badQueries}} {
		before := b.content()
		for _, c := range table.cases {
			if !strings.HasPrefix(c.path, "/api") {
				c.path = table.path + c.path
			}
			if c.headers == nil {
				c.headers = jsonType
			}
			t.Run(c.name, func(t *testing.T) { b.refused(t, c) })
		}
		if after := b.content(); after != before {
			t.Errorf("content has changed:\n%s\n%s", before, after)
		}
	}
}

// refused sends a bad request and compares the response with the expected one.
func (b *bench) refused(t *testing.T, c badRequest) {
	status, body := b.send(t, c)
	if status != c.status {
		t.Fatalf("%s %.200s answers %d, want %d: %.500v", c.method, c.path, status, c.status, body)
	}
	if c.error == "" {
		return
	}
	envelope := dig(body, "error")
	if name := dig(envelope, "name"); name != c.error {
		t.Errorf("the error is named %v, want %s: %.500v", name, c.error, body)
	}
	if message := text(dig(envelope, "message")); !strings.Contains(message, c.message) {
		t.Errorf("the error says %q, want %q", message, c.message)
	}
	if data, there := body.(map[string]any)["data"]; !there || data != nil {
		t.Errorf("data is %v, want null", data)
	}
}

// TestBadHTTP checks that requests that are not valid HTTP are refused, and that other clients are still answered.
func TestBadHTTP(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ name, request, status string }{
		{"no request at all", "\x00\x01\x02\r\n\r\n", "400"},
		{"a path of raw bytes", "GET /api/\xff\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "40"},
		{"no host", "GET /api/reviews HTTP/1.1\r\n\r\n", "400"},
		{"two hosts", "GET /api/reviews HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		{"a negative length", "POST /api/reviews HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "400"},
		{"two lengths", "POST /api/reviews HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
			"400"},
		{"chunks that are none", "POST /api/reviews HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " +
			b.target.Tokens["full"] +
			"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"a header of 100 KB", "GET /api/reviews HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 100<<10) +
			"\r\n\r\n", "431"},
		{"a version that is none", "GET /api/reviews HTTP/9.9\r\nHost: a\r\n\r\n", "505"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.target.Base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			io.WriteString(conn, c.request) // the server may close the connection before it has read everything
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(line, "HTTP/1.1 "+c.status) && !strings.HasPrefix(line, "HTTP/1.0 "+c.status) {
				t.Errorf("answered %q, want %s", line, c.status)
			}
		})
	}
	if status, _ := b.send(t, badRequest{path: "/api/reviews"}); status != http.StatusOK {
		t.Errorf("a good request is answered %d afterwards", status)
	}
}
