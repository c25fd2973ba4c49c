package params_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/qs"
	"lectern/store"
)

const project = "../../testdata/conformance/projects/kitchen"

// kitchen is the model that the suites run on.
var kitchen = sync.OnceValue(func() *contenttypes.Model {
	m, problems := contenttypes.Load(project, contenttypes.Options{})
	if len(problems) > 0 {
		panic(problems.Error())
	}
	return m
})

var limits = params.ListSettings{DefaultLimit: 25, MaxLimit: 100, WithCount: true}

func newParser() *params.Parser { return params.New(kitchen(), "en", limits) }

// callers are the callers that the project's config/permissions.yaml defines.
var callers = map[string]*permission.Access{
	"full":     permission.FullAccess,
	"readonly": permission.FullAccess,
	"public": allow("api::restaurant.restaurant.find", "api::restaurant.restaurant.findOne",
		"api::category.category.find",
		"api::category.category.findOne", "api::review.review.find"),
	"user": allow("api::restaurant.restaurant.find", "api::restaurant.restaurant.findOne", "api::review.review.find",
		"api::review.review.findOne", "api::person.person.find", "api::person.person.findOne"),
	"reviewer": allow("api::review.review.find", "api::review.review.create"),
}

// allow returns an Access with actions, which reads all drafts.
func allow(actions ...string) *permission.Access {
	return permission.NewAccess(append(actions, permission.EveryDraft))
}

func typeOf(t testing.TB, uid string) *contenttypes.ContentType {
	t.Helper()
	if !strings.Contains(uid, ":") {
		uid = "api::" + uid + "." + uid
	}
	typ := kitchen().Type(uid)
	if typ == nil {
		t.Fatalf("no type %s", uid)
	}
	return typ
}

func parse(t testing.TB, query string) *jsontree.Object {
	t.Helper()
	q, err := qs.Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return q
}

// said returns an error as text: its message, and its details as JSON unless they are empty.
func said(err error) string {
	var e *apierror.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	if e.Details == nil {
		return e.Message
	}
	return e.Message + " " + string(jsontree.Append(nil, e.Details))
}

// filterText prints a filter.
func filterText(f store.Filter) string {
	switch f := f.(type) {
	case nil:
		return ""
	case store.And:
		return "and(" + filterTexts(f) + ")"
	case store.Or:
		return "or(" + filterTexts(f) + ")"
	case store.Not:
		return "not(" + filterText(f.Filter) + ")"
	case store.Through:
		return f.Attr.Name + ">" + filterText(f.Filter)
	case store.Publication:
		return fmt.Sprintf("publication %d", f.State)
	case store.Search:
		return fmt.Sprintf("search %q in %s", f.Text, attributeNames(f.Attrs))
	case store.Compare:
		return f.Attr.Name + " " + opNames[f.Op] + valueText(f.Values)
	}
	return fmt.Sprintf("?%T", f)
}

func filterTexts(list []store.Filter) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, filterText(f))
	}
	return strings.Join(parts, ", ")
}

func valueText(values []any) string {
	if len(values) == 0 {
		return ""
	}
	b, _ := json.Marshal(values)
	return string(b)
}

func attributeNames(list []*contenttypes.Attribute) string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return strings.Join(names, ",")
}

var opNames = map[store.Op]string{
	store.Eq: "=", store.EqI: "=i", store.Ne: "!=", store.NeI: "!=i", store.In: "in", store.NotIn: "notIn",
	store.Lt:  "<",
	store.Lte: "<=", store.Gt: ">", store.Gte: ">=", store.Between: "between", store.Contains: "contains",
	store.ContainsI: "containsi", store.NotContains: "notContains", store.NotContainsI: "notContainsi",
	store.StartsWith: "startsWith", store.StartsWithI: "startsWithi", store.EndsWith: "endsWith",
	store.EndsWithI: "endsWithi",
	store.Null:      "null", store.NotNull: "notNull",
}

func sortText(keys []store.SortKey) string {
	var parts []string
	for _, k := range keys {
		s := strings.ReplaceAll(attributeNames(k.Path), ",", ".")
		if k.Desc {
			s += ":desc"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ",")
}

// selectionText prints a selection; the default fields of a schema as "-".
func selectionText(s *documents.Selection) string {
	if s == nil {
		return ""
	}
	out := "-"
	if len(s.Fields) == 0 || len(s.Fields) != len(scalars(s.Fields[0].Owner)) {
		out = attributeNames(s.Fields)
	}
	for _, p := range s.Populate {
		out += " " + p.Attr.Name
		if p.Count {
			out += "#"
		}
		if p.Related {
			out += "+related"
		}
		if q := p.Query; q != nil {
			out += "<" + filterText(q.Filter) + "|" + sortText(q.Sort) + ">"
		}
		if p.Of != nil {
			out += "{" + selectionText(p.Of) + "}"
		}
		if p.Attr.Type == contenttypes.DynamicZone {
			var on []string
			for _, v := range p.On {
				filter := ""
				if v.Filter != nil {
					filter = "<" + filterText(v.Filter) + ">"
				}
				on = append(on, v.Schema.UID+filter+"{"+selectionText(v.Of)+"}")
			}
			out += "[" + strings.Join(on, " ") + "]"
		}
	}
	return out
}

func scalars(s *contenttypes.Schema) []*contenttypes.Attribute {
	var list []*contenttypes.Attribute
	for _, a := range s.Attributes {
		if a.IsScalar() && permission.FullAccess.Sees(a) {
			list = append(list, a)
		}
	}
	return list
}
