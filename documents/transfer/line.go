package transfer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/passwords"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// An importLine is a parsed line of an import: one version of a document, or its draft and published version if both
// have the same values.
type importLine struct {
	number     int // set by the loader
	typ        *contenttypes.ContentType
	documentID string
	locale     string // "" if the type is not localized
	statuses   []store.Status
	id         uint64            // of the row; 0 if the line has none
	times      map[string]string // createdAt, updatedAt, publishedAt, if the line has them
	data       *jsontree.Object
	versions   []*importVersion // set by build
}

// An importVersion is a version of a document in the file, as it is to be stored. Its row has no document and no id
// yet.
type importVersion struct {
	row   *store.Row
	ids   []importedID // of the row, then of its components
	edges []edge
	fresh uint64 // number of the row among the rows of its type without id, from 0
	keep  bool   // see ImportOptions
}

// edges returns the links of all versions.
func (l *importLine) edges() (list []*edge) {
	for _, v := range l.versions {
		for i := range v.edges {
			list = append(list, &v.edges[i])
		}
	}
	return list
}

var lineKeys = []string{"type", "documentId", "locale", "status", "id", "createdAt", "updatedAt", "publishedAt", "data"}

// documentIDPattern matches the documentIds that a file may contain. It allows more than the documentIds that Lectern
// creates.
var documentIDPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// isHeader reports whether a value is the first line of an export; err says why its version cannot be read.
func isHeader(o *jsontree.Object) (header bool, err error) {
	format, ok := o.Get("format")
	if !ok {
		return false, nil
	}
	if format != exportFormat {
		return true, fmt.Errorf("the format is %q, want one written by lectern export", fmt.Sprint(format))
	}
	if v, _ := o.Get("version"); v != jsontree.Number(strconv.Itoa(exportVersion)) {
		return true, fmt.Errorf("the file is of version %v and this program reads version %d", v, exportVersion)
	}
	return true, nil
}

// parseLine parses a line, except for its data.
func (im *importer) parseLine(o *jsontree.Object) (*importLine, error) {
	l := &importLine{times: map[string]string{}}
	for _, key := range o.Keys {
		v := o.Value(key)
		s, isText := v.(string)
		if known := slices.Contains(lineKeys, key); !known {
			return nil, fmt.Errorf("unknown key %q; a line has %s", key, strings.Join(lineKeys, ", "))
		}
		if !isText && v != nil && key != "data" && key != "id" {
			return nil, fmt.Errorf("%s must be a text", key)
		}
		switch key {
		case "type":
			if l.typ = im.s.Model().Type(s); l.typ == nil || !Exported(l.typ) {
				return nil, fmt.Errorf("there is no content-type %q", s)
			}
		case "documentId":
			l.documentID = s
		case "locale":
			l.locale = s
		case "status":
			switch s {
			case "draft":
				l.statuses = []store.Status{store.Draft}
			case "published":
				l.statuses = []store.Status{store.Published}
			default:
				return nil, fmt.Errorf("status must be draft or published, not %q", s)
			}
		case "id":
			var err error
			if l.id, err = parseImportedID(v); err != nil {
				return nil, fmt.Errorf("id: %w", err)
			}
		case "createdAt", "updatedAt", "publishedAt":
			if v == nil {
				continue
			}
			t, ok := values.ParseTime(s)
			if !ok {
				return nil, fmt.Errorf("%s must be a time such as 2026-01-31T12:00:00.000Z, not %q", key, s)
			}
			l.times[key] = values.FormatTime(t)
		case "data":
			if l.data, _ = v.(*jsontree.Object); l.data == nil {
				return nil, fmt.Errorf("data must be an object")
			}
		}
	}
	return l, im.completeLine(l)
}

// completeLine checks that the keys of a line fit together and fills in defaults.
func (im *importer) completeLine(l *importLine) error {
	switch {
	case l.typ == nil:
		return fmt.Errorf("type is missing")
	case !documentIDPattern.MatchString(l.documentID):
		return fmt.Errorf("documentId must be 1 to 64 letters, digits, - and _, not %q", l.documentID)
	case !l.typ.Localized && l.locale != "":
		return fmt.Errorf("%s has no locales", l.typ.UID)
	case len(l.locale) > documents.MaxLocale || l.locale == "*":
		return fmt.Errorf("%q is no locale", l.locale)
	case !l.typ.DraftAndPublish && slices.Contains(l.statuses, store.Draft):
		return fmt.Errorf("%s has no drafts", l.typ.UID)
	}
	if l.typ.Localized && l.locale == "" {
		l.locale = im.s.DefaultLocale()
	}
	if l.data == nil {
		l.data = jsontree.NewObject()
	}
	if l.statuses == nil {
		l.statuses = store.StatusesOf(l.typ)
	}
	return nil
}

// build makes the versions of a line, and returns the first issue in them.
func (im *importer) build(l *importLine) error {
	for _, status := range l.statuses {
		v := &importVersion{row: &store.Row{Type: l.typ, Status: status, Locale: l.locale}, keep: im.o.Keep}
		v.ids = append(v.ids, importedID{idName: idName{l.typ.UID, l.id}})
		var err error
		if v.row.Values, err = v.values(&l.typ.Schema, l.data, make([]string, 0, 8)); err != nil {
			return err
		}
		im.setSystem(l, v.row)
		w := edgeWalk{im, l, store.LinkSetsOf(l.typ, status), v}
		if err := w.schema(&l.typ.Schema, l.data, nil, v.row.Values, nil); err != nil {
			return err
		}
		l.versions = append(l.versions, v)
	}
	return nil
}

