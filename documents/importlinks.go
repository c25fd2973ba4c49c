package documents

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// An edge is a link in a line of an import. Its target is identified by documentId.
type edge struct {
	attr   *contenttypes.Attribute
	path   []string
	set    store.LinkSet
	from   store.Ref // the row that has the link; zero while the line is only checked
	target *contenttypes.ContentType
	id     string
	locale string
	order  uint64 // position among the links of the target; MaxUint64 if the line does not have it
}

// edges calls yield with the links of a version in order. The numbers of the document and its components come from r, the stored
// version. Before the version is stored, r is the zero Record.
func (im *importer) edges(l *importLine, status store.Status, r store.Record, yield func(edge)) error {
	w := edgeWalk{im, l, linkSetsOf(l.typ, status), yield}
	return w.schema(&l.typ.Schema, l.data, nil, r)
}

type edgeWalk struct {
	im    *importer
	line  *importLine
	sets  []store.LinkSet
	yield func(edge)
}

func (w *edgeWalk) schema(s *contenttypes.Schema, data *jsontree.Object, path []string, r store.Record) error {
	for _, a := range s.Attributes {
		v, given := data.Get(a.Name)
		if !given || v == nil || a.System || a.IsScalar() {
			continue
		}
		at := below(path, a.Name)
		if a.IsRelation() {
			if err := w.relation(a, v, at, r); err != nil {
				return err
			}
			continue
		}
		var stored []store.Record
		if r.Exists() {
			r.Each(a, func(item store.Record) bool { stored = append(stored, item); return true })
		}
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for i, item := range list {
			o, _ := item.(*jsontree.Object)
			inside := at
			if isList {
				inside = below(at, strconv.Itoa(i))
			}
			var itemRecord store.Record
			if i < len(stored) {
				itemRecord = stored[i]
			}
			if err := w.schema(&itemComponent(a, o).Schema, o, inside, itemRecord); err != nil {
				return err
			}
		}
	}
	return nil
}

// relation calls yield with the entries of a relation. Its value v is an object or a documentId, or a list of these.
func (w *edgeWalk) relation(a *contenttypes.Attribute, v any, path []string, r store.Record) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var from store.Ref
	if r.Exists() {
		from = r.Ref()
	}
	type target struct {
		set             store.LinkSet
		uid, id, locale string
	}
	seen := map[target]bool{}
	for _, set := range linkSetsUnder(a, w.sets) {
		n := 0
		for _, v := range list {
			e, only, err := w.entry(a, v, path)
			if err != nil {
				return err
			}
			if only != "" && only != linkSetName(set) {
				continue
			}
			to := target{set, e.target.UID, e.id, e.locale}
			if seen[to] {
				return fmt.Errorf("%s: document %s is there twice", pathName(path), e.id)
			}
			seen[to] = true
			if n++; n > 1 && !a.ToMany() {
				return fmt.Errorf("%s: holds one document", pathName(path))
			}
			e.set, e.from = set, from
			w.yield(e)
		}
	}
	return nil
}

// entry parses one entry of a relation. only is the link set to which the entry is limited, or "" if it is in all.
func (w *edgeWalk) entry(a *contenttypes.Attribute, v any, path []string) (e edge, only string, err error) {
	e = edge{attr: a, path: path, target: a.Target, order: math.MaxUint64}
	wrong := func(format string, args ...any) (edge, string, error) {
		return e, "", fmt.Errorf(pathName(path)+": "+format, args...)
	}
	o, isObject := v.(*jsontree.Object)
	if id, ok := v.(string); ok {
		o = jsontree.NewObject()
		o.Set("documentId", id)
	} else if !isObject {
		return wrong("an entry of a relation is an object with the key documentId")
	}
	for _, key := range o.Keys {
		s, isText := o.Value(key).(string)
		n, isNumber := o.Value(key).(jsontree.Number)
		switch {
		case key == "order" && isNumber:
			if e.order, err = strconv.ParseUint(string(n), 10, 64); err != nil {
				return wrong("order must be a whole number, not %s", n)
			}
		case !isText:
			return wrong("%s must be a text", key)
		case key == "documentId":
			e.id = s
		case key == "locale":
			e.locale = s
		case key == "type" && a.Target == nil:
			if e.target = w.im.s.model.Type(s); e.target == nil || !Exported(e.target) {
				return wrong("there is no content-type %q", s)
			}
		case key == "plane" && (s == "draft" || s == "published"):
			only = s
		default:
			return wrong("unknown key or value %s; an entry has documentId, locale, plane, order and, where it may be of several types, type", key)
		}
	}
	switch {
	case e.target == nil:
		return wrong("type is missing")
	case e.id == "":
		return wrong("documentId is missing")
	case !e.target.Localized:
		e.locale = ""
	case e.locale == "" && w.line.locale != "":
		e.locale = w.line.locale
	case e.locale == "":
		e.locale = w.im.s.defaultLocale
	}
	return e, only, nil
}

