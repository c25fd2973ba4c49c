package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lectern/jsontree"
)

// A listing is a list of rows that one route gives: the drafts of a type, its published versions, the users, or the
// files. Its rows are read in the order of their ids.
type listing struct {
	name   string // of its directory
	schema *schema
	status string // draft, published, or "" where the type has no drafts

	// again is set for the second listing of a type without drafts whose rows link documents with drafts. Its rows are
	// those of the first listing, seen with published versions as the targets of links.
	again bool

	path    string
	action  string
	bare    bool       // the answer is the list, without data and meta, and pages are asked for by limit
	locales []string   // of a localized single type: a request for each
	params  []string   // of each request
	groups  [][]string // of parameters that populate; see populateGroups

	// counted and listed are how many rows the server had when it was last asked, by its count and by its list.
	counted, listed int64
}

// listingsOf returns the listings of a type.
func (r *reader) listingsOf(s *schema) ([]*listing, error) {
	base := listing{schema: s, path: "/api/" + url.PathEscape(s.plural), action: s.uid + ".find"}
	switch {
	case s.uid == userUID:
		base.path, base.bare = "/api/users", true
	case s.uid == fileUID:
		base.path, base.bare = "/api/upload/files", true
		base.action = "plugin::upload.content-api.find"
	case s.single:
		base.path = "/api/" + url.PathEscape(s.singular)
		if s.localized {
			base.locales = r.locales
		}
	case s.localized:
		base.params = []string{"locale=*"}
	}
	if s.uid != fileUID {
		var err error
		if base.groups, err = r.definitions.populateGroups(s, r.o.MaxQuery); err != nil {
			return nil, err
		}
	} else {
		base.groups = [][]string{nil}
	}
	statuses := []string{""}
	if s.drafts || !base.bare && r.definitions.linksDrafts(s, nil) {
		statuses = []string{"draft", "published"}
	}
	var listings []*listing
	for i, status := range statuses {
		l := base
		l.name = strings.NewReplacer("::", "-", ".", "-").Replace(s.uid)
		if status != "" {
			l.name += "." + status
			l.params = append(slices.Clone(base.params), "status="+status)
		}
		l.status, l.again = status, !s.drafts && i == 1
		listings = append(listings, &l)
	}
	return listings, nil
}

// linksDrafts reports whether rows of a type or component link types with drafts. above has the components around it.
func (d *definitions) linksDrafts(s *schema, above []string) bool {
	for _, a := range s.attributes {
		if target := d.byUID[a.target]; target != nil && target.drafts || a.isPolymorphic() {
			return true
		}
		for _, uid := range a.components {
			if c := d.byUID[uid]; c != nil && !slices.Contains(above, uid) && d.linksDrafts(c, append(above, uid)) {
				return true
			}
		}
	}
	return false
}

// A page is what a listing gives at once.
type page struct {
	rows  []*jsontree.Object
	total int64 // rows of the listing as the server counts them, -1 if it does not say
}

// after returns the parameters for the rows that follow an id.
func after(id uint64) []string {
	return []string{"sort=id:asc", "filters[id][$gt]=" + strconv.FormatUint(id, 10)}
}

// in returns the parameters for the rows that have one of some values.
func in(attribute string, values []string) []string {
	params := make([]string, len(values))
	for i, v := range values {
		params[i] = fmt.Sprintf("filters[%s][$in][%d]=%s", attribute, i, url.QueryEscape(v))
	}
	return params
}

// pageOf returns the parameters that bound a page.
func (l *listing) pageOf(size int) string {
	if l.bare {
		return "limit=" + strconv.Itoa(size)
	}
	return "pagination[pageSize]=" + strconv.Itoa(size)
}

// list reads one page of a listing with all that it populates. If content changes between the requests for a page, it
// reads the page anew.
func (r *reader) list(ctx context.Context, l *listing, size int, params []string) (page, error) {
	return consistent(func() (page, error) { return r.listOnce(ctx, l, size, params) })
}

// consistent calls read until content does not change between its requests.
func consistent[T any](read func() (T, error)) (T, error) {
	for attempt := 0; ; attempt++ {
		v, err := read()
		if !errors.Is(err, errChanged) || attempt == maxRereads {
			return v, err
		}
	}
}

