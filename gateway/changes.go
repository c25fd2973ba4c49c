package gateway

import (
	"net/http"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/jsontree"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// changesPath is the path of the change feed below the prefix of the API.
const changesPath = "/_changes"

// A changeFeed answers requests for changes in one generation.
type changeFeed struct {
	generation *generation
	rest       *rest.API
	types      map[string]*contenttypes.ContentType    // by uid, and by their names in paths
	lists      map[*contenttypes.ContentType]routeRule // of the routes that read documents of a type
	limits     requestLimits
	*positions

	authenticate func(*http.Request) (auth.Principal, error)
}

// newChangeFeed returns the change feed of an open generation.
func (g *generation) newChangeFeed(api *rest.API, authenticate func(*http.Request) (auth.Principal, error)) *changeFeed {
	f := &changeFeed{
		generation: g, rest: api, authenticate: authenticate, types: map[string]*contenttypes.ContentType{},
		limits: requestLimits(g.Settings.Server.Limits.WithDefaults()), positions: g.positions, lists: g.rules(api, "find"),
	}
	for _, t := range g.Model.Types {
		if !t.BuiltIn {
			f.types[t.PathName()], f.types[t.UID] = t, t
		}
	}
	return f
}

// route returns the route of the feed.
func (f *changeFeed) route() Route {
	return Route{Method: http.MethodGet, Path: f.generation.Settings.REST.Prefix + changesPath, Streams: true, user: f.serve}
}

// errNoFeed is the answer where the store keeps no log.
var errNoFeed = &apierror.Error{Status: http.StatusNotImplemented, Name: "NotImplementedError", NoDetails: true,
	Message: "there is no change feed, since the store keeps no log (log.keep: 0 in config/server.yaml)"}

// GET /api/_changes: what has happened to documents since a position, at once or as it happens.
func (f *changeFeed) serve(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if f.generation.Settings.Server.Log.Limits().Off {
		return errNoFeed
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	p, err := parseChanges(query)
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" && p.feed == eventFeed {
		p.since = last
	}
	return f.answer(w, r, who, p)
}

// answer answers with the changes that there are, or waits for some.
func (f *changeFeed) answer(w http.ResponseWriter, r *http.Request, who auth.Principal, p *changesParams) error {
	codec := f.codecs.Get().(*changes.Codec)
	defer f.codecs.Put(codec)
	q, err := f.query(p, who, codec)
	if err != nil {
		return err
	}
	since, err := f.since(q, p.since)
	if err != nil {
		return err
	}
	if p.feed != normalFeed {
		return f.listen(w, r, who, p, since)
	}
	q.Since = since
	return f.answerPage(w, r, q, nil)
}

// answerIf answers with the changes after a position, if there are any or it is late. Otherwise it moves the position forward.
func (f *changeFeed) answerIf(w http.ResponseWriter, r *http.Request, who auth.Principal, p *changesParams, since *changes.Position, late bool) (answered bool, err error) {
	codec := f.codecs.Get().(*changes.Codec)
	defer f.codecs.Put(codec)
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
func (f *changeFeed) answerPage(w http.ResponseWriter, r *http.Request, q *rest.ChangesQuery, wanted func(*changes.Page) bool) error {
	return f.rest.Changes(r.Context(), *q, f.generation.answers, func(page changes.Page, text []byte) error {
		if wanted != nil && !wanted(&page) {
			return nil
		}
		w.Header()["Cache-Control"] = []string{"no-store"}
		return f.limits.sendJSON(w, r, http.StatusOK, text)
	})
}

// query returns the query of a request without its position, or an error if something in it is unknown.
func (f *changeFeed) query(p *changesParams, who auth.Principal, codec *changes.Codec) (*rest.ChangesQuery, error) {
	q := &rest.ChangesQuery{Codec: codec, Events: p.feed == eventFeed}
	q.Access, q.Limit, q.Locales, q.Status = who.Access, p.limit, p.locales, p.status
	for _, name := range p.types {
		t := f.types[name]
		if t == nil {
			t = f.types[strings.ToLower(name)]
		}
		if t == nil {
			return nil, apierror.Validation("Invalid parameter types: there is no content-type " + string(jsontree.AppendString(nil, name)))
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
		memory := f.generation.project.memory.Tally()
		defer memory.Release()
		selection, err := p.shows(&memory)
		if err != nil {
			return nil, err
		}
		if q.Shown, err = f.rest.Shown(types, selection, &q.Query); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// permitDocuments returns an error if the feed would show the caller documents of a type that the caller has to read elsewhere. Types that the caller may
// not find are not in the feed.
func (f *changeFeed) permitDocuments(types []*contenttypes.ContentType, who auth.Principal) error {
	for _, t := range types {
		rule, listed := f.lists[t]
		if !listed || !who.Access.Allows(t, "find") {
			continue
		}
		if err := rule.permit(who, "follow it without include=document, and read its documents with"); err != nil {
			return err
		}
	}
	return nil
}

// queryAfter is query with a position. A caller who may find none of the types gets an error, unless the position says that they could, so that they
// must be told what they lost.
func (f *changeFeed) queryAfter(since changes.Position, p *changesParams, who auth.Principal, codec *changes.Codec) (*rest.ChangesQuery, error) {
	q, err := f.query(p, who, codec)
	if err != nil {
		return nil, err
	}
	if q.Since = since; !f.tells(q, since) {
		return nil, apierror.Forbidden()
	}
	return q, nil
}

// tells reports whether a caller who was at a position may be told anything: they may find one of the types, or could.
func (f *changeFeed) tells(q *rest.ChangesQuery, since changes.Position) bool {
	return since.HasTypes() || q.Sees(f.generation.Model)
}

// all returns the types of the project.
func (f *changeFeed) all() (list []*contenttypes.ContentType) {
	for _, t := range f.generation.Model.Types {
		if !t.BuiltIn {
			list = append(list, t)
		}
	}
	return list
}

// since returns the position that a text names. A text that is no position stands for one that the log does not reach. Callers who may be told nothing get
// an error, as from queryAfter.
func (f *changeFeed) since(q *rest.ChangesQuery, text string) (at changes.Position, err error) {
	if text == nowText {
		err = f.generation.store.View(func(s *store.Snapshot) error { at, err = changes.Now(s, &q.Query); return err })
	} else if at, err = q.Codec.Parse(text); err != nil {
		at, err = changes.Unknown, nil
	}
	if err == nil && !f.tells(q, at) {
		err = apierror.Forbidden()
	}
	return at, err
}