// checkEdges adds the links of a line to the importer: the targets that must exist, and their order among the links of each target. It
// returns an error if only one document may link to a target, and another document already does.
func (im *importer) checkEdges(snap *store.Snapshot, number int, doc uint64, edges []edge) error {
	var holds linkEdits // has only the model
	holds.model = im.s.model
	names := make([]uint64, len(edges))
	for i, e := range edges {
		names[i] = im.hash(e.attr.Owner.UID, e.attr.Name, linkSetName(e.set), e.target.UID, e.id, e.locale)
		if !holds.holdsOne(end{attr: e.attr, set: e.set}, store.Ref{Type: e.target.UID}) {
			continue
		}
		if first, taken := im.held[names[i]]; taken && first.doc != doc {
			return fmt.Errorf("%s: document %s may be linked once, and line %d does so", pathName(e.path), e.id, first.line)
		}
	}
	for i, e := range edges {
		im.held[names[i]] = holder{number, doc}
		if ordersTargets(e.attr) {
			im.ranks.add(names[i], e.order)
		}
		name := im.hash(e.target.UID, e.id, e.locale)
		if im.present[name] || hasLocalization(snap, e.target, e.id, e.locale) {
			continue
		}
		in := ""
		if e.target.Localized {
			in = " in " + e.locale
		}
		im.lateChecks++
		im.pending[name] = append(im.pending[name], lateProblem{number, doc,
			fmt.Sprintf("%s: there is no document %s of %s%s, neither in the file nor in the store", pathName(e.path), e.id, e.target.UID, in)})
	}
	return nil
}

// hasLocalization reports whether a document has a version in this locale.
func hasLocalization(snap *store.Snapshot, t *contenttypes.ContentType, id, locale string) bool {
	doc, ok := lookUp(snap, t, id)
	return ok && (snap.Version(t, doc, store.Published, locale).Exists() || t.DraftAndPublish && snap.Version(t, doc, store.Draft, locale).Exists())
}

// A linkedLine is a line whose links are to be stored.
type linkedLine struct {
	*importLine
	number int
	ranks  int // index of its first link in linkRanks
}

// storeLinks is the third phase: it stores the links between the versions.
func (im *importer) storeLinks() error {
	var chunk []linkedLine
	ranks, length := 0, 0
	err := im.eachLine("linking", func(number int, o *jsontree.Object, err error) error {
		if err != nil || im.bad[number] && !im.late[number] {
			return nil
		}
		l, err := im.parseLine(o)
		if err != nil {
			return err
		}
		line := linkedLine{l, number, ranks}
		links := 0
		for _, st := range l.statuses {
			err := im.edges(l, st, store.Record{}, func(e edge) {
				links++
				if ordersTargets(e.attr) {
					ranks++
				}
			})
			if err != nil {
				return err
			}
		}
		if links == 0 || im.late[number] {
			return nil
		}
		chunk = append(chunk, line)
		if length += im.length; len(chunk) < importChunk && length < importChunkText {
			return nil
		}
		err = im.linkChunk(chunk)
		chunk, length = chunk[:0], 0
		return err
	})
	if err != nil {
		return err
	}
	return im.linkChunk(chunk)
}