// setSystem sets the system attributes of a row, except for its id.
func (im *importer) setSystem(l *importLine, r *store.Row) {
	set := func(name string, value string) {
		if a := l.typ.Attribute(name); a != nil {
			r.Values[a.Index].JSON = jsontree.AppendString(nil, value)
		}
	}
	set("documentId", l.documentID)
	for _, name := range exportedTimes {
		if name == "publishedAt" && r.Status == store.Draft {
			continue
		}
		if t, ok := l.times[name]; ok {
			set(name, t)
		} else {
			set(name, im.now)
		}
	}
	if l.typ.Localized {
		set("locale", l.locale)
	}
}

// values makes the values of a document or component from its data. It skips relations, which are edges. The paths of
// all attributes share one piece of memory, so that none is copied: nothing may keep a path.
func (version *importVersion) values(s *contenttypes.Schema, data *jsontree.Object,
	path []string) ([]store.Value, error) {
	values := make([]store.Value, len(s.Attributes))
	for _, key := range data.Keys {
		a := s.Attribute(key)
		at := append(path, key)
		switch {
		case len(path) > 0 && (key == "id" || key == "__component"): // of a component
			continue
		case a == nil:
			return nil, fmt.Errorf("%s: %s has no such attribute", issues.PathName(at), s.UID)
		case a.System:
			return nil, fmt.Errorf("%s: is not part of data", issues.PathName(at))
		case a.Mapped:
			return nil, fmt.Errorf("%s: shows the relation %s of %s; give it there", issues.PathName(at),
				a.Inverse.Name, a.Inverse.Owner.UID)
		case a.IsRelation():
			continue
		}
		v := data.Value(key)
		var err error
		if a.IsScalar() {
			values[a.Index].JSON, err = version.scalar(a, at, v)
		} else {
			values[a.Index].Items, err = version.items(a, v, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// scalar casts a value. Unless values are kept, it checks it by the rules of drafts, since exported content may violate
// rules that were added later.
func (version *importVersion) scalar(a *contenttypes.Attribute, path []string, v any) ([]byte, error) {
	if version.keep {
		f := values.Fit(a, v, version.row.Status == store.Published)
		if f.Value == nil && v != nil {
			return nil, fmt.Errorf("%s: %s", issues.PathName(path), f.Problem)
		}
		return values.Encode(f.Value), nil
	}
	return importScalar(a, path, v)
}

func importScalar(a *contenttypes.Attribute, path []string, v any) ([]byte, error) {
	if a.Type == contenttypes.Password && v != nil {
		if s, _ := v.(string); !passwords.IsHash(s) {
			return nil, fmt.Errorf("%s: must be the bcrypt hash of a password, as lectern export writes it",
				issues.PathName(path))
		}
		return values.Encode(v), nil
	}
	v, found := values.Cast(a, path, v, true, values.DraftStage)
	if len(found) > 0 {
		return nil, fmt.Errorf("%s", found[0].Message)
	}
	if a.Type.Kind().IsTemporal() {
		var wrong *apierror.Error
		if v, wrong = values.CastTime(a, v); wrong != nil {
			return nil, fmt.Errorf("%s: %s", issues.PathName(path), wrong.Message)
		}
	}
	return values.Encode(v), nil
}

// items makes the components of an attribute from their data.
func (version *importVersion) items(a *contenttypes.Attribute, v any, path []string) ([]*store.Item, error) {
	if v == nil {
		return nil, nil
	}
	list := []any{v}
	if a.Type == contenttypes.DynamicZone || a.Repeatable {
		var ok bool
		if list, ok = v.([]any); !ok {
			return nil, fmt.Errorf("%s: must be a list", issues.PathName(path))
		}
	}
	items := make([]*store.Item, len(list))
	for i, v := range list {
		at := path
		if a.Type == contenttypes.DynamicZone || a.Repeatable {
			at = append(path, strconv.Itoa(i))
		}
		o, ok := v.(*jsontree.Object)
		if !ok {
			return nil, fmt.Errorf("%s: must be an object", issues.PathName(at))
		}
		c := a.ComponentNamed(o.Text("__component"))
		if c == nil {
			return nil, fmt.Errorf("%s: __component must be one of %s", issues.PathName(at), a.ComponentNames())
		}
		id, err := parseImportedID(o.Value("id"))
		if err != nil {
			return nil, fmt.Errorf("%s.id: %w", issues.PathName(at), err)
		}
		items[i] = &store.Item{Component: c}
		version.ids = append(version.ids, importedID{idName{c.UID, id}, items[i]})
		if items[i].Values, err = version.values(&c.Schema, o, at); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// ValidDocumentID reports whether an import takes a documentId.
func ValidDocumentID(id string) bool { return documentIDPattern.MatchString(id) }

// ValidLocale reports whether an import takes a locale.
func ValidLocale(code string) bool { return len(code) <= documents.MaxLocale && code != "*" }
