package answers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// openDoors switches on, in the project in dir, what a couple is asked by beside REST.
func openDoors(dir string) error {
	path := filepath.Join(dir, "config", "plugins.yaml")
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "mcp:") {
		return err
	}
	all := strings.Replace(string(text), "graphql:\n  config:\n", "graphql:\n  config:\n    subscriptions: true\n", 1)
	return os.WriteFile(path, []byte(all+"mcp: {enabled: true}\n"), 0o644)
}

// tool returns a call of a tool of MCP.
func tool(name string, arguments map[string]any) call {
	return call{method: "POST", path: "/mcp", headers: []string{"Accept", "application/json, text/event-stream"},
		body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
			"params": map[string]any{"name": name, "arguments": arguments}}}
}

// batchOf returns a batch of one operation.
func batchOf(atomic bool, op map[string]any) call {
	return call{method: "POST", path: "/api/_batch",
		body: map[string]any{"operations": []any{op}, "atomic": atomic}}
}

// knock reads by the ways that questions do not take: descriptions, tools, former versions, long polls.
func (c *couple) knock() error {
	list := []call{{method: "GET", path: "/api/_openapi.json"}, tool("list_types", map[string]any{}),
		{method: "POST", path: "/mcp", headers: tool("", nil).headers,
			body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}}}
	for _, t := range c.world.Model.Types {
		if t.Single {
			list = append(list, tool("read", map[string]any{"type": t.UID, "populate": "*"}))
			continue
		}
		for _, status := range []string{published, draft} {
			list = append(list, tool("find", map[string]any{"type": t.UID, "status": status, "populate": "*",
				"locale": "*", "sort": "id:desc", "pagination": map[string]any{"pageSize": 3}}))
		}
		for _, d := range c.world.seenBy(c.asker, published).Docs {
			if d.Type == t && len(d.Rows) > 0 {
				list = append(list, tool("read", map[string]any{"type": t.UID, "documentId": d.ID.text()}),
					call{method: "GET", path: "/api/" + t.Plural + "/" + d.ID.text() + "?populate=*&asOf=" +
						url.QueryEscape(c.copied.UTC().Format(time.RFC3339Nano))})
			}
		}
	}
	for status, path := range c.followed() {
		list = append(list, call{method: "GET", path: path + "&feed=longpoll&timeout=1000&since=" + c.since[status]})
	}
	for _, q := range list {
		if _, err := c.ask(q); err != nil {
			return err
		}
	}
	return nil
}

// moreCallsAbout returns calls that name a document by the ways that callsAbout does not take. tag is the ETag of the
// document for who sees it.
func (c *couple) moreCallsAbout(t *Type, id, tag string) []call {
	path := "/api/" + t.Plural + "/" + id
	empty := map[string]any{"data": map[string]any{}}
	data := map[string]any{"type": t.UID, "documentId": id, "data": map[string]any{}}
	list := []call{
		{method: "GET", path: path + "?asOf=" + url.QueryEscape(c.copied.UTC().Format(time.RFC3339Nano))},
		{method: "GET", path: path, headers: []string{"If-None-Match", tag}},
		{method: "PUT", path: path, body: empty, headers: []string{"If-Match", tag}},
		{method: "DELETE", path: path, headers: []string{"If-Match", tag, "Idempotency-Key", "deleted"}},
		{method: "PUT", path: path, body: empty, headers: []string{"Idempotency-Key", "updated"}},
		tool("read", map[string]any{"type": t.UID, "documentId": id, "populate": "*"}),
		tool("update", data), tool("delete", map[string]any{"type": t.UID, "documentId": id}),
		tool("find", map[string]any{"type": t.UID, "filters": map[string]any{"documentId": id}}),
		{method: "POST", path: "/graphql", body: map[string]any{"query": fmt.Sprintf(
			"mutation {%s(documentId: %q) {documentId}}", t.mutation("delete"), id)}},
		{method: "POST", path: "/graphql", body: map[string]any{"query": fmt.Sprintf(
			"mutation {%s(documentId: %q, data: {}) {documentId}}", t.mutation("update"), id)}},
	}
	for _, atomic := range []bool{true, false} {
		list = append(list,
			batchOf(atomic, map[string]any{"op": "update", "type": t.UID, "documentId": id, "data": map[string]any{}}),
			batchOf(atomic, map[string]any{"op": "delete", "type": t.UID, "documentId": id, "ifMatch": tag}))
	}
	if t.Drafts {
		list = append(list, tool("publish", map[string]any{"type": t.UID, "documentId": id}),
			batchOf(true, map[string]any{"op": "unpublish", "type": t.UID, "documentId": id}))
	}
	for _, a := range t.Attributes {
		switch {
		case a.Type == "media":
			list = append(list, upload(t.UID, id, a.Name))
		case a.Type == "relation" && a.Target == t && !a.Mapped:
			linked := map[string]any{a.Name: map[string]any{"connect": []any{id}}}
			list = append(list, batchOf(false, map[string]any{"op": "create", "type": t.UID, "data": linked}),
				tool("create", map[string]any{"type": t.UID, "data": linked}))
		}
	}
	return list
}

