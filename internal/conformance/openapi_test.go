package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// A contract checks exchanges against the OpenAPI documents of the projects of the suites: the path, the parameters and
// body of requests that succeed, and the status and body of answers.
type contract struct {
	mu         sync.Mutex
	documents  map[string]*document // by the directory of the project
	checked    int
	deviations map[string]int // by reason: how many exchanges were excused
	broken     []string       // what did not conform, without an excuse
}

// excuses are the reasons for which an exchange need not conform. Each must be needed by some exchange of the suites.
var excuses = []struct {
	why     string
	applies func(e *exchange, err error) bool
}{
	{"the header Strapi-Response-Format: v4 changes the form of documents",
		func(e *exchange, _ error) bool { return e.req.Header.Get("Strapi-Response-Format") != "" }},
	{"a populate with count answers {count} in place of documents",
		func(e *exchange, _ error) bool { return e.has("[count]=") }},
	{"OPTIONS is described nowhere", func(e *exchange, _ error) bool { return e.req.Method == http.MethodOptions }},
	{"net/http answers a malformed path by itself", func(e *exchange, _ error) bool { return e.has("%A?") }},
	{"a parameter that an operation does not have has no effect", func(_ *exchange, err error) bool {
		var unknown unknownParameter
		return errors.As(err, &unknown) && slices.Contains(withoutEffect, string(unknown))
	}},
	{"a value that is not listed stands for the default, or for nothing", func(e *exchange, _ error) bool {
		return e.has("status=junk", "status[]=", "locale=it", "locale=all", "locale=xx", "locale=&", "pagination[foo]",
			"pagination=2", "[on][default.address]") ||
			strings.HasSuffix(e.query, "status=")
	}},
	{"a sort may be written as an object",
		func(e *exchange, _ error) bool { return e.has("sort[seats]=", "sort[0][seats]=", "sort[owner][age]=") }},
	{"a name without = is null, which JSON tools do not write in query strings", func(e *exchange, _ error) bool {
		return bareName.MatchString(e.query)
	}},
	{"publishedAt and locale have no effect in a body",
		refused("properties 'publishedAt' not allowed", "properties 'locale' not allowed")},
	{"keys beside data, and keys that a user does not have, have no effect",
		refused("'foo', 'meta' not allowed", "'foo' not allowed", "'nope' not allowed", "'remember' not allowed")},
	{"no client should write the digests of a user's codes",
		refused("'resetPasswordToken' not allowed", "'confirmationToken' not allowed")},
	{"without sessions nobody reads the name of a device, and with them only a text names one",
		refused("'deviceId' not allowed", "'/deviceId'")},
	{"a draft need not keep to the limits of published documents", func(e *exchange, err error) bool {
		return e.has("status=draft") && refused("minimum:", "maxItems:")(e, err)
	}},
	{"an empty text matches every pattern", refused("'' does not match pattern")},
	{"texts and numbers are converted to numbers, booleans and times",
		refused("got string, want null or integer", "want null or boolean", "got number, want null or string")},
	{"a relation ignores what names no document", func(e *exchange, err error) bool {
		return refused("'anyOf' failed")(e, err) && noDocument.Match(e.sent)
	}},
	{"a body may also be written as a form, or as another kind of JSON", func(_ *exchange, err error) bool {
		var kind undescribedBody
		return errors.As(err, &kind) &&
			slices.Contains([]undescribedBody{"application/x-www-form-urlencoded", "multipart/form-data",
				"application/vnd.api+json"}, kind)
	}},
	{"what is said about a file may also be changed by JSON", func(e *exchange, err error) bool {
		var kind undescribedBody
		return e.has("/api/upload?id=") && errors.As(err, &kind) && kind == "application/json"
	}},
	{"the body of a DELETE has no effect", func(e *exchange, err error) bool {
		var kind undescribedBody
		return e.req.Method == http.MethodDelete && errors.As(err, &kind)
	}},
}

// refused returns an excuse for bodies of requests that the schema refuses with one of some texts.
func refused(texts ...string) func(*exchange, error) bool {
	return func(_ *exchange, err error) bool {
		var body badBody
		return errors.As(err, &body) &&
			slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
}

// noDocument finds relations whose value is not what a client would send on purpose.
var noDocument = regexp.MustCompile(`"(categories|owner|cover|gallery)":(true|\{\}|\[null\]|.*"position":")`)

// withoutEffect are the parameters that requests of the suites send to operations that do not have them.
var withoutEffect = []string{"_locale", "_x", "fields", "filters.name", "foo", "locale", "pagination", "start",
	"status", "v", "x"}

var bareName = regexp.MustCompile(`(^|&)(filters|fields)[^=&]*(&|$)`)

// has reports whether the path or query string of a request has one of some texts.
func (e *exchange) has(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(e.path+"?"+e.query, text) })
}

