package transfer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// exportVersion is the version of the line format, which docs/export.md describes.
const exportVersion = 1

// exportFormat identifies the format in the first line of a file.
const exportFormat = "lectern-content"

// Exported reports whether exports contain documents of a type. They contain no locales and roles, which are created
// from the configuration, and no documents of internal types such as API tokens.
func Exported(t *contenttypes.ContentType) bool {
	return !t.Internal && t.UID != contenttypes.LocaleUID && t.UID != contenttypes.RoleUID
}

// exportKey returns the attribute by which exported links name documents of a type: the documentId. For roles it is the
// attribute type (public, authenticated, …), since their documentIds differ between projects.
func exportKey(t *contenttypes.ContentType) *contenttypes.Attribute {
	if t.UID == contenttypes.RoleUID {
		return t.Attribute("type")
	}
	return t.Attribute("documentId")
}

// lookUp finds a document by the value of its exportKey.
func lookUp(snap *store.Snapshot, t *contenttypes.ContentType, key string) (doc uint64, ok bool) {
	if t.UID != contenttypes.RoleUID {
		return snap.Document(t, key)
	}
	snap.Equal(t, store.Published, "", exportKey(t), jsontree.AppendString(nil, key), func(r store.Record) bool {
		doc, ok = r.Doc(), true
		return false
	})
	return doc, ok
}

// Export writes all content to w as JSON Lines, from one snapshot: every version of every document, type by type,
// drafts before published versions, each in order of id. The snapshot stays open until all is written.
//
// Memory only grows with the longest line. Before a line outgrows the memory reserved so far, Export calls reserve with
// the number of bytes that it needs in total; an error ends the export. reserve may be nil.
func Export(ctx context.Context, st *store.Store, model *contenttypes.Model, w io.Writer,
	reserve func(bytes int64) error) error {
	return st.View(func(s *store.Snapshot) error {
		e := &exporter{ctx: ctx, s: s, model: model, w: bufio.NewWriterSize(w, 64<<10), reserve: reserve}
		fmt.Fprintf(e.w, `{"format":%q,"version":%d}`+"\n", exportFormat, exportVersion)
		for _, t := range model.Types {
			if !Exported(t) {
				continue
			}
			if t.DraftAndPublish {
				if err := e.rows(t, store.Draft); err != nil {
					return err
				}
			}
			if err := e.rows(t, store.Published); err != nil {
				return err
			}
		}
		return e.w.Flush()
	})
}

type exporter struct {
	ctx   context.Context
	s     *store.Snapshot
	model *contenttypes.Model
	w     *bufio.Writer
	line  []byte // memory of the current line

	reserve func(bytes int64) error // nil: memory is not limited
	room    int                     // maximum length of a line in the reserved memory
	err     error                   // the error that reserve returned
}

// fits reserves memory for a line of length bytes, and for the smaller buffer that is copied to it. It returns false if
// this or an earlier call of reserve failed.
func (e *exporter) fits(length int) bool {
	if e.err == nil && e.reserve != nil && length > e.room {
		room := max(2*e.room, length)
		if e.err = e.reserve(2 * int64(room)); e.err == nil {
			e.room = room
		}
	}
	return e.err == nil
}

// rows writes the rows of one type and status in order of id.
func (e *exporter) rows(t *contenttypes.ContentType, status store.Status) error {
	return store.EachRow(e.ctx, e.s, t, status, func(r store.Record) error {
		e.line = append(e.appendRow(e.line[:0], t, r), '\n')
		if e.err != nil {
			return fmt.Errorf("export document %s of %s: %w", r.JSON(t.Attribute("documentId")), t.UID, e.err)
		}
		_, err := e.w.Write(e.line)
		return err
	})
}

// exportedTimes lists the system attributes with times that a line contains.
var exportedTimes = []string{"createdAt", "updatedAt", "publishedAt"}

func (e *exporter) appendRow(b []byte, t *contenttypes.ContentType, r store.Record) []byte {
	if !e.fits(2 * r.Size()) { // twice the size of the row, for its values and their names
		return b
	}
	b = jsontree.AppendString(append(b, `{"type":`...), t.UID)
	b = appendRaw(append(b, `,"documentId":`...), r.JSON(t.Attribute("documentId")))
	if t.Localized {
		b = jsontree.AppendString(append(b, `,"locale":`...), r.Locale())
	}
	b = jsontree.AppendString(append(b, `,"status":`...), r.Status().String())
	b = strconv.AppendUint(append(b, `,"id":`...), r.ID(), 10)
	for _, name := range exportedTimes {
		if a := t.Attribute(name); a != nil {
			b = append(jsontree.AppendString(append(b, ','), name), ':')
			b = appendRaw(b, r.JSON(a))
		}
	}
	b = append(b, `,"data":{`...)
	b = e.appendValues(b, &t.Schema, r, store.LinkSetsOf(t, r.Status()))
	return append(b, "}}"...)
}

