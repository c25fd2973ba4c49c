package params_test

import (
	"errors"
	"runtime"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
	"lectern/store"
)

// Every query string results in a query or in an error that tells the client what was wrong. The size of the result is
// bounded by the length of the query string.
func FuzzParams(f *testing.F) {
	for _, s := range []string{
		"filters[$or][0][owner][$not][age][$between][]=1&filters[$or][0][owner][$not][age][$between][]=2&sort=owner.age:desc,name",
		"populate[dz][on][blocks.slider][populate][files][populate]=*&populate[cover][populate][related]=1&populate=owner.avatar",
		"populate=dz.files,owner.restaurants.dz&fields=name,*&locale=*&status=draft&publicationFilter=modified&_q=4",
		"pagination[page]=1e308&pagination[withCount]=f&filters[localizations][locale][$in]=fr&hasPublishedVersion=true",
		"filters[openedOn][$in][]=2020-01-01&filters[vegan]&filters[cover]=1&sort[0][owner][age]=desc&populate[0]=menu.dishes",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	p := newParser()
	types := kitchen().Types
	f.Fuzz(func(t *testing.T, query string, public bool) {
		access := callers["full"]
		if public {
			access = callers["public"]
		}
		q, err := qs.Parse(query)
		if err != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		defer func() {
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20+20_000*uint64(len(query)) {
				t.Errorf("%d bytes take %d bytes of memory", len(query), used)
			}
		}()
		for _, typ := range types {
			if l, err := p.List(typ, q, access); check(t, query, err) {
				if l.Query.Offset < 0 || l.Query.Limit < 1 || l.Query.Limit > limits.MaxLimit {
					t.Errorf("%q: %d at %d", query, l.Query.Limit, l.Query.Offset)
				}
				checkFilter(t, query, l.Query.Filter)
				if n := size(l.Selection, 0); n > 100_000 {
					t.Errorf("%q: %d attributes are shown", query, n)
				}
			}
			if o, err := p.One(typ, q, access); check(t, query, err) {
				checkFilter(t, query, o.Query.Filter)
			}
			_, err = p.Write(typ, q, access)
			check(t, query, err)
			_, err = p.DeleteEach(typ, q)
			check(t, query, err)
		}
	})
}

// check reports whether err is nil. It fails the test if err is not an error of the client.
func check(t *testing.T, query string, err error) bool {
	if err == nil {
		return true
	}
	var e *apierror.Error
	if !errors.As(err, &e) || e == nil || e.Status < 400 || e.Status > 499 || e.Message == "" || e.Name == "" {
		t.Errorf("%q: %v", query, err)
		return false
	}
	jsontree.Append(nil, e.Details)
	return false
}

// checkFilter checks that a filter has the properties that the store relies on.
func checkFilter(t *testing.T, query string, f store.Filter) {
	switch f := f.(type) {
	case store.And:
		for _, x := range f {
			checkFilter(t, query, x)
		}
	case store.Or:
		for _, x := range f {
			checkFilter(t, query, x)
		}
	case store.Not:
		checkFilter(t, query, f.Filter)
	case store.Through:
		if f.Attr.IsScalar() || f.Filter == nil {
			t.Errorf("%q goes through %s to %v", query, f.Attr.Name, f.Filter)
		}
		checkFilter(t, query, f.Filter)
	case store.Compare:
		if !f.Attr.IsScalar() || f.Attr.Private {
			t.Errorf("%q compares %s", query, f.Attr.Name)
		}
		if want, ok := map[store.Op]int{store.Between: 2, store.Null: 0, store.NotNull: 0, store.In: -1,
			store.NotIn: -1}[f.Op]; want >= 0 && (ok && len(f.Values) != want || !ok && len(f.Values) != 1) {
			t.Errorf("%q compares with %d values", query, len(f.Values))
		}
	}
}

// size returns the number of parts of a selection.
func size(s *documents.Selection, level int) int {
	n := len(s.Fields)
	for _, p := range s.Populate {
		n++
		if p.Of != nil {
			n += size(p.Of, level+1)
		}
		for _, v := range p.On {
			n += size(v.Of, level+1)
		}
	}
	return n
}

func BenchmarkList(b *testing.B) {
	typ, p := typeOf(b, "restaurant"), newParser()
	for name, query := range map[string]string{
		"bare":     "",
		"filtered": "filters[tier][$eq]=gold&sort=name",
		"deep":     "filters[owner][age][$gt]=40&sort=owner.age:desc&fields=name,seats&pagination[page]=2&pagination[pageSize]=10",
		"all":      "populate=*",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := qs.Parse(query)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.List(typ, q, permission.FullAccess); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