// An unknownParameter is the error for a parameter that an operation does not have.
type unknownParameter string

func (p unknownParameter) Error() string { return "the parameter " + string(p) + " is unknown" }

// An exchange is a request and its answer.
type exchange struct {
	req    *http.Request
	path   string
	query  string // with brackets as they are
	sent   []byte // the body of the request
	status int
	header http.Header
	body   []byte
}

// A document is an OpenAPI document whose schemas are compiled when they are first used.
type document struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer
	others   validatorOfOthers             // zero in short tests
}

// newContract returns a contract that has checked nothing yet.
func newContract() *contract {
	return &contract{documents: map[string]*document{}, deviations: map[string]int{}}
}

// watch has the exchanges with a server checked.
func (c *contract) watch(t *testing.T, target *Target, project string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.documents[project] == nil {
		c.documents[project] = fetchDocument(t, target)
	}
	target.transport = &watched{c, c.documents[project]}
}

// A watched sends requests, and checks each exchange.
type watched struct {
	contract *contract
	document *document
}

var brackets = strings.NewReplacer("%5B", "[", "%5D", "]", "%24", "$")

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := readSent(req)
	if err != nil {
		return nil, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	path, raw, _ := strings.Cut(strings.TrimPrefix(req.URL.Opaque, "//"+req.URL.Host), "?")
	if restPath.MatchString(path) && !strings.HasSuffix(path, "/query") {
		w.contract.check(w.document, &exchange{req, path, brackets.Replace(raw), sent, res.StatusCode, res.Header,
			body})
	}
	return res, nil
}

// readSent returns the body of a request that is still to be sent.
func readSent(req *http.Request) ([]byte, error) {
	if req.GetBody == nil {
		return nil, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// check checks one exchange.
func (c *contract) check(d *document, e *exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked++
	err := d.conforms(e)
	if err == nil && d.others.Validator != nil && d.operation(e) != nil {
		err = d.others.judge(e)
	}
	if err == nil {
		return
	}
	for _, x := range excuses {
		if x.applies(e, err) {
			c.deviations[x.why]++
			return
		}
	}
	c.broken = append(c.broken, fmt.Sprintf("%s %s?%s: %d: %v\nsent: %.300s", e.req.Method, e.path, e.query, e.status,
		err, e.sent))
}

// judge fails the test if an exchange did not conform, or if an excuse was not needed.
func (c *contract) judge(t *testing.T) {
	for _, text := range c.broken {
		t.Errorf("not as the OpenAPI document says: %s", text)
	}
	for _, x := range excuses {
		if !testing.Short() && c.checked > 1000 && c.deviations[x.why] == 0 {
			t.Errorf("no exchange needs the excuse: %s", x.why)
		}
	}
	t.Logf("OpenAPI: %d exchanges, %d do not conform, excused: %v", c.checked, len(c.broken), c.deviations)
}

// fetchDocument asks a server for the document of everything.
func fetchDocument(t *testing.T, target *Target) *document {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target.Base+"/api/_openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+target.Tokens["full"])
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the OpenAPI document: %d, %v", res.StatusCode, err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root.(map[string]any), compiler: jsonschema.NewCompiler(),
		schemas: map[string]*jsonschema.Schema{}}
	if !testing.Short() { // under the race detector, this validator takes longer than everything else
		if d.others, err = newValidator(text); err != nil {
			t.Fatal(err)
		}
	}
	closeObjects(root)
	loosen(d.root)
	if err := d.compiler.AddResource("document.json", root); err != nil {
		t.Fatal(err)
	}
	return d
}

// closeObjects has the schemas of objects refuse properties that they do not list, unless they say otherwise: an answer
// must not hold what the document does not know.
func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	case map[string]any:
		for _, item := range v {
			closeObjects(item)
		}
		if _, isSchema := v["properties"].(map[string]any); isSchema && v["type"] != nil &&
			v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
	}
}

// loosen adds a copy of the schemas in which numbers and booleans may be texts, as they are in a query string:
// components/texts.
func loosen(root map[string]any) {
	components := root["components"].(map[string]any)
	components["texts"] = asTexts(components["schemas"])
}

func asTexts(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = asTexts(item)
		}
		return list
	case map[string]any:
		o := map[string]any{}
		for key, item := range v {
			o[key] = asTexts(item)
		}
		if ref, ok := o["$ref"].(string); ok {
			o["$ref"] = strings.Replace(ref, "#/components/schemas/", "#/components/texts/", 1)
		}
		switch o["type"] {
		case "integer", "number", "boolean":
			o["type"] = "string"
			delete(o, "minimum")
			delete(o, "maximum")
			delete(o, "default")
		}
		return o
	}
	return v
}

