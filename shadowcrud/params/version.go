package params

import (
	"lectern/documents"
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

// conditions are all that choose rows: filters, search, and the state of publication; and the locales looked at.
func (r *request) conditions() (store.Filter, store.LocaleSet) {
	filter, byLocale := r.filters()
	var locales store.LocaleSet
	if r.typ.Localized {
		if byLocale == nil {
			locales = r.locales()
		} else if codes, ok := codes(byLocale); ok {
			locales.Codes = codes
		} else {
			locales.All = true
			filter = and(filter, byLocale)
		}
	}
	return and(and(filter, r.searched()), r.publication()), locales
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

// oneLocale is the locale of a single document; locales are those of a list with the same parameters.
func (r *request) oneLocale(locales store.LocaleSet) string {
	switch r.given.locale.(type) {
	case []any, *jsontree.Object:
		r.faults.add(rankLocale, invalidLocale(r.given.locale))
	}
	if locales.All {
		if s, ok := r.given.locale.(string); ok && s != "" {
			return s
		}
		return r.defaultLocale
	}
	return locales.Codes[0]
}

// writtenLocale is the locale that a write is about: one, whichever.
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

// publication is the condition of publicationFilter, or of hasPublishedVersion where that is not given.
func (r *request) publication() store.Filter {
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
	if !asked || !r.typ.DraftAndPublish {
		return nil
	}
	return store.Publication{State: state}
}

func invalidPublicationFilter() *documents.Error {
	err := documents.ValidationError("Invalid value for 'publicationFilter'. Expected one of: never-published, has-published-version, modified, " +
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
