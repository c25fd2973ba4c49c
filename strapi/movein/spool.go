package movein

import (
	"bufio"
	"slices"
	"strconv"
	"time"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
	"lectern/strapi/archive"
)

// A spooler writes the rows of an archive as lines of the export format, which docs/export.md describes. This is the
// second pass: an index knows the rows and links by then.
type spooler struct {
	*index
	w      *bufio.Writer
	line   []byte // memory of the current line
	files  *files
	now    string          // the time of the move
	unique map[uint64]bool // hashes of the values of unique attributes in published versions
}

// addEntity writes the line of a row, unless the row does not come along.
func (sp *spooler) addEntity(e archive.Entity) error {
	s := sp.schemas[e.Type]
	if s == nil || s.typ == nil || s.typ.UID == contenttypes.RoleUID {
		return nil
	}
	n, ok := s.rows[e.ID]
	if !ok || sp.rows[n].dropped {
		return nil
	}
	if s.typ.UID == contenttypes.FileUID {
		sp.files.take(e.Data)
	}
	sp.line = append(sp.appendRow(sp.line[:0], s, e, &sp.rows[n]), '\n')
	_, err := sp.w.Write(sp.line)
	return err
}

// systemTimes are the times of a row that a line has.
var systemTimes = []string{"createdAt", "updatedAt", "publishedAt"}

func (sp *spooler) appendRow(b []byte, s *indexedSchema, e archive.Entity, r *row) []byte {
	b = jsontree.AppendString(append(b, `{"type":`...), s.UID)
	b = strconv.AppendUint(append(b, `,"id":`...), e.ID, 10)
	b = jsontree.AppendString(append(b, `,"documentId":`...), r.documentID)
	if s.typ.Localized {
		b = jsontree.AppendString(append(b, `,"locale":`...), r.locale)
	}
	b = jsontree.AppendString(append(b, `,"status":`...), r.status.String())
	for _, name := range systemTimes {
		t, a := e.Data.Value(name), s.Attribute(name)
		if t == nil || a == nil || name == "publishedAt" && r.status == store.Draft {
			continue
		}
		if t = values.Fit(a, datetime(t), false).Value; t == nil {
			sp.notes.add(name+" of "+s.UID, "it is no time; the time of the move stands for it")
			t = sp.now
		}
		b = jsontree.Append(append(b, `,"`+name+`":`...), t)
	}
	b = append(b, `,"data":{`...)
	b = sp.appendValues(b, s, e.ID, e.Data, r)
	return append(b, "}}"...)
}

// systemKeys are keys in the data of rows and components that are no attributes.
var systemKeys = []string{"id", "documentId", "createdAt", "updatedAt", "publishedAt", "locale", "__component"}

// appendValues appends the attributes of a row or component that have a value. r is the row that they belong to.
func (sp *spooler) appendValues(b []byte, s *indexedSchema, id uint64, data *jsontree.Object, r *row) []byte {
	for _, key := range data.Keys {
		if a := s.Attribute(key); (a == nil || a.System) && data.Value(key) != nil &&
			!slices.Contains(systemKeys, key) {
			sp.notes.add("values of "+s.UID+"."+key, "there is no such attribute")
		}
	}
	for _, a := range s.Attributes {
		if a.System || a.Mapped {
			continue
		}
		start := len(b)
		if last := b[start-1]; last != '{' && last != ',' {
			b = append(b, ',')
		}
		b = append(jsontree.AppendString(b, a.Name), ':')
		value := len(b)
		switch v := data.Value(a.Name); {
		case a.IsRelation():
			b = sp.appendLinks(b, s, a, id, r)
		case a.Type == contenttypes.DateTime:
			b = appendValue(b, sp.fit(a, datetime(v), r))
		case a.IsScalar():
			b = appendValue(b, sp.fit(a, v, r))
		default:
			b = sp.appendItems(b, a, v, r)
		}
		if len(b) == value {
			b = b[:start]
		}
	}
	return b
}

// appendValue appends a value unless it is null.
func appendValue(b []byte, v any) []byte {
	if v == nil {
		return b
	}
	return jsontree.Append(b, v)
}

// datetime returns the value of a datetime. The type timestamp of Strapi, which is a datetime here, has the
// milliseconds since 1970 as text.
func datetime(v any) any {
	if s, ok := v.(string); ok {
		if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
			return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
	}
	return v
}

