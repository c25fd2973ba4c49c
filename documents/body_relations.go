package documents

import (
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/jsontree"
	"lectern/store"
)

// A linkInput is the parsed value of a relation or media attribute in a body.
type linkInput struct {
	attr       *contenttypes.Attribute
	replace    bool // connect replaces the list
	connect    []linkItem
	disconnect []linkItem
	lenient    bool // options.strict is false
	several    bool // a to-one relation may link several localizations, as a past version did
	raw        any  // the normalised value, for messages
}

// A linkItem is one target in a linkInput.
type linkItem struct {
	connection
	limited bool          // the link is meant for one link set
	only    store.LinkSet // which one
}

func (i linkItem) in(set store.LinkSet) bool { return !i.limited || i.only == set }

// order applies the input to list, the present list of an attribute in a link set, and returns the result. If lenient
// is set, an item whose position is relative to one that is not in the list goes to its end; otherwise that is an
// error.
func (in *linkInput) order(list []store.Ref, set store.LinkSet, lenient bool) ([]store.Ref, *apierror.Error) {
	var connect []connection
	for _, item := range in.connect {
		if item.in(set) {
			connect = append(connect, item.connection)
		}
	}
	one := !in.attr.ToMany() && !in.several
	switch {
	case one && len(connect) > 0:
		return []store.Ref{in.single(connect)}, nil
	case one && len(in.connect) > 0, in.replace && len(connect) == 0:
		return nil, nil
	case in.replace:
		next := make([]store.Ref, 0, len(connect))
		seen := map[store.Ref]bool{}
		for _, c := range connect {
			if !seen[c.ref] {
				seen[c.ref] = true
				next = append(next, c.ref)
			}
		}
		return next, nil
	}
	var disconnect []store.Ref
	for _, item := range in.disconnect {
		if item.in(set) {
			disconnect = append(disconnect, item.ref)
		}
	}
	return edited(list, connect, disconnect, lenient)
}

// single returns the target that a to-one attribute keeps of several: the last one of a relation that is set, the first
// one of those to connect and of files.
func (in *linkInput) single(connect []connection) store.Ref {
	if in.replace && in.attr.Type != contenttypes.Media {
		return connect[len(connect)-1].ref
	}
	return connect[0].ref
}

// A linkReader parses the relations of one body and collects their errors. An error about a document that does not
// exist is reported before everything else. Of the other errors only the first is reported, after all issues with
// values.
type linkReader struct {
	wr      *writing
	attr    *contenttypes.Attribute // whose value is parsed
	missing *apierror.Error         // error for a documentId that does not exist
	invalid string                  // message for the first value that is not a relation
	absent  []absentIDs
}

// absentIDs are numeric ids in the body that no row of the type has.
type absentIDs struct {
	uid string
	ids map[string]bool
}

// relation parses the value of one attribute.
func (lr *linkReader) relation(a *contenttypes.Attribute, v any) *linkInput {
	in := &linkInput{attr: a, raw: v, several: lr.wr.restoring}
	lr.attr = a
	switch v := v.(type) {
	case nil:
		in.replace = true
	case bool:
		if !v {
			lr.lacks(a.Target, "false")
		}
	case *jsontree.Object:
		lr.object(in, v)
	default:
		lr.set(in, v)
	}
	return in
}

// set parses the targets that replace the list.
func (lr *linkReader) set(in *linkInput, v any) {
	in.replace = true
	items, shown := lr.items(in.attr, v, true)
	in.connect, in.raw = items, setOf(shown)
}

func setOf(items any) any {
	o := jsontree.NewObject()
	o.Set("set", items)
	return o
}

// object parses {set}, {connect, disconnect}, {documentId} and {id}.
func (lr *linkReader) object(in *linkInput, o *jsontree.Object) {
	if len(o.Keys) == 0 {
		return
	}
	set, hasSet := o.Get("set")
	connect, hasConnect := o.Get("connect")
	disconnect, hasDisconnect := o.Get("disconnect")
	options, hasOptions := o.Get("options")
	if !hasSet && !hasConnect && !hasDisconnect && !hasOptions {
		lr.set(in, o)
		return
	}
	if opt, ok := options.(*jsontree.Object); ok {
		strict, given := opt.Get("strict")
		in.lenient = given && strict == false
	}
	if set != nil && set != false && set != "" {
		lr.set(in, set)
		return
	}
	raw := jsontree.NewObject()
	if hasConnect {
		var items any
		in.connect, items = lr.items(in.attr, connect, true)
		raw.Set("connect", items)
	}
	if hasDisconnect {
		var items any
		in.disconnect, items = lr.items(in.attr, disconnect, false)
		raw.Set("disconnect", items)
	}
	in.raw = raw
}