// linkChunk stores the links of some lines in one transaction.
func (im *importer) linkChunk(chunk []linkedLine) error {
	if len(chunk) == 0 {
		return nil
	}
	var lost LineProblems
	bases := map[uint32]uint64{}
	err := im.s.store.Write(im.ctx, func(tx *store.Tx) error {
		lost = lost[:0]
		clear(bases)
		for _, l := range chunk {
			found, err := im.linkLine(tx, l, bases)
			if err != nil {
				return fmt.Errorf("store the links of line %d: %w", l.number, err)
			}
			lost = append(lost, found...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for group, base := range bases {
		im.ranks.bases[group] = base + 1
	}
	im.problems = append(im.problems, lost...)
	return nil
}

// linkLine stores the links of one line. lost lists the links to documents that were skipped because their lines are invalid. If the
// last position in a target's list before the import is not in bases yet, linkLine adds it.
func (im *importer) linkLine(tx *store.Tx, l linkedLine, bases map[uint32]uint64) (lost LineProblems, err error) {
	doc, _ := tx.Document(l.typ, l.documentID)
	le := newLinkEdits(im.s.model, tx.Snapshot)
	ranks := l.ranks
	for _, st := range l.statuses {
		r := tx.Version(l.typ, doc, st, l.locale)
		if !r.Exists() {
			return nil, errors.New("it was removed while the import went on; repeat the import")
		}
		err := im.edges(l.importLine, st, r, func(e edge) {
			rank := -1
			if ordersTargets(e.attr) {
				rank = ranks
				ranks++
			}
			target, _ := lookUp(tx.Snapshot, e.target, e.id)
			if !hasLocalization(tx.Snapshot, e.target, e.id, e.locale) {
				lost = append(lost, LineProblem{l.number, fmt.Sprintf("%s: stored without the link to %s, which the import left out", pathName(e.path), e.id)})
				return
			}
			to := store.Ref{Type: e.target.UID, Doc: target, Locale: e.locale}
			from := end{e.attr, false, e.set, e.from}
			le.release(from, to)
			far := from.other(to)
			pos := uint64(0)
			if rank >= 0 {
				group := im.ranks.group[rank]
				base, known := bases[group]
				switch {
				case im.ranks.bases[group] > 0:
					base = im.ranks.bases[group] - 1
				case !known:
					base = tx.LastToPos(e.attr, e.set, to)
					bases[group] = base
				}
				pos = base + uint64(im.ranks.rank[rank])*store.PosStep
			} else {
				pos = le.next(far)
			}
			le.join(from.link(to, le.next(from), pos))
		})
		if err != nil {
			return nil, err
		}
	}
	var batch store.Batch
	le.emit(&batch)
	return lost, tx.Apply(&batch)
}

// linkRanks computes the order of the imported links of each target.
type linkRanks struct {
	links []rankedLink // until sort
	rank  []uint32     // by number of the link: its rank among the links to its target, from 1
	group []uint32     // by number of the link: the group of its target
	bases []uint64     // by group: 1 + last position in the target's list before the import; 0 while unknown
}

type rankedLink struct {
	target, order uint64
	sequence      uint32
}

func (lr *linkRanks) add(target, order uint64) {
	lr.links = append(lr.links, rankedLink{target, order, uint32(len(lr.links))})
}

func (lr *linkRanks) sort() {
	slices.SortFunc(lr.links, func(a, b rankedLink) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.order, b.order), cmp.Compare(a.sequence, b.sequence))
	})
	lr.rank, lr.group = make([]uint32, len(lr.links)), make([]uint32, len(lr.links))
	for i, l := range lr.links {
		switch {
		case i == 0 || lr.links[i-1].target != l.target:
			lr.bases = append(lr.bases, 0)
			lr.rank[l.sequence] = 1
		default:
			lr.rank[l.sequence] = lr.rank[lr.links[i-1].sequence] + 1
		}
		lr.group[l.sequence] = uint32(len(lr.bases) - 1)
	}
	lr.links = nil
}
