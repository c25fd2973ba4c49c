package rest

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/changes"
	"lectern/jsontree"
	"lectern/store"
)

// A ChangesQuery asks for a page of changes, printed for a client.
type ChangesQuery struct {
	changes.Query
	Codec *changes.Codec
	// Shown says what to print of the documents, for the types that may come; nil prints no documents.
	Shown map[*contenttypes.ContentType]*documents.Selection
	// Events prints each change as a server-sent event. Otherwise all changes are one JSON text.
	Events bool
}

// Shown reads the parameters fields and populate for types of which changes may come.
func (a *API) Shown(types []*contenttypes.ContentType, query *jsontree.Object,
	q *changes.Query) (map[*contenttypes.ContentType]*documents.Selection, error) {
	shown := map[*contenttypes.ContentType]*documents.Selection{}
	if q.Status == store.Draft { // it decides what is seen behind relations
		parameters := query
		query = jsontree.NewObject()
		for _, key := range parameters.Keys {
			query.Set(key, parameters.Value(key))
		}
		query.Set("status", q.Status.String())
	}
	for _, t := range types {
		if !q.Finds(t) {
			continue
		}
		one, err := a.params.One(t, query, q.Access)
		if err != nil {
			return nil, err
		}
		shown[t] = one.Selection
	}
	return shown, nil
}

// Changes reads a page of changes and calls use with it and with its text, which may be used until use returns. If the
// text of as many changes as q asks for would be too long, the page has fewer.
func (a *API) Changes(ctx context.Context, q ChangesQuery, l *AnswerLimits,
	use func(page changes.Page, text []byte) error) error {
	if l == nil {
		l = unlimited
	}
	p := printers.Get().(*printer)
	p.api, p.access, p.status = a, q.Access, q.Status
	p.memory = l.Answer()
	p.buf = p.memory.Adopt(p.buf)
	p.bound = bound{ctx: ctx, limits: l, memory: &p.memory}
	defer p.release()
	for {
		var page changes.Page
		err := p.bound.view(a.store, func(s *store.Snapshot) (err error) {
			s.Within(ctx, l.Time)
			if page, err = changes.Read(s, &q.Query); err != nil {
				return err
			}
			p.snapshot, p.err, p.bound.printed, p.buf = s, nil, 0, p.buf[:0]
			p.memory.Restart()
			p.changesPage(&q, &page)
			return p.err
		})
		if errors.Is(err, l.tooLong()) && q.Limit > 1 {
			q.Limit /= 4
			continue
		}
		if err != nil {
			return err
		}
		p.releaseLoader()
		return use(page, p.buf)
	}
}

// changesPage prints a page.
func (p *printer) changesPage(q *ChangesQuery, page *changes.Page) {
	if q.Events {
		for i := range page.Changes {
			p.event(q, &page.Changes[i])
		}
		if page.Reset {
			p.buf = append(p.buf, "id: "+changes.Beginning+"\ndata: "...)
			p.lastSeq(q, page)
			p.buf = append(p.buf, "\n\n"...)
		}
		return
	}
	p.buf = append(p.buf, `{"results":[`...)
	for i := range page.Changes {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		if p.change(q, &page.Changes[i]); p.err != nil {
			return
		}
	}
	p.buf = append(p.buf, "],"...)
	p.lastSeq(q, page)
}

// lastSeq prints the position behind a page. A JSON text has more before it.
func (p *printer) lastSeq(q *ChangesQuery, page *changes.Page) {
	if q.Events {
		p.buf = append(p.buf, '{')
	}
	p.buf = append(q.Codec.Append(append(p.buf, `"last_seq":"`...), page.Next), `","pending":`...)
	p.buf = strconv.AppendUint(p.buf, page.Pending, 10)
	if page.Reset {
		p.buf = append(p.buf, `,"reset":true`...)
	}
	p.buf = append(p.buf, '}')
}

// event prints a change as a server-sent event.
func (p *printer) event(q *ChangesQuery, c *changes.Change) {
	if p.err != nil {
		return
	}
	p.buf = append(q.Codec.Append(append(p.buf, "id: "...), c.Position), "\ndata: "...)
	begin := len(p.buf)
	p.change(q, c)
	joinLines(p.buf[begin:])
	p.buf = append(p.buf, "\n\n"...)
}

// joinLines replaces line breaks in a JSON text. They are between values, since texts have them escaped.
func joinLines(text []byte) {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return
	}
	for i, b := range text {
		if b == '\n' || b == '\r' {
			text[i] = ' '
		}
	}
}

// changeLen is about the length of a change without its documentId and document.
const changeLen = 512

// change prints a change. It shows a document that is gone since, or outside the reader's rules, as deleted.
func (p *printer) change(q *ChangesQuery, c *changes.Change) {
	if p.reserveBytes(changeLen + len(c.DocumentID)); p.err != nil {
		return
	}
	var row store.Record
	action := c.Action
	if action != store.Deleted && q.Shown != nil {
		if doc, ok := p.snapshot.Document(c.Type, c.DocumentID); ok {
			row = p.snapshot.Version(c.Type, doc, q.Status, c.Locale)
		}
		if only := q.Access.Visible(c.Type, q.Status); only != nil && row.Exists() &&
			!p.snapshot.Matches(row, only, q.Status) {
			row = store.Record{}
		}
		if !row.Exists() {
			action = store.Deleted
		}
	}
	p.buf = append(q.Codec.Append(append(p.buf, `{"seq":"`...), c.Position), `","type":`...)
	p.buf = jsontree.AppendString(p.buf, c.Type.UID)
	p.buf = jsontree.AppendString(append(p.buf, `,"documentId":`...), c.DocumentID)
	if p.buf = append(p.buf, `,"locale":`...); c.Locale == "" {
		p.null()
	} else {
		p.buf = jsontree.AppendString(p.buf, c.Locale)
	}
	p.buf = append(append(p.buf, `,"change":"`...), action.String()...)
	p.buf = c.Time.UTC().AppendFormat(append(p.buf, `","at":"`...), contenttypes.TimeFormat)
	p.buf = append(p.buf, '"')
	if row.Exists() {
		p.buf = append(p.buf, `,"document":`...)
		p.one[0] = row
		p.document(p.load(p.one[:], shape{Selection: q.Shown[c.Type]}), 0)
	}
	p.buf = append(p.buf, '}')
}