// conforms returns an error if an exchange is not as the document says.
func (d *document) conforms(e *exchange) error {
	op := d.operation(e)
	if op == nil {
		if e.status == http.StatusNotFound || e.status == http.StatusMethodNotAllowed ||
			e.status == http.StatusBadRequest {
			return nil
		}
		return fmt.Errorf("there is no such operation")
	}
	response, ok := op["responses"].(map[string]any)[fmt.Sprint(e.status)].(map[string]any)
	if !ok {
		return fmt.Errorf("it has no response of this status: %.200s", e.body)
	}
	if e.status < 300 {
		if err := d.parameters(op, e.query); err != nil {
			return err
		}
		if err := d.requestBody(op, e); err != nil {
			return err
		}
	}
	return d.answer(response, e)
}

// operation returns the operation of a request; nil if there is none.
func (d *document) operation(e *exchange) map[string]any {
	method := strings.ToLower(e.req.Method)
	if method == "head" {
		method = "get"
	}
	asked := strings.Split(strings.TrimRight(strings.ToLower(e.path), "/"), "/")
	var found map[string]any
	variables := len(asked)
	for template, item := range d.root["paths"].(map[string]any) {
		if n, ok := matches(strings.Split(strings.ToLower(template), "/"), asked); ok && n < variables {
			found, variables = item.(map[string]any), n
		}
	}
	op, _ := found[method].(map[string]any)
	return op
}

// matches reports whether a path matches a template, and how many variables that has.
func matches(template, path []string) (variables int, ok bool) {
	if len(template) != len(path) {
		return 0, false
	}
	for i, part := range template {
		switch {
		case strings.HasPrefix(part, "{") && path[i] != "":
			variables++
		case part != path[i]:
			return 0, false
		}
	}
	return variables, true
}

// answer checks the body of an answer.
func (d *document) answer(response map[string]any, e *exchange) error {
	if ref, ok := response["$ref"].(string); ok {
		response = d.at(ref).(map[string]any)
	}
	content, has := response["content"].(map[string]any)
	if e.req.Method == http.MethodHead || !has && len(e.body) == 0 {
		return nil
	}
	if content["*/*"] != nil || content["text/plain"] != nil {
		return nil
	}
	kind, _, _ := strings.Cut(e.header.Get("Content-Type"), ";")
	media, ok := content[kind].(map[string]any)
	if !ok {
		return fmt.Errorf("it has no answer of type %q", kind)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.body))
	if err != nil {
		return err
	}
	return d.validate(media["schema"], value)
}

// at returns the value that a reference leads to.
func (d *document) at(ref string) any {
	var v any = d.root
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		v = v.(map[string]any)[key]
	}
	return v
}

// validate validates a value by a schema of the document. Schemas that are not references are named by their text.
func (d *document) validate(schema, value any) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	compiled := d.schemas[string(text)]
	if compiled == nil {
		url := fmt.Sprintf("schema%d.json", len(d.schemas))
		if err := d.compiler.AddResource(url, inDocument(schema)); err != nil {
			return err
		}
		if compiled, err = d.compiler.Compile(url); err != nil {
			return err
		}
		d.schemas[string(text)] = compiled
	}
	return compiled.Validate(value)
}

// inDocument returns a schema whose references lead into the document.
func inDocument(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = inDocument(item)
		}
		return list
	case map[string]any:
		o := map[string]any{}
		for key, item := range v {
			o[key] = inDocument(item)
		}
		if ref, ok := o["$ref"].(string); ok {
			o["$ref"] = "document.json" + ref
		}
		return o
	}
	return v
}

// parameters checks the query string of a request that has succeeded.
func (d *document) parameters(op map[string]any, query string) error {
	sent, err := qs.Parse(query)
	if err != nil {
		return err
	}
	known := map[string]map[string]any{}
	list, _ := op["parameters"].([]any)
	for _, item := range list {
		p := item.(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			p = d.at(ref).(map[string]any)
		}
		if p["in"] == "query" {
			known[p["name"].(string)] = p
		}
	}
	for _, key := range sent.Keys {
		p := known[key]
		if p == nil {
			return unknownParameter(key)
		}
		value := jsontree.Plain(sent.Value(key))
		if text, ok := value.(string); ok && p["style"] == "form" && p["explode"] == false {
			value = commaSeparated(text)
		}
		if err := d.validate(asTexts(p["schema"]), value); err != nil {
			return fmt.Errorf("parameter %s: %w", key, err)
		}
	}
	return nil
}

// commaSeparated returns the words of a list with commas.
func commaSeparated(text string) []any {
	var list []any
	for word := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(word))
	}
	return slices.DeleteFunc(list, func(v any) bool { return v == "" })
}