// appendItems appends the components of an attribute: one, or a list.
func (sp *spooler) appendItems(b []byte, a *contenttypes.Attribute, v any, r *row) []byte {
	items, isList := v.([]any)
	if !isList && v != nil {
		items = []any{v}
	}
	list := a.Type == contenttypes.DynamicZone || a.Repeatable
	start, n := len(b), 0
	for i, v := range items {
		item, _ := v.(*jsontree.Object)
		s := sp.componentOf(a, item)
		if s == nil {
			sp.notes.add("components of "+a.Owner.UID+"."+a.Name, "there is no such component")
			continue
		}
		if len(b) > start {
			if !list {
				sp.notes.add("components of "+a.Owner.UID+"."+a.Name, "the attribute holds one")
				break
			}
			b = append(b, ',')
		}
		n++
		id, _ := strconv.ParseUint(string(number(item.Value("id"))), 10, 64)
		b = append(b, '{')
		if a.Type == contenttypes.DynamicZone {
			b = append(jsontree.AppendString(append(b, `"__component":`...), s.UID), ',')
		}
		if id > 0 {
			b = append(strconv.AppendUint(append(b, `"id":`...), id, 10), ',')
		}
		outer := len(sp.misfits.path)
		if sp.misfits.path = append(sp.misfits.path, a.Name); list {
			sp.misfits.path = append(sp.misfits.path, strconv.Itoa(i))
		}
		b = sp.appendValues(b, s, id, item, r)
		sp.misfits.path = sp.misfits.path[:outer]
		if b[len(b)-1] == ',' {
			b = b[:len(b)-1]
		}
		b = append(b, '}')
	}
	sp.fitItems(a, n, r)
	if !list || len(b) == start {
		return b
	}
	return append(slices.Insert(b, start, '['), ']')
}

// number returns v if it is a number, else "".
func number(v any) jsontree.Number {
	n, _ := v.(jsontree.Number)
	return n
}

// componentOf returns which component an item of an attribute is, or nil if it is none.
func (sp *spooler) componentOf(a *contenttypes.Attribute, item *jsontree.Object) *indexedSchema {
	if item == nil {
		return nil
	}
	if a.Type != contenttypes.DynamicZone {
		return sp.schemas[a.Component.UID]
	}
	uid := item.Text("__component")
	if !slices.ContainsFunc(a.Components, func(c *contenttypes.Component) bool { return c.UID == uid }) {
		return nil
	}
	return sp.schemas[uid]
}

// appendLinks appends the targets of a relation of a row or component. r is the row, or the one that the component
// belongs to.
func (sp *spooler) appendLinks(b []byte, s *indexedSchema, a *contenttypes.Attribute, id uint64, r *row) []byte {
	start := len(b)
	for _, t := range sp.targets(s, a, id, r) {
		if len(b) > start {
			b = append(b, ',')
		}
		b = sp.appendTarget(b, a, t)
	}
	if len(b) == start {
		return b
	}
	return append(slices.Insert(b, start, '['), ']')
}

func (sp *spooler) appendTarget(b []byte, a *contenttypes.Attribute, t target) []byte {
	to := &sp.rows[t.link.target]
	b = jsontree.AppendString(append(b, `{"documentId":`...), to.documentID)
	if a.Target == nil {
		b = jsontree.AppendString(append(b, `,"type":`...), to.typ.UID)
	}
	if to.typ.Localized {
		b = jsontree.AppendString(append(b, `,"locale":`...), to.locale)
	}
	if t.plane != "" {
		b = jsontree.AppendString(append(b, `,"plane":`...), t.plane)
	}
	if n, ok := order(t.link.inverse); ok {
		b = strconv.AppendUint(append(b, `,"order":`...), n, 10)
	}
	return append(b, '}')
}

// finish counts the links that no row and no component of the archive had.
func (sp *spooler) finish() {
	for field, n := range sp.counter.links {
		if rest := n.Source - n.LeftOut - n.Joined - n.written; rest > 0 {
			n.LeftOut += rest
			for range rest {
				sp.notes.add("links of "+field, "the component that has them is in no row that comes along")
			}
		}
	}
}
