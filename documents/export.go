package documents

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

// ExportVersion is the version of the line format that Export writes and Import reads; docs/export.md describes it.
const ExportVersion = 1

// exportFormat names the format in the first line of a file.
const exportFormat = "lectern-content"

// exportPage is how many rows are taken at a time, so that memory does not grow with the content.
const exportPage = 500

// Exported reports whether documents of a type are content: what is written by Export and read by Import. Locales and roles are
// not, since the configuration makes them, nor are API tokens and the like.
func Exported(t *contenttypes.ContentType) bool {
	return !t.Internal && t.UID != contenttypes.LocaleUID && t.UID != contenttypes.RoleUID
}

// fileName returns the attribute by which a file calls documents of a type: the documentId. Roles, of which each project has
// documents of its own, are called by their type (public, authenticated, …), since that is the same in all projects.
func fileName(t *contenttypes.ContentType) *contenttypes.Attribute {
	if t.UID == contenttypes.RoleUID {
		return t.Attribute("type")
	}
	return t.Attribute("documentId")
}

// lookUp finds a document by what a file calls it.
func lookUp(snap *store.Snapshot, t *contenttypes.ContentType, name string) (doc uint64, ok bool) {
	if t.UID != contenttypes.RoleUID {
		return snap.Document(t, name)
	}
	snap.Equal(t, store.Published, "", fileName(t), jsontree.AppendString(nil, name), func(r store.Record) bool {
		doc, ok = r.Doc(), true
		return false
	})
	return doc, ok
}

// Export writes all content to w as JSON Lines, out of one snapshot: every version of every document, type by type, drafts
// before published versions, each in order of id. The snapshot is held until w has taken everything.
//
// Memory grows with the longest line alone. Before a line becomes longer than ever before, reserve, which may be nil, is called with
// the number of bytes that lines take from then on; its error ends the export.
func Export(ctx context.Context, st *store.Store, model *contenttypes.Model, w io.Writer, reserve func(bytes int64) error) error {
	return st.View(func(s *store.Snapshot) error {
		e := &exporter{ctx: ctx, s: s, model: model, w: bufio.NewWriterSize(w, 64<<10), reserve: reserve}
		fmt.Fprintf(e.w, `{"format":%q,"version":%d}`+"\n", exportFormat, ExportVersion)
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
	line  []byte // kept between rows

	reserve func(bytes int64) error // nil: memory is not bounded
	room    int                     // how long a line may become with what is reserved
	err     error                   // of reserve
}

// fits reserves memory for a line of so many bytes and for the buffer that it outgrows. It reports false when reserve failed, now or before.
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
	id, last := t.Attribute("id"), uint64(0)
	for {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		after, err := FilterOf(t, Gt("id", last))
		if err != nil {
			return err
		}
		page, err := e.s.Find(&store.Query{
			Type: t, Status: status, Locales: store.LocaleSet{All: true}, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{id}}},
			Filter: after, Limit: exportPage,
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", t.UID, err)
		}
		for _, r := range page.Rows {
			e.line = append(e.appendRow(e.line[:0], t, r), '\n')
			if e.err != nil {
				return fmt.Errorf("export document %s of %s: %w", r.JSON(t.Attribute("documentId")), t.UID, e.err)
			}
			if _, err := e.w.Write(e.line); err != nil {
				return err
			}
			last = r.ID()
		}
		if len(page.Rows) < exportPage {
			return nil
		}
	}
}

// exportedTimes are the system attributes that a line carries beside what names the version.
var exportedTimes = []string{"createdAt", "updatedAt", "publishedAt"}

func (e *exporter) appendRow(b []byte, t *contenttypes.ContentType, r store.Record) []byte {
	if !e.fits(2 * r.Size()) { // the values of a row, and their names
		return b
	}
	b = jsontree.AppendString(append(b, `{"type":`...), t.UID)
	b = appendRaw(append(b, `,"documentId":`...), r.JSON(t.Attribute("documentId")))
	if t.Localized {
		b = jsontree.AppendString(append(b, `,"locale":`...), r.Locale())
	}
	b = jsontree.AppendString(append(b, `,"status":`...), statusName(r.Status()))
	for _, name := range exportedTimes {
		if a := t.Attribute(name); a != nil {
			b = append(jsontree.AppendString(append(b, ','), name), ':')
			b = appendRaw(b, r.JSON(a))
		}
	}
	b = append(b, `,"data":{`...)
	b = e.appendValues(b, &t.Schema, r, planesOf(t, r.Status()))
	return append(b, "}}"...)
}

