package params

import (
	"cmp"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// publicationStates are the values of publicationFilter.
var publicationStates = map[string]store.PublicationState{
	"never-published":                store.NeverPublished,
	"has-published-version":          store.HasPublishedVersion,
	"modified":                       store.Modified,
	"unmodified":                     store.Unmodified,
	"never-published-document":       store.NeverPublishedDocument,
	"has-published-version-document": store.HasPublishedVersionDocument,
	"published-without-draft":        store.PublishedWithoutDraft,
	"published-with-draft":           store.PublishedWithDraft,
}

// PublicationFilters are the values of the parameter publicationFilter, sorted.
func PublicationFilters() []string { return slices.Sorted(maps.Keys(publicationStates)) }

// status reads the parameter status. Every value except "published" means the draft, as its absence does in a preview.
// For types without drafts the status still decides which versions of related documents are shown.
func (r *request) status() store.Status {
	if r.params.hasStatus && r.params.status != "published" || !r.params.hasStatus && r.access.Previews(r.typ) {
		return store.Draft
	}
	return store.Published
}

// permitted returns an error if the request is for drafts, or tells of drafts, that the caller may not read. state is
// the publication state that rows must have.
func (r *request) permitted(state *store.PublicationState) error {
	if !r.access.Reads(r.typ, r.status(), state) {
		return apierror.Forbidden()
	}
	return nil
}

// sight returns what the caller sees behind relations; nil if that is everything.
func (r *request) sight() *store.Sight { return r.access.Sight(cmp.Or(r.top, r).status()) }

// query reads the parameters that choose and order rows: status, locale, filters, search and sort. state is the
// publication state that rows must have. locales reads the parameter locale, unless the filters have a condition on the
// locale.
func (r *request) query(locales func(*request) store.LocaleSet, state *store.PublicationState) store.Query {
	q := store.Query{Type: r.typ, Status: r.status()}
	filter, byLocale := r.filters()
	if r.typ.Localized {
		q.Locales = locales(r)
		if codes, ok := codes(byLocale); ok {
			q.Locales = store.LocaleSet{Codes: codes}
		} else if byLocale != nil {
			q.Locales = store.LocaleSet{All: true}
			filter = And(filter, byLocale)
		}
	}
	filter = And(filter, r.searched())
	if state != nil && r.typ.DraftAndPublish {
		filter = And(filter, r.access.InState(*state))
	}
	if r.typ.UID == contenttypes.ScheduleUID {
		filter = And(filter, r.visibleSchedules())
	}
	if r.params.alone {
		filter = And(filter, r.access.VisibleAlone(r.typ, q.Status))
	} else {
		filter = And(filter, r.access.Visible(r.typ, q.Status))
	}
	filter = And(filter, r.access.Named(r.typ))
	q.Filter = filter
	q.Sort, q.Sight = r.sort(&r.typ.Schema, r.params.sort, sortParameter), r.sight()
	return q
}

// visibleSchedules returns the filter that holds for the schedules that the caller may see.
func (r *request) visibleSchedules() store.Filter {
	visible, _ := documents.VisibleSchedules(r.model, r.access)
	return visible
}

// locales reads the parameter locale of a list.
func (r *request) locales() store.LocaleSet {
	switch v := r.params.locale.(type) {
	case nil:
	case string:
		if v == "*" {
			return store.LocaleSet{All: true}
		}
		if v != "" && v != r.defaultLocale {
			return store.LocaleSet{Codes: []string{v}}
		}
	case []any:
		if codes, ok := texts(v); ok {
			return store.LocaleSet{Codes: codes}
		}
		r.issues.add(issueLocale, invalidLocale(v))
	default:
		r.issues.add(issueLocale, invalidLocale(v))
	}
	return store.LocaleSet{Codes: r.inDefault}
}

// oneLocale reads the parameter locale of a request for a single document. The value "*" does not stand for all
// locales.
func (r *request) oneLocale() store.LocaleSet {
	switch v := r.params.locale.(type) {
	case string:
		if v != "" && v != r.defaultLocale {
			return store.LocaleSet{Codes: []string{v}}
		}
	case []any, *jsontree.Object:
		r.issues.add(issueLocale, invalidLocale(v))
	}
	return store.LocaleSet{Codes: r.inDefault}
}

// writtenLocale reads the locale that a write writes.
func (r *request) writtenLocale() string {
	switch v := r.params.locale.(type) {
	case nil:
		return r.defaultLocale
	case string:
		if v != "*" {
			if v == "" {
				return r.defaultLocale
			}
			return v
		}
	}
	r.issues.add(issueLocale, invalidLocale(r.params.locale))
	return ""
}

// codes returns the locales of a condition that requires one of some locales. It is not ok for other conditions.
func codes(f store.Filter) ([]string, bool) {
	c, ok := f.(store.Compare)
	if !ok || c.Op != store.Eq && c.Op != store.In {
		return nil, false
	}
	return texts(c.Values)
}

// publication reads the parameters publicationFilter and hasPublishedVersion; the former has priority. It returns nil
// if neither is set.
func (r *request) publication() *store.PublicationState {
	var state store.PublicationState
	asked := false
	switch r.params.hasPublished {
	case nil:
	case "true":
		state, asked = store.HasPublishedVersionDocument, true
	case "false":
		state, asked = store.NeverPublishedDocument, true
	default:
		r.invalid(issueHasPublished,
			"Invalid value for 'hasPublishedVersion'. Expected boolean or 'true'/'false' string.")
	}
	if r.params.publication != nil {
		name, _ := r.params.publication.(string)
		if state, asked = publicationStates[name]; !asked {
			r.issues.add(issuePublicationFilter, invalidPublicationFilter())
		}
	}
	if !asked {
		return nil
	}
	return &state
}

func invalidPublicationFilter() *apierror.Error {
	err := apierror.Validation(
		"Invalid value for 'publicationFilter'. Expected one of: never-published, has-published-version, modified, " +
			"unmodified, never-published-document, has-published-version-document, published-without-draft, " +
			"published-with-draft.")
	details := jsontree.NewObject()
	details.Set("source", "query")
	details.Set("param", "publicationFilter")
	err.Details = details
	return err
}

// searched returns the condition of the parameter _q.
func (r *request) searched() store.Filter {
	switch v := r.params.search.(type) {
	case nil:
	case string:
		if v == "" {
			return nil
		}
		plan := r.plans[&r.typ.Schema]
		if f, ok := jsontree.ParseNumber(v); ok && isFinite(f) {
			return store.Search{Text: v, Attrs: r.access.Seen(plan.numbers)}
		}
		return store.Search{Text: v, Attrs: r.access.Seen(plan.texts)}
	default:
		r.invalid(issueSearch, "Invalid _q parameter. Expected a string")
	}
	return nil
}
