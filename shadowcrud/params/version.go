package params

import (
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

// status is the version that is asked for. Whatever is given that is not "published" means the draft. Types without draft &
// publish have one version, and yet the status counts: it decides which versions of related documents are shown.
func (r *request) status() store.Status {
	if !r.given.hasStatus || r.given.status == "published" {
		return store.Published
	}
	return store.Draft
}

// query reads all that chooses rows and orders them: filters, search, the state of publication and the locales. A condition on
// the locale in the filters takes the place of what the function locales reads from the parameter.
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
		filter = And(filter, store.Publication{State: *state})
	}
	q.Filter = filter
	q.Sort = r.sort(&r.typ.Schema, r.given.sort, sortParameter)
	return q
}

// locales reads the parameter locale of a request for rows.
func (r *request) locales() store.LocaleSet {
	switch v := r.given.locale.(type) {
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
		r.faults.add(rankLocale, invalidLocale(v))
	default:
		r.faults.add(rankLocale, invalidLocale(v))
	}
	return store.LocaleSet{Codes: r.inDefault}
}

// oneLocale reads the parameter locale of a request for a single document: "*" has no meaning here.
func (r *request) oneLocale() store.LocaleSet {
	switch v := r.given.locale.(type) {
	case string:
		if v != "" && v != r.defaultLocale {
			return store.LocaleSet{Codes: []string{v}}
		}
	case []any, *jsontree.Object:
		r.faults.add(rankLocale, invalidLocale(v))
	}
	return store.LocaleSet{Codes: r.inDefault}
}

// writtenLocale is the one locale that a write is about.
func (r *request) writtenLocale() string {
	switch v := r.given.locale.(type) {
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
	r.faults.add(rankLocale, invalidLocale(r.given.locale))
	return ""
}

// codes returns the locales that a condition on locale names, when it does no more than name them.
func codes(f store.Filter) ([]string, bool) {
	c, ok := f.(store.Compare)
	if !ok || c.Op != store.Eq && c.Op != store.In {
		return nil, false
	}
	return texts(c.Values)
}

// publication is the state asked for by publicationFilter, or by hasPublishedVersion where that is not given; nil for any.
func (r *request) publication() *store.PublicationState {
	var state store.PublicationState
	asked := false
	switch r.given.hasPublished {
	case nil:
	case "true":
		state, asked = store.HasPublishedVersionDocument, true
	case "false":
		state, asked = store.NeverPublishedDocument, true
	default:
		r.invalid(rankHasPublished, "Invalid value for 'hasPublishedVersion'. Expected boolean or 'true'/'false' string.")
	}
	if r.given.publication != nil {
		name, _ := r.given.publication.(string)
		if state, asked = publicationStates[name]; !asked {
			r.faults.add(rankPublicationFilter, invalidPublicationFilter())
		}
	}
	if !asked {
		return nil
	}
	return &state
}

func invalidPublicationFilter() *apierror.Error {
	err := apierror.Validation("Invalid value for 'publicationFilter'. Expected one of: never-published, has-published-version, modified, " +
		"unmodified, never-published-document, has-published-version-document, published-without-draft, published-with-draft.")
	details := jsontree.NewObject()
	details.Set("source", "query")
	details.Set("param", "publicationFilter")
	err.Details = details
	return err
}

// searched is the condition of _q.
func (r *request) searched() store.Filter {
	switch v := r.given.search.(type) {
	case nil:
	case string:
		if v == "" {
			return nil
		}
		plan := r.plans[&r.typ.Schema]
		if f, ok := jsontree.ParseNumber(v); ok && isFinite(f) {
			return store.Search{Text: v, Attrs: plan.numbers}
		}
		return store.Search{Text: v, Attrs: plan.texts}
	default:
		r.invalid(rankSearch, "Invalid _q parameter. Expected a string")
	}
	return nil
}