// items parses one target or a list of them. A numeric id that does not exist is an error only if must is true.
func (lr *linkReader) items(a *contenttypes.Attribute, v any, must bool) (items []linkItem, raw any) {
	list, many := v.([]any)
	if !many {
		list = []any{v}
	}
	shown := []any{}
	for _, v := range list {
		if !lr.wr.tx.Step() {
			break
		}
		if v == nil || v == false {
			continue
		}
		item, norm, ok := lr.item(a, v, must)
		shown = append(shown, norm)
		if ok {
			items = append(items, item)
		}
	}
	return items, shown
}

// item parses one target: a documentId, a numeric id, or an object with one of them.
func (lr *linkReader) item(a *contenttypes.Attribute, v any, must bool) (item linkItem, raw any, ok bool) {
	o, isObject := v.(*jsontree.Object)
	if !isObject {
		o = jsontree.NewObject()
		switch v := v.(type) {
		case jsontree.Number:
			o.Set("id", v)
		case string:
			if startsNumeric(v) {
				o.Set("id", v)
			} else {
				o.Set("documentId", v)
			}
		default:
			lr.refuse("Invalid relations")
			return item, v, false
		}
	}
	target := lr.target(a, o)
	documentID := o.Value("documentId")
	byDocument := documentID != nil && documentID != ""
	id, byID := o.Get("id")
	switch {
	case target == nil:
	case byDocument:
		item, ok = lr.byDocument(target, documentID, o)
	case byID:
		item, ok = lr.byRow(target, id, must)
		if !ok {
			return item, o, false
		}
	}
	if target == nil || !ok && lr.missing == nil {
		lr.refuse("Invalid relations")
		return item, o, false
	}
	if !ok || !lr.place(target, &item, o) {
		return item, o, false
	}
	if item.label = lr.wr.locale; item.label == "" {
		item.label = lr.wr.s.defaultLocale
	}
	if byDocument {
		return item, idOnly(item.id), true
	}
	return item, idAs(id), true
}

func idOnly(id uint64) any { return idAs(jsontree.Number(strconv.FormatUint(id, 10))) }

// idAs returns {id} with the id as it was sent: a number or a string.
func idAs(id any) any {
	o := jsontree.NewObject()
	o.Set("id", id)
	return o
}

// target returns the type of an item. Items of a polymorphic relation name it.
func (lr *linkReader) target(a *contenttypes.Attribute, o *jsontree.Object) *contenttypes.ContentType {
	if a.Target != nil {
		return a.Target
	}
	uid := o.Text("__type")
	t := lr.wr.s.model.Type(uid)
	if t == nil || t.Internal {
		return nil
	}
	return t
}

// byDocument looks up a target by its documentId. Between localized types both ends of a link have the same locale;
// from a type that is not localized, the item may name a locale.
func (lr *linkReader) byDocument(t *contenttypes.ContentType, documentID any,
	o *jsontree.Object) (item linkItem, ok bool) {
	id, isText := plain(documentID)
	if !isText {
		return item, false
	}
	locale, shown := lr.locale(t, o)
	item.ref, item.id, ok = lr.wr.existing(t, id, locale)
	if !ok || !lr.wr.mayLink(lr.attr, t, item.ref.Doc) {
		lr.lost(id, shown)
		return item, false
	}
	if lr.wr.t.DraftAndPublish || !t.DraftAndPublish {
		return item, true
	}
	switch status := o.Value("status"); status {
	case nil:
	case "published":
		item.limited, item.only = true, store.PublishedLinks
	case "draft":
		item.limited, item.only = true, store.DraftLinks
	default:
		if lr.missing == nil {
			lr.missing = apierror.Validation("Invalid status " + issues.Print(status) +
				` of a relation. Expected "draft" or "published".`)
		}
		return item, false
	}
	return item, true
}

// locale returns the locale in which a target is looked up, and its name in messages.
func (lr *linkReader) locale(t *contenttypes.ContentType, o *jsontree.Object) (locale, shown string) {
	if !t.Localized {
		return "", "null"
	}
	locale = lr.wr.s.defaultLocale
	if lr.wr.t.Localized {
		locale = lr.wr.locale
	} else if v, given := o.Get("locale"); given && v != nil {
		locale, _ = plain(v)
	}
	return locale, locale
}

