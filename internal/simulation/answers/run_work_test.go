package answers

import "fmt"

// A Counter is a Host that counts the reads of its store.
type Counter interface {
	Reads() Reads
}

// Reads counts rows, links, and searches from the root of a tree.
type Reads struct{ Rows, Links, Seeks int }

func (r Reads) since(before Reads) Reads {
	return Reads{r.Rows - before.Rows, r.Links - before.Links, r.Seeks - before.Seeks}
}

// reads returns the reads of the server so far, or zero if it does not count.
func (r *Run) reads() Reads {
	if c, ok := r.server.(Counter); ok {
		return c.Reads()
	}
	return Reads{}
}

// excessReads describes the reads of a query beyond its limit, or returns "". Queries of the limited principal may read
// attributes that they are then refused.
func (r *Run) excessReads(q *Request, read Reads) string {
	most, ok := r.world.ReadLimit(q)
	if !ok || q.Limited {
		return ""
	}
	r.Cover.Hit("request", "counted reads")
	return most.exceeds(read)
}

// A readLimit is the largest number of reads that a query may need: each row of a level once, and the links to the rows
// that are shown.
type readLimit struct {
	rows, links int
	levels      int // fields that lead to documents, including root fields
}

// seeksPerLevel is how many searches a level may need in addition to one for each of its rows and links.
const seeksPerLevel = 2

// ReadLimit returns the largest number of reads that a query may need. ok is false if the query filters or sorts, and
// so reads rows that it does not show.
func (w *World) ReadLimit(r *Request) (most readLimit, ok bool) {
	for _, g := range collectFields(r.Roots, "Query") {
		if g.Name == "__typename" {
			continue
		}
		q := &g.Args.Question
		if g.Args.searches() || q.Publication != "" || q.HasVersion != "" {
			return most, false
		}
		instances := instancesOf(w.list(q), q.status())
		of := g.of
		switch g.Args.Form {
		case "one", "single":
			var one []instance
			for _, p := range instances {
				if q.Type.Single || p.row.Doc.Number == q.Number {
					one = append(one, p)
				}
			}
			instances = one[:min(1, len(one))]
		case "connection":
			instances, of = w.page(instances, g.Args.Paging), nodesOf(g.of)
		default:
			instances = w.page(instances, g.Args.Paging)
		}
		most.rows += max(len(instances), w.acrossLocales(q, g.Args))
		most.levels++
		if q.Locale != nil && q.Locale[0] == "*" { // one search for each locale
			most.levels += len(w.Model.Locales)
		}
		if !w.readLevel(&most, instances, of) {
			return most, false
		}
	}
	return most, true
}

// acrossLocales returns how many rows a page over all locales may need: from each locale as many as the page shows or
// skips.
func (w *World) acrossLocales(q *Question, a *Args) int {
	if a.Form == "one" || a.Form == "single" || len(q.Locale) == 0 || q.Locale[0] != "*" {
		return 0
	}
	start, size, _ := a.Paging.bounds(w.Model)
	byLocale := map[string]int{}
	for _, r := range w.list(q) {
		byLocale[r.Locale]++
	}
	total := 0
	for _, n := range byLocale {
		total += min(n, start+size)
	}
	return total
}

// searches reports whether a field must read more rows than it shows.
func (a *Args) searches() bool { return a.Filter != nil || len(a.Sort) > 0 }

// nodesOf returns what a connection selects of its nodes.
func nodesOf(of []*Selection) []*Selection {
	var all []*Selection
	for _, s := range of {
		switch {
		case !s.shown():
		case s.Fragment != "":
			all = append(all, nodesOf(s.Of)...)
		case s.Name == "nodes":
			all = append(all, s.Of...)
		}
	}
	return all
}

// readLevel adds the reads of the fields of one level. A row with several links to it is read once.
func (w *World) readLevel(most *readLimit, instances []instance, of []*Selection) bool {
	bySchema := map[*Schema][]instance{}
	var schemas []*Schema
	for _, p := range instances {
		s := p.schema()
		if bySchema[s] == nil {
			schemas = append(schemas, s)
		}
		bySchema[s] = append(bySchema[s], p)
	}
	for _, s := range schemas {
		for _, g := range collectFields(of, w.Model.word(s)) {
			if g.Attr == nil || g.Attr.isScalar() {
				continue
			}
			if g.Args != nil && g.Args.searches() || !w.readField(most, bySchema[s], g) {
				return false
			}
		}
	}
	return true
}

// readField adds the reads of a field: the rows it shows, and the rows that a pagination skips, since the row must be
// read to know whether it is shown.
func (w *World) readField(most *readLimit, instances []instance, g *collectedField) bool {
	seen, looked := map[any]bool{}, map[any]bool{}
	var targets []instance
	for _, p := range instances {
		start, size := 0, 1
		if g.Args != nil {
			var ok bool
			if start, size, ok = g.Args.Paging.bounds(w.Model); !ok {
				return false
			}
		} else if g.Attr.toMany() || g.Attr.isNested() {
			size = w.Model.maxListLength()
		}
		all := w.targets(p, g.Attr)
		if g.Attr.isLink() {
			ends := w.ends(p, g.Attr)
			most.links += min(ends, start+size)
			if ends > len(all) { // some links lead to rows that are not shown, so all links are read
				most.links += ends
				most.rows += min(start+size, len(all))
			}
		}
		for i, t := range all[:min(start+size, len(all))] {
			again := g.Attr.Type == "localizations" // localizations are looked up once for each row
			if g.Attr.isLink() && (again || !looked[t.key()]) {
				looked[t.key()] = true
				most.rows++
			}
			if i >= start && (again || !seen[t.key()]) {
				seen[t.key()] = true
				targets = append(targets, t)
			}
		}
	}
	if g.Attr.isLink() {
		most.levels++
	}
	of := g.of
	if g.Connection {
		of = nodesOf(of)
	}
	return w.readLevel(most, targets, of)
}

func (p instance) schema() *Schema {
	switch {
	case p.file != nil:
		return fileSchema
	case p.item != nil:
		return &p.item.Component.Schema
	}
	return &p.row.Doc.Type.Schema
}

// key identifies the row or component of an instance.
func (p instance) key() any {
	switch {
	case p.file != nil:
		return p.file
	case p.item != nil:
		return p.item
	}
	return p.row
}

// ends returns how many links a relation of an instance has, shown or not.
func (w *World) ends(p instance, a *Attribute) int {
	switch {
	case a.Type == "media":
		return len(w.files(p.row, a))
	case a.Type == "localizations":
		return len(w.targets(p, a))
	case p.item != nil:
		return len(p.item.Ends[a.Name])
	}
	return len(w.Ends(a, p.row.end(), linkSetOf(a, p.status)))
}

// exceeds describes the reads beyond the limit, or returns "".
func (most readLimit) exceeds(read Reads) string {
	switch {
	case read.Rows > most.rows:
		return fmt.Sprintf("work: %d rows were read for %d", read.Rows, most.rows)
	case read.Links > most.links:
		return fmt.Sprintf("work: %d links were walked over for %d", read.Links, most.links)
	case read.Seeks > most.rows+most.links+seeksPerLevel*most.levels:
		return fmt.Sprintf("work: %d searches for %d rows and %d links on %d levels", read.Seeks, most.rows, most.links,
			most.levels)
	}
	return ""
}
