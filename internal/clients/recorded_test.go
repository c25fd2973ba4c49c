package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/gateway"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// leastRecorded is how many recorded answers must be compiled, so that a mistake in this file cannot pass over all of
// them.
const leastRecorded = 400

// A suite is what the test needs of a recorded suite; internal/conformance describes the format.
type suite struct {
	Suite   string
	Project string
	Steps   []struct {
		Name    string
		As      string
		Request struct {
			Method, Path string
			Headers      map[string]string
		}
		Expect struct {
			Status int
			Body   json.RawMessage
		}
	}
}

// recorded writes a program with the recorded answers to the reads that the client can express.
func recorded(t *testing.T, dir string) {
	files, err := filepath.Glob("../../testdata/conformance/suites/*.json")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]*program{}
	total := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s suite
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(s.Project)
		p := programs[name]
		if p == nil {
			d, err := gateway.Load(filepath.Join("../../testdata/conformance/projects", name), nil)
			if err != nil {
				t.Fatal(err)
			}
			p = newProgram(d, name)
			programs[name] = p
		}
		for _, step := range s.Steps {
			reader := step.As == "" || step.As == "full" || step.As == "readonly" // others may not see every relation
			if !reader || step.Request.Method != "" && step.Request.Method != "GET" || step.Expect.Status != 200 ||
				len(step.Request.Headers) > 0 {
				continue
			}
			if p.add(s.Suite+": "+step.Name, step.Request.Path, step.Expect.Body) {
				total++
			}
		}
	}
	if t.Logf("%d recorded answers", total); total < leastRecorded {
		t.Errorf("%d recorded answers, want at least %d", total, leastRecorded)
	}
	for name, p := range programs {
		write(t, filepath.Join(dir, "recorded-"+name+".ts"), p.text.String()+"]\n")
	}
}

// A program is the TypeScript with the answers of one project.
type program struct {
	text    bytes.Buffer
	types   map[string]*contenttypes.ContentType // by name in paths
	locales map[string]bool
}

func newProgram(d *gateway.Definition, name string) *program {
	p := &program{types: map[string]*contenttypes.ContentType{}, locales: map[string]bool{"*": true}}
	for _, t := range d.Model.Types {
		switch {
		case t.BuiltIn:
		case t.Kind == contenttypes.SingleType:
			p.types[t.Singular] = t
		default:
			p.types[t.Plural] = t
		}
	}
	for _, l := range d.Settings.I18n.Locales {
		p.locales[l.Code] = true
	}
	fmt.Fprintf(&p.text, `import type { Exact, FindParams, FindResult, OneParams, OneResult, TypeUID } from './%s.js'
const list = <U extends TypeUID>() => <const Q extends FindParams<U>>(_params: Q & Exact<Q, FindParams<U>>, _answer: FindResult<U, Q>) => {}
const one = <U extends TypeUID>() => <const Q extends OneParams<U>>(_params: Q & Exact<Q, OneParams<U>>, _answer: OneResult<U, Q>) => {}
export const recorded = [
list, one,
`, name)
	return p
}

var apiPath = regexp.MustCompile(`^/api/([a-z-]+)(/[^/?]+)?(?:\?(.*))?$`)

// add adds the answer to a read. It returns false if the client cannot express the read.
func (p *program) add(name, path string, body json.RawMessage) bool {
	parts := apiPath.FindStringSubmatch(path)
	if parts == nil || p.types[parts[1]] == nil {
		return false
	}
	t, function := p.types[parts[1]], "list"
	if parts[2] != "" || t.Kind == contenttypes.SingleType {
		function = "one"
	}
	query, err := qs.Parse(parts[3])
	if err != nil {
		return false
	}
	params, ok := p.params(t, query)
	if !ok || function == "one" && (query.Value("sort") != nil || query.Value("pagination") != nil ||
		query.Value("_q") != nil || query.Value("locale") == "*") {
		return false
	}
	answer, err := jsontree.Parse(body, 100)
	if err != nil {
		return false
	}
	answer, ok = example("", answer)
	if !ok {
		return false
	}
	fmt.Fprintf(&p.text, "// %s\n() => %s<'%s'>()(\n%s,\n%s),\n", strings.ReplaceAll(name, "\n", " "), function, t.UID,
		jsontree.Append(nil, params), jsontree.Append(nil, answer))
	return true
}

// tokens are values that the tokens of the format stand for. A token of any value is missing, since it has no type.
var tokens = map[string]any{
	"int": jsontree.Number("1"), "number": jsontree.Number("1"), "intstr": "1", "string": "x", "jwt": "x",
	"time": "2026-01-01T00:00:00.000Z",
}

var token = regexp.MustCompile(`^<([a-z]+)(:[^>]*)?>$`)

// example returns a recorded value with a value for each token. It is not ok if the type of one is not known.
func example(key string, v any) (any, bool) {
	switch v := v.(type) {
	case *jsontree.Object:
		o := jsontree.NewObject()
		for _, k := range v.Keys {
			inner, ok := example(k, v.Value(k))
			if !ok {
				return nil, false
			}
			o.Set(k, inner)
		}
		return o, true
	case []any:
		list := make([]any, len(v))
		for i, inner := range v {
			var ok bool
			if list[i], ok = example(key, inner); !ok {
				return nil, false
			}
		}
		return list, true
	case string:
		if strings.HasPrefix(v, "{{") {
			if key == "id" {
				return jsontree.Number("1"), true
			}
			return "x", true
		}
		found := token.FindStringSubmatch(v)
		if found == nil || found[1] == "doc" || found[1] == "upload" {
			return v, true
		}
		value, ok := tokens[found[1]]
		return value, ok
	}
	return v, true
}