// appendValues appends the attributes of a document or component that hold anything. Their scalar values fit the line already.
func (e *exporter) appendValues(b []byte, schema *contenttypes.Schema, r store.Record, planes []store.Status) []byte {
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
			b = e.appendLinks(b, a, r.Ref(), planes)
		case a.IsScalar():
			b = append(b, r.JSON(a)...)
		default:
			b = e.appendItems(b, a, r, planes)
		}
		if len(b) == value {
			b = b[:start]
		}
	}
	return b
}

// appendItems appends the components of an attribute: one, or a list.
func (e *exporter) appendItems(b []byte, a *contenttypes.Attribute, r store.Record, planes []store.Status) []byte {
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
		b = append(b, '{')
		if a.Type == contenttypes.DynamicZone {
			b = jsontree.AppendString(append(b, `"__component":`...), item.Component().UID)
		}
		b = append(e.appendValues(b, &item.Component().Schema, item, planes), '}')
		return true
	})
	if list && !first {
		b = append(b, ']')
	}
	return b
}

// appendLinks appends what a relation points at, in order. Where a version has links in both planes that differ, each
// entry says which one it is in.
func (e *exporter) appendLinks(b []byte, a *contenttypes.Attribute, from store.Ref, planes []store.Status) []byte {
	planes = planesUnder(a, planes)
	lists := make([][]store.Link, len(planes))
	for i, plane := range planes {
		e.s.LinksFrom(a, plane, from, func(l store.Link) bool {
			lists[i] = append(lists[i], l)
			return e.fits(len(b) + len(lists[i])*linkText)
		})
	}
	named := len(lists) == 2 && !sameTargets(lists[0], lists[1])
	if len(lists) == 2 && !named {
		lists = lists[:1]
	}
	start := len(b)
	for i := range lists {
		for _, l := range lists[i] {
			plane := ""
			if named {
				plane = statusName(l.Plane)
			}
			if !e.fits(len(b) + linkText) {
				return b
			}
			if next := e.appendLink(b, a, l, plane, len(b) > start); next != nil {
				b = next
			}
		}
	}
	if len(b) > start && (a.ToMany() || named) {
		b = append(append(b, 0), ']')
		copy(b[start+1:], b[start:len(b)-2])
		b[start] = '['
	}
	return b
}

// linkText is about how many bytes an entry of a relation takes, as a store.Link and as text.
const linkText = 256

// sameTargets reports whether two lists of links lead to the same, and have the same positions in the lists of the other side.
func sameTargets(x, y []store.Link) bool {
	return slices.EqualFunc(x, y, func(a, b store.Link) bool { return a.To == b.To && a.ToPos == b.ToPos })
}

// appendLink appends one end of a link; nil when the document is gone, as that of a link may be.
func (e *exporter) appendLink(b []byte, a *contenttypes.Attribute, l store.Link, plane string, more bool) []byte {
	target := a.Target
	if target == nil {
		target = e.model.Type(l.To.Type)
	}
	if target == nil {
		return nil
	}
	id := e.name(target, l.To.Doc)
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
	if plane != "" {
		b = jsontree.AppendString(append(b, `,"plane":`...), plane)
	}
	if ordersTargets(a) {
		b = strconv.AppendUint(append(b, `,"order":`...), l.ToPos, 10)
	}
	return append(b, '}')
}

// name returns what a file calls a document as JSON, nil when it has no version.
func (e *exporter) name(t *contenttypes.ContentType, doc uint64) (name []byte) {
	e.s.Versions(t, doc, func(r store.Record) bool {
		name = r.JSON(fileName(t))
		return false
	})
	return name
}

// ordersTargets reports whether the other side of a relation shows it too, and so has an order of its own.
func ordersTargets(a *contenttypes.Attribute) bool { return a.Inverse != nil || a.IsMorph() }

// appendRaw appends JSON text, null where there is none.
func appendRaw(b, text []byte) []byte {
	if text == nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

func statusName(s store.Status) string {
	if s == store.Draft {
		return "draft"
	}
	return "published"
}
