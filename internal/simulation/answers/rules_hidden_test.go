package answers

import (
	"fmt"
	"strings"
)

// missingID is the id of no document.
const missingID = "nosuchdocumentnosuchdocu"

// lines are the headers of a request for a list in JSON Lines.
var lines = []string{"Accept", "application/x-ndjson"}

// touchHidden reads and writes documents that the asker does not see, and links to them. The answers are those for a
// document that does not exist. What they have not changed, the questions behind them tell.
func (c *couple) touchHidden() error {
	for i, d := range c.world.Docs {
		_, may := c.asker.Find[d.Type]
		if !may || d.Type.Single || len(d.Rows) == 0 || !c.hides(i) {
			continue
		}
		for _, q := range callsAbout(d.Type, d.ID.text()) {
			got, err := c.ask(q)
			if err != nil {
				return err
			}
			none, err := c.ask(q.about(d.ID.text(), missingID))
			if err != nil {
				return err
			}
			if got.status != none.status || strings.ReplaceAll(got.body, d.ID.text(), missingID) != none.body {
				return fmt.Errorf("%s\na document that the asker does not see is answered\n%s\none that does not exist\n%s",
					q, got, none)
			}
		}
	}
	return nil
}

// readSeen reads the histories of documents that the asker sees, and streams lists.
func (c *couple) readSeen() error {
	for _, t := range c.world.Model.Types {
		if t.Single {
			continue
		}
		for _, status := range []string{published, draft} {
			list := call{method: "GET", path: "/api/" + t.Plural + "?populate=*&status=" + status,
				headers: lines}
			if _, err := c.ask(list); err != nil {
				return err
			}
			for _, d := range c.world.seenBy(c.asker, status).Docs {
				if d.Type != t || len(d.Rows) == 0 {
					continue
				}
				path := "/api/" + t.Plural + "/" + d.ID.text() + "/_history"
				if _, err := c.ask(call{method: "GET", path: path}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// callsAbout returns calls that name a document.
func callsAbout(t *Type, id string) []call {
	path := "/api/" + t.Plural + "/" + id
	empty := map[string]any{"data": map[string]any{}}
	list := []call{{method: "GET", path: path}, {method: "GET", path: path + "?status=draft&locale=fr"},
		{method: "GET", path: path + "/_history"}, {method: "PUT", path: path, body: empty},
		{method: "PUT", path: path, body: empty, headers: []string{"If-Match", "*"}},
		{method: "DELETE", path: path, headers: []string{"If-Match", "*"}},
		{method: "GET", path: "/api/" + t.Plural + "?filters[documentId]=" + id, headers: lines},
		{method: "POST", path: "/graphql", body: map[string]any{"query": fmt.Sprintf(
			"{a: %s(documentId: %q) {documentId} %s_connection(filters: {documentId: {eq: %[2]q}}) {pageInfo {total}}}",
			t.oneField(), id, t.listField())}},
	}
	if t.Drafts {
		for _, action := range []string{"publish", "unpublish", "discard-draft"} {
			list = append(list, call{method: "POST", path: path + "/actions/" + action})
		}
	}
	for _, a := range t.Attributes {
		if a.Type == "relation" && a.Target == t && !a.Mapped {
			data := map[string]any{"data": map[string]any{a.Name: map[string]any{"connect": []any{id}}}}
			list = append(list, call{method: "POST", path: "/api/" + t.Plural, body: data})
		}
	}
	return list
}

// about returns the call about another document.
func (c call) about(id, other string) call {
	c.path = strings.ReplaceAll(c.path, id, other)
	if c.body != nil {
		c.body = replaced(c.body, id, other)
	}
	return c
}

// replaced returns a body with another text in place of each former.
func replaced(v any, former, text string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, former, text)
	case rawBody:
		return rawBody(strings.ReplaceAll(string(v), former, text))
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, replaced(x, former, text))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = replaced(x, former, text)
		}
		return out
	}
	return v
}