// mutation returns the field of GraphQL that does something to documents of a type.
func (t *Type) mutation(verb string) string {
	return verb + strings.ToUpper(t.Singular[:1]) + t.Singular[1:]
}

// upload returns a call that uploads a file into an attribute of a document.
func upload(uid, id, field string) call {
	const bound = "0123456789abcdef"
	var b strings.Builder
	for _, part := range [][2]string{{"ref", uid}, {"refId", id}, {"field", field}} {
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", bound, part[0], part[1])
	}
	fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\n"+
		"Content-Type: text/plain\r\n\r\na\r\n--%[1]s--\r\n", bound)
	return call{method: "POST", path: "/api/upload", body: rawBody(b.String()),
		headers: []string{"Content-Type", "multipart/form-data; boundary=" + bound}}
}

// rawBody is a body that is sent as it is.
type rawBody string

// knockAtHidden is touchHidden by the ways that it does not take.
func (c *couple) knockAtHidden() error {
	for i, d := range c.world.Docs {
		_, may := c.asker.Find[d.Type]
		if !may || d.Type.Single || len(d.Rows) == 0 || !c.hides(i) {
			continue
		}
		id := d.ID.text()
		_, header, err := call{method: "GET", path: "/api/" + d.Type.Plural + "/" + id}.send(c.first, c.first.Token)
		if err != nil {
			return err
		}
		tag := header.Get("ETag")
		if tag == "" {
			tag = `"of nothing"`
		}
		if err := c.countWork(d); err != nil {
			return err
		}
		for _, q := range c.moreCallsAbout(d.Type, id, tag) {
			got, err := c.askAlike(q)
			if err != nil {
				return err
			}
			none, err := c.askAlike(q.about(id, missingID))
			if err != nil {
				return err
			}
			if got.status != none.status || loose(strings.ReplaceAll(got.body, id, missingID)) != loose(none.body) {
				return fmt.Errorf("%s\na document that the asker does not see is answered\n%s\none that does not exist\n%s",
					q, got, none)
			}
		}
	}
	return nil
}

// countWork reads a document that the asker does not see, and one that does not exist. The first takes a row more, and
// no link, if the rule follows none.
func (c *couple) countWork(d *Document) error {
	where := c.asker.Find[d.Type]
	if own := c.asker.One[d.Type]; own != nil {
		where = own
	}
	if where == nil || where.follows() {
		return nil
	}
	q := call{method: "GET", path: "/api/" + d.Type.Plural + "/" + d.ID.text()}
	var done [2]Reads
	for i, q := range []call{q, q.about(d.ID.text(), missingID)} {
		before := c.first.Reads()
		if _, _, err := q.send(c.first, c.asker.Key); err != nil {
			return err
		}
		done[i] = c.first.Reads().since(before)
	}
	if more := done[0].since(done[1]); more.Rows > 1 || more.Links > 0 || more.Seeks > 2 {
		return fmt.Errorf("%s reads %v, and a document that does not exist %v", q, done[0], done[1])
	}
	return nil
}

// follows reports whether a filter leads to other documents.
func (f *Filter) follows() bool {
	return f.Attr == author || f.Attr != nil && f.Attr.isLink() || slices.ContainsFunc(f.Of, (*Filter).follows)
}

// news matches what is another in each document that is written: its ids and times.
var news = regexp.MustCompile(
	`\\?"id\\?":\d+|\\?"[a-z][a-z0-9]{23}\\?"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|_[0-9a-f]{10}\b|/uploads/[^"\\]*`)

// loose returns a body without what is another in each document that is written.
func loose(body string) string { return news.ReplaceAllString(body, "…") }

// varying matches the lines of headers that follow from ids and times.
var varying = regexp.MustCompile(`(?m)^(Etag|Content-Length|Location|Lectern-Position): .*\n`)

