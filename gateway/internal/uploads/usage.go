package uploads

import (
	"net/http"
	"regexp"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/media"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// usageLimit is the most documents that a page of usages has, and how many it has if the request does not say.
const usageLimit = 100

// listed reads the parameters of a list of files.
func (u *routes) listed(r *http.Request, who auth.Principal) (*params.List, error) {
	q, err := rest.ParseQuery(r)
	if err != nil {
		return nil, err
	}
	list, err := u.Params.PlainList(u.Library.Type(), q, who.Access)
	if err != nil {
		return nil, err
	}
	switch q.Value("unused") {
	case nil:
		return list, nil
	case "true":
	default:
		return nil, apierror.Validation("unused can only be true")
	}
	if !who.Access.AllowsAction(findUsage) {
		return nil, apierror.Forbidden()
	}
	list.Query.Filter = store.And{list.Query.Filter, u.Library.Unused()}
	return list, u.view(r, func(s *store.Snapshot) error { return s.Covers(&list.Query) })
}

// view calls read with a snapshot, within the time of an answer.
func (u *routes) view(r *http.Request, read func(*store.Snapshot) error) error {
	return u.Library.View(func(s *store.Snapshot) error {
		if u.Answers != nil {
			s.Within(r.Context(), u.Answers.Time)
		}
		return read(s)
	})
}

// GET /api/upload/files/{id}/usage: a page of the documents that use a file and that the caller may see.
func (u *routes) usage(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	q, err := rest.ParseQuery(r)
	if err != nil {
		return err
	}
	pages, err := u.Params.PlainList(u.Library.Type(), jsontree.ObjectOf("start", q.Value("start"), "limit",
		q.Value("limit")), who.Access)
	if err != nil {
		return err
	}
	one, err := u.single(r, who)
	if err != nil {
		return err
	}
	start, limit := pages.Paging.Start, pages.Paging.Limit
	if limit < 0 || limit > usageLimit {
		limit = usageLimit
	}
	hold := func(int64) error { return nil }
	if memory := server.AnswerMemory(r.Context()); memory != nil {
		hold = memory.Hold
	}
	var answer *jsontree.Object
	err = u.view(r, func(s *store.Snapshot) error {
		file := u.named(r)(s)
		if !file.Exists() || one.Query.Filter != nil && !s.Matches(file, one.Query.Filter, one.Query.Status) {
			return media.ErrNoFile
		}
		found, err := u.Library.Usage(s, file, who.Access, hold)
		if err != nil {
			return err
		}
		list, total := []any{}, len(found.Uses)
		for _, use := range found.Uses[min(start, total):min(start+limit, total)] {
			list = append(list, describe(use, who.Access))
		}
		answer = jsontree.ObjectOf("data", list, "meta", jsontree.ObjectOf(
			"pagination", jsontree.ObjectOf("start", start, "limit", limit, "total", total), "hidden", found.Hidden))
		return nil
	})
	if err != nil {
		return err
	}
	return u.Limits.SendJSON(w, r, http.StatusOK, jsontree.Append(nil, answer))
}

// describe says which document uses a file, and how.
func describe(use media.Use, access *permission.Access) *jsontree.Object {
	status := []any{}
	if use.Draft {
		status = append(status, "draft")
	}
	if use.Public {
		status = append(status, "published")
	}
	t, locale := use.Row.Type(), any(nil)
	if t.Localized {
		locale = use.Row.Locale()
	}
	return jsontree.ObjectOf("contentType", t.UID, "documentId", use.Row.DocumentID(), "locale", locale,
		"title", titleOf(use.Row, access), "fields", jsontree.ListOf(use.Fields), "status", status)
}

// titles are names of attributes that tell people which document it is.
var titles = regexp.MustCompile(`(?i)^(title|name|label|subject|username)$`)

// titleOf returns what tells people which document it is: a text attribute that the caller sees; null if there is none.
func titleOf(row store.Record, access *permission.Access) any {
	var title *contenttypes.Attribute
	for _, a := range row.Schema().Attributes {
		if a.System || a.Type != contenttypes.String || !access.Sees(a) {
			continue
		}
		isNamed := titles.MatchString(a.Name)
		if title == nil || isNamed {
			title = a
		}
		if isNamed {
			break
		}
	}
	if title == nil {
		return nil
	}
	value, err := jsontree.Parse(row.JSON(title), 1)
	if err != nil {
		return nil // the attribute has no value
	}
	return value
}
