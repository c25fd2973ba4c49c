// Package feed tells clients what has happened to documents: at once, by a long poll, or as a stream of events for as
// long as they listen.
//
// A Feed answers requests for changes with the definitions of one state of a project. Subscribers are the clients that
// wait, whichever way they asked: a stream goes on when other definitions are served. What a stream tells is made by a
// Delivery, so that GraphQL subscriptions wait here too.
//
// A stream of events over HTTP/1.1 is taken from net/http, so an idle one costs a connection and a struct, and no
// goroutine. After a commit the feed reads from the log which types were changed and serves the subscribers whom that
// concerns, each in a goroutine that ends when the client has all. It asks the system once a second which clients have
// hung up (Linux only).
package feed

import (
	"net/http"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Options are what a Feed is made of.
type Options struct {
	Model *contenttypes.Model
	Store *store.Store
	// REST prints documents, within Answers.
	REST    *rest.API
	Answers *rest.AnswerLimits
	// NoLog says that the store keeps no log, so that there are no changes to tell.
	NoLog       bool
	Positions   *Positions
	Subscribers *Subscribers
	// Authenticate returns who sent a request. It is called again while a client waits.
	Authenticate func(*http.Request) (auth.Principal, error)
	// ShowDocuments returns an error if a caller who may find documents of a type must not be shown them by the feed,
	// but has to read them elsewhere.
	ShowDocuments func(*contenttypes.ContentType, auth.Principal) error
	// Memory is for what requests are parsed to.
	Memory *budget.Budget
	Limits server.Limits
	// Replaced is closed when another Feed answers requests in place of this one.
	Replaced <-chan struct{}
}

// A Feed answers requests for changes. It belongs to one Model.
type Feed struct {
	Options
	types map[string]*contenttypes.ContentType // by uid, and by their names in paths
}

// New returns the feed of an open project.
func New(o Options) *Feed {
	f := &Feed{Options: o, types: map[string]*contenttypes.ContentType{}}
	for _, t := range f.all() {
		f.types[t.PathName()], f.types[t.UID] = t, t
	}
	return f
}

// errNoLog is the answer where the store keeps no log.
var errNoLog = &apierror.Error{Status: http.StatusNotImplemented, Name: "NotImplementedError", NoDetails: true,
	Message: "there is no change feed, since the store keeps no log (log.keep: 0 in config/server.yaml)"}

// Serve answers GET /api/_changes: what has happened to documents since a position, at once or as it happens.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if f.NoLog {
		return errNoLog
	}
	query, err := rest.ParseQuery(r)
	if err != nil {
		return err
	}
	p, err := parseParams(query)
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" && p.kind == eventStream {
		p.since = last
	}
	return f.answer(w, r, who, p)
}

// answer answers with the changes that there are, or waits for some.
func (f *Feed) answer(w http.ResponseWriter, r *http.Request, who auth.Principal, p *params) error {
	codec := f.Positions.codecs.Get().(*changes.Codec)
	defer f.Positions.codecs.Put(codec)
	q, err := f.query(p, who, codec)
	if err != nil {
		return err
	}
	since, err := f.since(q, p.since)
	if err != nil {
		return err
	}
	if p.kind != atOnce {
		return f.wait(w, r, who, p, since)
	}
	q.Since = since
	return f.answerPage(w, r, q, nil)
}

// answerIf answers with the changes after a position, if there are any or it is late. Otherwise it moves the position
// forward.
func (f *Feed) answerIf(w http.ResponseWriter, r *http.Request, who auth.Principal, p *params, since *changes.Position,
	late bool) (answered bool, err error) {
	codec := f.Positions.codecs.Get().(*changes.Codec)
	defer f.Positions.codecs.Put(codec)
	q, err := f.queryAfter(*since, p, who, codec)
	if err != nil {
		return false, err
	}
	answered = true
	err = f.answerPage(w, r, q, func(page *changes.Page) bool {
		answered = late || len(page.Changes) > 0 || page.Reset || page.Pending > 0
		*since = page.Next
		return answered
	})
	return answered, err
}

