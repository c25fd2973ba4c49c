package simulation

import "fmt"

// A Counter is a Host that counts what its store reads.
type Counter interface {
	Reads() Reads
}

// Reads are counts of rows, of links, and of searches from the root of a tree.
type Reads struct{ Rows, Links, Seeks int }

func (r Reads) since(before Reads) Reads {
	return Reads{r.Rows - before.Rows, r.Links - before.Links, r.Seeks - before.Seeks}
}

// reads returns what the server has read up to now, where it counts.
func (r *Run) reads() Reads {
	if c, ok := r.server.(Counter); ok {
		return c.Reads()
	}
	return Reads{}
}

// waste tells what a query has read beyond what it may, or "". What the limited asker is refused may have been read.
func (r *Run) waste(q *Request, read Reads) string {
	most, ok := r.world.Reading(q)
	if !ok || q.Limited {
		return ""
	}
	r.Cover.Hit("request", "counted reads")
	return most.exceeds(read)
}

// A reading is how much a query may read at most: each row of a level once, and the links that lead to what is shown.
type reading struct {
	rows, links int
	levels      int // fields that lead to documents, the root fields among them
}

// seeksPerLevel is how many searches a level takes beside one for each of its rows and links.
const seeksPerLevel = 2

// Reading returns how much a query may read; ok is false where it filters or sorts, which looks at what is not shown.
func (w *World) Reading(r *Request) (most reading, ok bool) {
	for _, g := range gather(r.Roots, "Query") {
		if g.Name == "__typename" {
			continue
		}
		q := &g.Args.Question
		if g.Args.searches() || q.Publication != "" || q.HasVersion != "" {
			return most, false
		}
		places := placesOf(w.list(q), q.status())
		of := g.of
		switch g.Args.Form {
		case "one", "single":
			var one []place
			for _, p := range places {
				if q.Type.Single || p.row.Doc.Number == q.Number {
					one = append(one, p)
				}
			}
			places = one[:min(1, len(one))]
		case "connection":
			places, of = w.page(places, g.Args.Paging), nodesOf(g.of)
		default:
			places = w.page(places, g.Args.Paging)
		}
		most.rows += max(len(places), w.acrossLocales(q, g.Args))
		most.levels++
		if q.Locale != nil && q.Locale[0] == "*" { // each is searched for itself
			most.levels += len(w.Model.Locales)
		}
		if !w.readLevel(&most, places, of) {
			return most, false
		}
	}
	return most, true
}

// acrossLocales is how many rows a page over all locales may take: of each locale as many as the page shows, or passes over.
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

// searches reports whether a field looks at more than it shows.
func (a *Args) searches() bool { return a.Filter != nil || len(a.Sort) > 0 }

// nodesOf is what a connection selects of its nodes.
func nodesOf(of []*Selected) []*Selected {
	var all []*Selected
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

// readLevel adds what the fields of one level read: a row that several rows lead to is read once.
func (w *World) readLevel(most *reading, places []place, of []*Selected) bool {
	bySchema := map[*Schema][]place{}
	var schemas []*Schema
	for _, p := range places {
		s := p.schema()
		if bySchema[s] == nil {
			schemas = append(schemas, s)
		}
		bySchema[s] = append(bySchema[s], p)
	}
	for _, s := range schemas {
		for _, g := range gather(of, w.Model.word(s)) {
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

// readField adds what a field reads: what it shows, and what a pagination passes over, for only the row tells whether it is shown.
func (w *World) readField(most *reading, places []place, g *gathered) bool {
	seen, looked := map[any]bool{}, map[any]bool{}
	var targets []place
	for _, p := range places {
		start, size := 0, 1
		if g.Args != nil {
			var ok bool
			if start, size, ok = g.Args.Paging.bounds(w.Model); !ok {
				return false
			}
		} else if g.Attr.toMany() || g.Attr.isNested() {
			size = w.Model.most()
		}
		all := w.targets(p, g.Attr)
		if g.Attr.isLink() {
			ends := w.ends(p, g.Attr)
			most.links += min(ends, start+size)
			if ends > len(all) { // the first links lead to what is not shown: then all are looked at
				most.links += ends
				most.rows += min(start+size, len(all))
			}
		}
		for i, t := range all[:min(start+size, len(all))] {
			again := g.Attr.Type == "localizations" // they are looked up for each row, and stand on the level for each
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

func (p place) schema() *Schema {
	switch {
	case p.file != nil:
		return fileSchema
	case p.item != nil:
		return &p.item.Component.Schema
	}
	return &p.row.Doc.Type.Schema
}

// key tells places of rows and components apart.
func (p place) key() any {
	switch {
	case p.file != nil:
		return p.file
	case p.item != nil:
		return p.item
	}
	return p.row
}

// ends counts what a link attribute of a place leads to, shown or not.
func (w *World) ends(p place, a *Attribute) int {
	switch {
	case a.Type == "media":
		return len(w.files(p.row, a))
	case a.Type == "localizations":
		return len(w.targets(p, a))
	case p.item != nil:
		return len(p.item.Ends[a.Name])
	}
	return len(w.Ends(a, p.row.end(), plane(a, p.status)))
}

// exceeds tells what was read beyond what may be, or "".
func (most reading) exceeds(read Reads) string {
	switch {
	case read.Rows > most.rows:
		return fmt.Sprintf("work: %d rows were read for %d", read.Rows, most.rows)
	case read.Links > most.links:
		return fmt.Sprintf("work: %d links were walked over for %d", read.Links, most.links)
	case read.Seeks > most.rows+most.links+seeksPerLevel*most.levels:
		return fmt.Sprintf("work: %d searches for %d rows and %d links on %d levels", read.Seeks, most.rows, most.links, most.levels)
	}
	return ""
}
