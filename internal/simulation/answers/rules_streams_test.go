package answers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"lectern/internal/simulation/program"
)

// A listener reads the same stream of both servers. It was opened before their difference was written.
type listener struct {
	call
	status string // of the versions of which it tells
	typ    *Type  // of a subscription; nil: of all types that the asker follows
	events [2]*bufio.Scanner
}

// listenFor bounds how long the streams of a couple are open.
const listenFor = 5 * time.Minute

// streams is program.Client without its limit of time, which would end streams while the questions are asked.
var streams = &http.Client{Transport: program.Client.Transport}

// listen opens streams of changes, and subscriptions, of the types that rules limit.
func (c *couple) listen() error {
	ctx, stop := context.WithTimeout(context.Background(), listenFor)
	c.first.t.Cleanup(stop)
	for status, path := range c.followed() {
		c.listeners = append(c.listeners, &listener{status: status,
			call: call{method: "GET", path: path + "&feed=eventsource&since=" + c.since[status]}})
		for _, t := range c.world.Model.Types {
			if c.asker.Find[t] == nil || t.Single || status == draft && !t.Drafts || !c.asker.follows(t, status) {
				continue
			}
			query := "subscription {" + t.oneField() + "Changed" + t.changeArguments(status) + " {change documentId}}"
			c.listeners = append(c.listeners, &listener{status: status, typ: t, call: call{method: "POST",
				path: "/graphql", body: map[string]any{"query": query}, headers: []string{"Accept", "text/event-stream"}}})
		}
	}
	for _, l := range c.listeners {
		for i, s := range []*lectern{c.first, c.second} {
			var err error
			if l.events[i], err = l.open(ctx, s, c.asker.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeArguments returns the arguments of a subscription to a type, in all locales.
func (t *Type) changeArguments(status string) string {
	var list []string
	if t.Localized {
		list = append(list, `locale: "*"`)
	}
	if t.Drafts {
		list = append(list, "status: "+strings.ToUpper(status))
	}
	if len(list) == 0 {
		return ""
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// open sends the request for a stream.
func (l *listener) open(ctx context.Context, s *lectern, key string) (*bufio.Scanner, error) {
	req, err := http.NewRequestWithContext(ctx, l.method, s.Base+l.path, strings.NewReader(program.JSON(l.body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := streams.Do(req)
	if err != nil {
		return nil, err
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		return nil, fmt.Errorf("%s: the stream begins with %d %s", l.call, res.StatusCode, kind)
	}
	return bufio.NewScanner(res.Body), nil
}

// next returns the data of the next event of the stream of a server.
func (l *listener) next(server int) string {
	for l.events[server].Scan() {
		if data, ok := strings.CutPrefix(l.events[server].Text(), "data: "); ok {
			return data
		}
	}
	return fmt.Sprint("the stream ends: ", l.events[server].Err())
}

// hear changes a document that the asker sees, of each type, in both servers. The streams tell of that first, and so of
// nothing that was written before.
func (c *couple) hear() error {
	for _, t := range c.world.Model.Types {
		for _, d := range c.world.Docs {
			if d.Type != t || c.asker.Find[t] == nil || t.Single || len(d.Rows) == 0 || !c.seesAll(d.Number) {
				continue
			}
			written, err := c.touch(d)
			if err != nil {
				return err
			}
			if written {
				if err := c.hearOf(d); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// touch writes a document in both servers without changing what it holds, its draft if it has one.
func (c *couple) touch(d *Document) (written bool, err error) {
	q := call{method: "PUT", path: "/api/" + d.Type.Plural + "/" + d.ID.text() + "?status=draft&locale=" + d.Rows[0].Locale,
		body: map[string]any{"data": map[string]any{}}}
	first, _, err := q.send(c.first, c.first.Token)
	if err != nil {
		return false, err
	}
	second, _, err := q.send(c.second, c.second.Token)
	if first.status != second.status {
		err = errors.Join(err, fmt.Errorf("%s is answered %s and %s", q, first, second))
	}
	if first.status == 200 {
		op := &Operation{Kind: "update", Type: d.Type, Number: d.Number, Locale: d.Rows[0].Locale, Status: draft}
		c.world.Apply(op)
		c.other.Apply(op)
	}
	return first.status == 200, err
}

// hearOf reads the next event of each stream that has to tell of a document. What the asker sees of a type without
// drafts may depend on the status: a rule can lead to a document that has only a draft.
func (c *couple) hearOf(d *Document) error {
	for _, l := range c.listeners {
		sees := func(r *Row) bool { return c.asker.sees(c.world, r, l.status) }
		if d.Type.Drafts && l.status != draft || l.typ != nil && l.typ != d.Type || !slices.ContainsFunc(d.Rows, sees) {
			continue
		}
		first, second := l.next(0), l.next(1)
		if bare := (reply{body: first}).masked().body; !strings.Contains(first, d.ID.text()) ||
			loose(bare) != loose((reply{body: second}).masked().body) {
			return fmt.Errorf("%s\nafter a change of %s the streams have\n%s\n%s", l.call, d.ID.text(), first, second)
		}
	}
	return nil
}