// answerPage answers with a page, unless wanted is set and does not want it.
func (f *Feed) answerPage(w http.ResponseWriter, r *http.Request, q *rest.ChangesQuery,
	wanted func(*changes.Page) bool) error {
	return f.REST.Changes(r.Context(), *q, f.Answers, func(page changes.Page, text []byte) error {
		if wanted != nil && !wanted(&page) {
			return nil
		}
		w.Header()["Cache-Control"] = server.NoStore
		return f.Limits.SendJSON(w, r, http.StatusOK, text)
	})
}

// query returns the query of a request without its position, or an error if something in it is unknown.
func (f *Feed) query(p *params, who auth.Principal, codec *changes.Codec) (*rest.ChangesQuery, error) {
	q := &rest.ChangesQuery{Codec: codec, Events: p.kind == eventStream}
	q.Access, q.Limit, q.Locales, q.Status = who.Access, p.limit, p.locales, p.status
	for _, name := range p.types {
		t := f.types[name]
		if t == nil {
			t = f.types[strings.ToLower(name)]
		}
		if t == nil {
			return nil, apierror.Validation("Invalid parameter types: there is no content-type " +
				string(jsontree.AppendString(nil, name)))
		}
		if !slices.Contains(q.Types, t) {
			q.Types = append(q.Types, t)
		}
	}
	if p.document {
		types := q.Types
		if types == nil {
			types = f.all()
		}
		err := f.permitDocuments(types, who)
		if err != nil {
			return nil, err
		}
		memory := f.Memory.Tally()
		defer memory.Release()
		selection, err := p.shows(&memory)
		if err != nil {
			return nil, err
		}
		if q.Shown, err = f.REST.Shown(types, selection, &q.Query); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// permitDocuments returns an error if the feed would show the caller documents of a type that the caller has to read
// elsewhere. Types that the caller may not find are not in the feed.
func (f *Feed) permitDocuments(types []*contenttypes.ContentType, who auth.Principal) error {
	for _, t := range types {
		if !who.Access.Allows(t, "find") {
			continue
		}
		if err := f.ShowDocuments(t, who); err != nil {
			return err
		}
	}
	return nil
}

// queryAfter is query with a position. A caller who may find none of the types gets an error, unless the position says
// that they could, so that they must learn what they lost.
func (f *Feed) queryAfter(since changes.Position, p *params, who auth.Principal,
	codec *changes.Codec) (*rest.ChangesQuery, error) {
	q, err := f.query(p, who, codec)
	if err != nil {
		return nil, err
	}
	if q.Since = since; !f.sees(q, since) {
		return nil, apierror.Forbidden()
	}
	return q, nil
}

// sees reports whether a caller who was at a position may see any change: they may find one of the types, or could.
func (f *Feed) sees(q *rest.ChangesQuery, since changes.Position) bool {
	return since.HasTypes() || q.Sees(f.Model)
}

// all returns the types of the project.
func (f *Feed) all() (list []*contenttypes.ContentType) {
	for _, t := range f.Model.Types {
		if !t.BuiltIn {
			list = append(list, t)
		}
	}
	return list
}

// since returns the position that a text names. A text that is no position stands for one that the log does not reach.
// Callers who may see no change get an error, as from queryAfter.
func (f *Feed) since(q *rest.ChangesQuery, text string) (at changes.Position, err error) {
	if text == nowText {
		err = f.Store.View(func(s *store.Snapshot) error { at, err = changes.Now(s, &q.Query); return err })
	} else if at, err = q.Codec.Parse(text); err != nil {
		at, err = changes.Unknown, nil
	}
	if err == nil && !f.sees(q, at) {
		err = apierror.Forbidden()
	}
	return at, err
}