// byRow looks up a target by the numeric id of one of its rows.
func (lr *linkReader) byRow(t *contenttypes.ContentType, v any, must bool) (item linkItem, ok bool) {
	id, _ := plain(v)
	n, err := strconv.ParseUint(strings.TrimSuffix(id, ".0"), 10, 64)
	if err == nil {
		var locale string
		item.ref = store.Ref{Type: t.UID}
		item.id = n
		item.ref.Doc, _, locale, ok = lr.wr.tx.DocumentByRow(t, n)
		ok = ok && lr.wr.mayLink(lr.attr, t, item.ref.Doc)
		if t.Localized {
			item.ref.Locale = locale
		}
	}
	if !ok && must {
		lr.lacks(t, id)
	}
	return item, ok
}

// place parses the position of an item of connect.
func (lr *linkReader) place(t *contenttypes.ContentType, item *linkItem, o *jsontree.Object) bool {
	at, isObject := o.Value("position").(*jsontree.Object)
	if !isObject {
		return true
	}
	for _, key := range []string{"before", "after"} {
		v := at.Value(key)
		if v == nil || v == false || v == "" {
			continue
		}
		id, isText := plain(v)
		if !isText {
			lr.refuse("Invalid relations")
			return false
		}
		locale, shown := lr.locale(t, at)
		if _, own := at.Get("locale"); !own && t.Localized && !lr.wr.t.Localized {
			locale, shown = item.ref.Locale, item.ref.Locale
		}
		ref, row, ok := lr.wr.existing(t, id, locale)
		if !ok || !lr.wr.mayLink(lr.attr, t, ref.Doc) {
			lr.lost(id, shown)
			return false
		}
		item.nextID = row
		item.connection.place = place{kind: before, next: ref}
		if key == "after" {
			item.connection.place.kind = after
		}
		return true
	}
	if truthy(at.Value("start")) {
		item.connection.place.kind = atStart
	}
	return true
}

// existing returns the reference to a document that has a version in a locale, and the id of that version's row.
func (wr *writing) existing(t *contenttypes.ContentType, documentID,
	locale string) (ref store.Ref, row uint64, ok bool) {
	ref = store.Ref{Type: t.UID, Locale: locale}
	if t == wr.t && documentID == wr.id && (!t.Localized || locale == wr.locale) {
		ref.Doc = wr.doc
		if r := wr.versions[wr.draft()]; r.Exists() {
			return ref, r.ID(), true
		}
		return ref, 0, wr.versions[version{store.Published, wr.locale}].Exists()
	}
	if ref.Doc, ok = wr.tx.Document(t, documentID); !ok {
		return ref, 0, false
	}
	for _, st := range store.StatusesOf(t) {
		if r := wr.tx.Version(t, ref.Doc, st, locale); r.Exists() {
			return ref, r.ID(), true
		}
	}
	return ref, 0, false
}

// lost notes that there is no document with this documentId in a locale.
func (lr *linkReader) lost(id, locale string) {
	if lr.missing == nil {
		lr.missing = apierror.Validation(`Document with id "` + id + `", locale "` + locale + `" not found`)
	}
}

// refuse notes that a value is not a relation.
func (lr *linkReader) refuse(message string) {
	if lr.invalid == "" {
		lr.invalid = message
	}
}

// lacks notes that no row of a type has this numeric id.
func (lr *linkReader) lacks(t *contenttypes.ContentType, id string) {
	uid := ""
	if t != nil {
		uid = t.UID
	}
	for _, l := range lr.absent {
		if l.uid == uid {
			l.ids[id] = true
			return
		}
	}
	lr.absent = append(lr.absent, absentIDs{uid, map[string]bool{id: true}})
}

// message returns the error message for the relations of a body as a whole, "" if there is no error.
func (lr *linkReader) message() string {
	switch {
	case lr.invalid != "":
		return lr.invalid
	case len(lr.absent) > 0:
		l := lr.absent[0]
		return strconv.Itoa(len(l.ids)) + " relation(s) of type " + l.uid + " associated with this entity do not exist"
	}
	return ""
}

// plain returns a string, number or boolean as text.
func plain(v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case jsontree.Number:
		return string(jsontree.Append(nil, v)), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case jsontree.Number:
		return v.Float() != 0
	}
	return true
}

// startsNumeric reports whether a text is parsed as a numeric id. A documentId begins with a letter.
func startsNumeric(s string) bool {
	s = strings.TrimLeft(s, " \t\n\r")
	s = strings.TrimPrefix(s, "-")
	return s != "" && s[0] >= '0' && s[0] <= '9'
}