// maxRereads bounds how often content may change between the requests for one page.
const maxRereads = 5

func (r *reader) listOnce(ctx context.Context, l *listing, size int, params []string) (page, error) {
	var whole page
	for i, group := range l.groups {
		p, err := r.request(ctx, l, size, slices.Concat(params, group))
		if err != nil {
			return page{}, err
		}
		if i == 0 {
			whole = p
		} else if err := mergeRows(whole.rows, p.rows); err != nil {
			return page{}, err
		}
	}
	return whole, nil
}

// request sends one request for rows of a listing.
func (r *reader) request(ctx context.Context, l *listing, size int, params []string) (page, error) {
	params = slices.Concat([]string{l.pageOf(size)}, l.params, params)
	limit := r.client.maxAnswer
	if size == 1 {
		limit *= 4 // there is no smaller page
	}
	v, err := r.client.get(ctx, query{l.path, params, l.action}, limit)
	if err != nil {
		return page{}, err
	}
	p := page{total: -1}
	items, ok := v.([]any)
	if answer, wrapped := v.(*jsontree.Object); wrapped && !l.bare {
		items, ok = answer.Value("data").([]any)
		if n, counted := object(object(answer, "meta"), "pagination").Value("total").(jsontree.Number); counted {
			p.total = int64(n.Float())
		}
	}
	if !ok {
		return page{}, fmt.Errorf("GET %s: the answer has no list; is %s a Strapi 5?", l.path, r.client.base)
	}
	for _, item := range items {
		row, err := checkRow(l, item)
		if err != nil {
			return page{}, err
		}
		p.rows = append(p.rows, row)
	}
	return p, nil
}

// checkRow checks that an item of an answer is a row with an id and a documentId.
func checkRow(l *listing, item any) (*jsontree.Object, error) {
	row, ok := item.(*jsontree.Object)
	if !ok {
		return nil, fmt.Errorf("GET %s: an item of the answer is not an object", l.path)
	}
	if _, err := idOf(row); err != nil {
		return nil, fmt.Errorf("GET %s: %w", l.path, err)
	}
	if row.Text("documentId") == "" {
		return nil, fmt.Errorf(
			"GET %s: row %v of the answer has no documentId; Lectern reads Strapi 5, not older releases", l.path,
			row.Value("id"))
	}
	return row, nil
}

// single reads a single type: a row for each locale that has one.
func (r *reader) single(ctx context.Context, l *listing) (page, error) {
	locales := l.locales
	if len(locales) == 0 {
		locales = []string{""}
	}
	var p page
	for _, locale := range locales {
		row, err := consistent(func() (*jsontree.Object, error) { return r.singleOnce(ctx, l, locale) })
		if err != nil {
			return page{}, err
		}
		if row != nil {
			p.rows = append(p.rows, row)
		}
	}
	return p, nil
}

// singleOnce reads the version of a single type in a locale, nil if there is none.
func (r *reader) singleOnce(ctx context.Context, l *listing, locale string) (*jsontree.Object, error) {
	var whole *jsontree.Object
	for i, group := range l.groups {
		params := slices.Concat(l.params, group)
		if locale != "" {
			params = append(params, "locale="+url.QueryEscape(locale))
		}
		v, err := r.client.get(ctx, query{l.path, params, l.action}, 4*r.client.maxAnswer)
		if statusOf(err) == http.StatusNotFound && i == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		answer, ok := v.(*jsontree.Object)
		if !ok {
			return nil, fmt.Errorf("GET %s: the answer is not an object", l.path)
		}
		row, err := checkRow(l, answer.Value("data"))
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = row
		} else if err := mergeRows([]*jsontree.Object{whole}, []*jsontree.Object{row}); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// outOfOrder returns the error for a row that comes after one with the same or a higher id.
func (l *listing) outOfOrder(id, last uint64) error {
	return fmt.Errorf("GET %s: row %d comes after row %d, though rows in the order of ids were asked for", l.path, id,
		last)
}

// idOf returns the id of a row or component.
func idOf(o *jsontree.Object) (uint64, error) {
	n, _ := o.Value("id").(jsontree.Number)
	id, err := strconv.ParseUint(string(n), 10, 53)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("an item has no id that is a positive number")
	}
	return id, nil
}
