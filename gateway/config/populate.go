package config

import (
	"strconv"
	"strings"

	"lectern/internal/yamlfile"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
)

// readPopulate reads the relations to populate by default from config/api.yaml: {uid: populate}, each in a form of the
// parameter populate.
func (d *Definition) readPopulate() (problems yamlfile.Problems) {
	n := d.Settings.REST.Populate
	if n.IsNull() {
		return nil
	}
	if n.Kind != yamlfile.Map {
		return yamlfile.Problems{n.Problem("populate says by content-type what is populated, " +
			"such as api::article.article: [author, cover]")}
	}
	d.Populate = params.Defaults{}
	parser := params.New(d.Model, d.Settings.I18n.DefaultLocale, params.ListSettings{})
	for _, e := range n.Entries {
		t := d.Model.Type(e.Key)
		if t == nil {
			problem := "there is no content-type " + strconv.Quote(e.Key)
			if err := d.Actions.Check(e.Key, "find"); err != nil && strings.HasPrefix(e.Key, "api::") {
				problem = err.Error() // its error suggests a similar name
			}
			problems.Add(e.Value, "populate: %s", problem)
			continue
		}
		if t.BuiltIn {
			problems.Add(e.Value, "populate: %s is built in; only types of content-types/ have a default", t.UID)
			continue
		}
		for _, part := range populateParts(e.Value) {
			if wrong := parser.CheckDefault(t, part.populate); wrong != "" {
				problems.Add(part.at, "populate of %s: %s", t.UID, wrong)
			}
		}
		d.Populate[t] = queryValue(e.Value)
	}
	return problems
}

// A populatePart is a part of a default that is checked alone, so that a problem in it is reported at its line.
type populatePart struct {
	populate any
	at       *yamlfile.Node
}

// populateParts splits a default into the items of its list or the entries of its mapping.
func populateParts(n *yamlfile.Node) (parts []populatePart) {
	switch n.Kind {
	case yamlfile.List:
		for _, item := range n.Items {
			parts = append(parts, populatePart{[]any{queryValue(item)}, item})
		}
	case yamlfile.Map:
		for _, e := range n.Entries {
			o := jsontree.NewObject()
			o.Set(e.Key, queryValue(e.Value))
			parts = append(parts, populatePart{o, e.Value})
		}
	default:
		parts = append(parts, populatePart{queryValue(n), n})
	}
	return parts
}

// queryValue converts a Node to the values that a parsed query string consists of: texts, lists and objects, and nil
// for null.
func queryValue(n *yamlfile.Node) any {
	switch {
	case n.IsNull():
		return nil
	case n.Kind == yamlfile.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = queryValue(item)
		}
		return list
	case n.Kind == yamlfile.Map:
		o := jsontree.NewObject()
		for _, e := range n.Entries {
			o.Set(e.Key, queryValue(e.Value))
		}
		return o
	}
	return n.Text
}