// askAlike sends a call that may write to both servers. Their answers must be the same but for ids and times.
func (c *couple) askAlike(q call) (reply, error) {
	first, _, err := q.send(c.first, c.asker.Key)
	if err != nil {
		return first, err
	}
	second, _, err := q.send(c.second, c.asker.Key)
	if err != nil {
		return first, err
	}
	for _, r := range []*reply{&first, &second} {
		r.headers = varying.ReplaceAllString(r.headers, "")
	}
	if first.status != second.status || first.headers != second.headers ||
		loose(first.masked().body) != loose(second.masked().body) {
		return first, fmt.Errorf("%s\ntwo contents that the asker sees alike are answered\n%s\nand\n%s", q, first, second)
	}
	return first, nil
}

// writesOfAsker are the number of writes of an asker, and how many are tried to find those.
const (
	writesOfAsker = 15
	writesTried   = 400
)

// write makes the asker write documents of which all versions are seen, and new ones. Both servers answer and show the
// same. It comes last: the Worlds of the couple do not learn which ids these writes make.
func (c *couple) write(seed uint64) error {
	if !c.asker.Does {
		return nil
	}
	o := &operationGenerator{generator: generator{rng: rand.New(rand.NewPCG(seed, 8)), world: c.world,
		cover: NewCoverage(Quirks{})}, documents: 1000, items: 1000}
	done := 0
	for i := 0; i < writesTried && done < writesOfAsker; i++ {
		op := o.write()
		behind := c.mayDo(op)
		if behind == nil {
			continue
		}
		q := call{method: op.method(), path: op.path(c.world)}
		if op.hasBody() {
			q.body = map[string]any{"data": op.body(c.world)}
		}
		got, err := c.askAlike(q)
		if err != nil || got.status >= 500 {
			return errors.Join(err, fmt.Errorf("%s is answered %d", q, got.status))
		}
		done++
		if got.status < 300 {
			*c.world, *c.other = *behind[0], *behind[1]
		}
		for _, status := range []string{published, draft} {
			path := "/api/" + op.Type.Plural + "?populate=*&locale=*&status=" + status
			if _, err := c.askAlike(call{method: "GET", path: path}); err != nil {
				return fmt.Errorf("after %s\n%w", q, err)
			}
		}
	}
	for status, path := range c.followed() {
		if _, err := c.askAlike(call{method: "GET", path: path + "&since=" + c.since[status]}); err != nil {
			return err
		}
	}
	return nil
}

// mayDo returns what the servers have behind a write of the asker that is expected to be accepted, nil if none is: it
// names nothing that the asker does not see, and no value or link of a document that the asker does not see decides
// what it does.
func (c *couple) mayDo(op *Operation) *[2]*World {
	_, may := c.asker.Find[op.Type]
	rule := c.asker.writes(op)
	if rule != nil && rule.check != nil { // which may compare what the asker does not see: writeByRules is about it
		return nil
	}
	op, refused := rule.as(op)
	if refused != 0 || !may || op.Type.Single || op.Kind != "create" && (!c.seesAll(op.Number) || !c.ruledAlike(op.Number)) ||
		c.world.seenBy(c.asker, draft).Apply(op).Status >= 400 {
		return nil
	}
	return c.behind(op)
}

// behind returns what the servers have behind a write that both accept; nil if one does not, or if the asker does not
// see them alike then.
func (c *couple) behind(op *Operation) *[2]*World {
	var behind [2]*World
	for i, w := range []*World{c.world, c.other} {
		behind[i] = w.clone()
		if behind[i].Apply(op).Status >= 400 {
			return nil
		}
		behind[i].nameNew(w)
	}
	if loose(behind[0].shownTo(c.asker)) != loose(behind[1].shownTo(c.asker)) {
		return nil
	}
	return &behind
}

// ruledAlike reports whether the rule of find, which is that of writes too, holds for the same versions of a document
// in both contents. Drafts that another rule shows may have links to what the asker does not see, which it compares.
func (c *couple) ruledAlike(number int) bool {
	var met [2]string
	for i, w := range []*World{c.world, c.other} {
		for _, r := range w.Document(number).Rows {
			met[i] += fmt.Sprintln(r.Locale, r.Status, w.meets(r, c.asker.Find[r.Doc.Type], r.Status))
		}
	}
	return met[0] == met[1]
}

// seesAll reports whether the asker sees all versions of a document in both servers.
func (c *couple) seesAll(number int) bool {
	for _, w := range []*World{c.world, c.other} {
		now, drafts := w.seenBy(c.asker, published), w.seenBy(c.asker, draft)
		for i, d := range w.Docs {
			if d.Number != number {
				continue
			}
			for _, r := range d.Rows {
				in := now
				if r.Status == draft {
					in = drafts
				}
				if !slices.ContainsFunc(in.Docs[i].Rows, func(x *Row) bool {
					return x.Locale == r.Locale && x.Status == r.Status
				}) {
					return false
				}
			}
		}
	}
	return true
}