// appendValues appends the attributes of a document or component that are not empty. The caller has reserved memory for
// scalar values.
func (e *exporter) appendValues(b []byte, schema *contenttypes.Schema, r store.Record, sets []store.LinkSet) []byte {
	for _, a := range schema.Attributes {
		if a.System || a.Mapped {
			continue
		}
		start := len(b)
		if b[start-1] != '{' && b[start-1] != ',' {
			b = append(b, ',')
		}
		b = append(jsontree.AppendString(b, a.Name), ':')
		value := len(b)
		switch {
		case a.IsRelation():
			b = e.appendLinks(b, a, r.Ref(), sets)
		case a.IsScalar():
			b = append(b, r.JSON(a)...)
		default:
			b = e.appendItems(b, a, r, sets)
		}
		if len(b) == value {
			b = b[:start]
		}
	}
	return b
}

// appendItems appends the components of an attribute: one, or a list.
func (e *exporter) appendItems(b []byte, a *contenttypes.Attribute, r store.Record, sets []store.LinkSet) []byte {
	list := a.Type == contenttypes.DynamicZone || a.Repeatable
	first := true
	r.Each(a, func(item store.Record) bool {
		switch {
		case !first:
			b = append(b, ',')
		case list:
			b = append(b, '[')
		}
		first = false
		b = strconv.AppendUint(append(b, `{"id":`...), item.ID(), 10)
		if a.Type == contenttypes.DynamicZone {
			b = jsontree.AppendString(append(b, `,"__component":`...), item.Component().UID)
		}
		b = append(e.appendValues(b, &item.Component().Schema, item, sets), '}')
		return true
	})
	if list && !first {
		b = append(b, ']')
	}
	return b
}

// appendLinks appends the targets of a relation, in order. If a version has links in both link sets and they differ,
// each entry names its link set.
func (e *exporter) appendLinks(b []byte, a *contenttypes.Attribute, from store.Ref, sets []store.LinkSet) []byte {
	sets = store.LinkSetsUnder(a, sets)
	lists := make([][]store.Link, len(sets))
	for i, set := range sets {
		e.s.LinksFrom(a, set, from, func(l store.Link) bool {
			lists[i] = append(lists[i], l)
			return e.fits(len(b) + len(lists[i])*linkText)
		})
	}
	named := len(lists) == 2 && !sameTargets(lists[0], lists[1], ordersTargets(a))
	if len(lists) == 2 && !named {
		lists = lists[:1]
	}
	start, n := len(b), 0
	for i := range lists {
		n += len(lists[i])
		for _, l := range lists[i] {
			set := ""
			if named {
				set = l.Set.Name()
			}
			if !e.fits(len(b) + linkText) {
				return b
			}
			if next := e.appendLink(b, a, l, set, len(b) > start); next != nil {
				b = next
			}
		}
	}
	if len(b) > start && (a.ToMany() || named || n > 1) {
		b = append(append(b, 0), ']')
		copy(b[start+1:], b[start:len(b)-2])
		b[start] = '['
	}
	return b
}

// linkText is an estimate of the bytes that an entry of a relation needs, as a store.Link and as text.
const linkText = 256

// sameTargets reports whether two lists of links have the same targets and, if these have an order, the same positions
// in the lists of the targets.
func sameTargets(x, y []store.Link, ordered bool) bool {
	return slices.EqualFunc(
		x, y, func(a, b store.Link) bool { return a.To == b.To && (!ordered || a.ToPos == b.ToPos) })
}

// appendLink appends the target of a link. It returns nil if the target does not exist any more.
func (e *exporter) appendLink(b []byte, a *contenttypes.Attribute, l store.Link, set string, more bool) []byte {
	target := a.Target
	if target == nil {
		target = e.model.Type(l.To.Type)
	}
	if target == nil {
		return nil
	}
	id := e.key(target, l.To.Doc)
	if id == nil {
		return nil
	}
	if more {
		b = append(b, ',')
	}
	b = append(append(b, `{"documentId":`...), id...)
	if a.Target == nil {
		b = jsontree.AppendString(append(b, `,"type":`...), target.UID)
	}
	if target.Localized {
		b = jsontree.AppendString(append(b, `,"locale":`...), l.To.Locale)
	}
	if set != "" {
		b = jsontree.AppendString(append(b, `,"plane":`...), set)
	}
	if ordersTargets(a) {
		b = strconv.AppendUint(append(b, `,"order":`...), l.ToPos, 10)
	}
	return append(b, '}')
}

// key returns the JSON of the exportKey of a document, or nil if the document has no version.
func (e *exporter) key(t *contenttypes.ContentType, doc uint64) (key []byte) {
	e.s.Versions(t, doc, func(r store.Record) bool {
		key = r.JSON(exportKey(t))
		return false
	})
	return key
}

// ordersTargets reports whether the target of a relation also has an ordered list of the links to it.
func ordersTargets(a *contenttypes.Attribute) bool { return a.Inverse != nil || a.IsMorph() }

// appendRaw appends JSON text, or null if text is empty.
func appendRaw(b, text []byte) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}
