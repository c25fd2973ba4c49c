package answers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lectern/internal/simulation/program"
	"lectern/store"
)

// askThen asks for a document as it was, and compares the answer with the content that the run remembers.
func (r *Run) askThen(op *Operation) error {
	named, shown, ok := r.momentOf(op)
	if !ok {
		return nil
	}
	ask := func(q *Question) error {
		path := q.Path(r.world)
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		path += separator + "asOf=" + named.text(op.ByTime)
		status, got, err := r.server.Do("GET", path, nil)
		if err != nil {
			return err
		}
		wantStatus, want := shown.World.Evaluate(q)
		if shown.Converted && wantStatus != 400 {
			wantStatus, want = 410, nil
		}
		r.Cover.Hit("past", fmt.Sprintf("%d of a %s", wantStatus, pickOf(op.ByTime, "time", "seq")))
		return r.compare("GET "+path, wantStatus, want, status, got)
	}
	err := ask(op.Ask)
	if _, differs := err.(*Difference); differs {
		op.Ask = op.Ask.Simplify(func(q *Question) bool {
			_, differs := ask(q).(*Difference)
			return differs
		})
		err = ask(op.Ask)
	}
	return err
}

// text returns a moment as asOf takes it.
func (m *Moment) text(byTime bool) string {
	if byTime {
		return m.At.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return m.Seq.String()
}

// askHistory asks for the history of a document, and compares it with what the run has done to the document.
func (r *Run) askHistory(op *Operation) error {
	number := op.Number
	if op.Type.Single {
		if number = r.past.lastOnly(op.Type); number == 0 {
			return nil
		}
	}
	if r.past.Unclear[number] {
		return nil
	}
	path := op.path(r.world) + "/_history?pagination[pageSize]=100"
	status, got, err := r.server.Do("GET", path, nil)
	if err != nil {
		return err
	}
	want := slices.Clone(r.past.Items[number])
	r.Cover.Hit("past", fmt.Sprintf("history %d", status))
	if wantStatus := pickOf(len(want) == 0, 404, 200); wantStatus != status || status == 404 {
		return r.compare("GET "+path, wantStatus, nil, status, got)
	}
	body, _ := got.(map[string]any)
	list, _ := body["data"].([]any)
	items, where := r.past.itemsIn(list)
	if where == "" && len(list) < 100 {
		where = differentItems(want, items)
	}
	if where != "" {
		return &Difference{r.Seed, len(r.Done) - 1, "GET " + path, where, itemsText(want), printed(got)}
	}
	return r.askHistoryPage(op.path(r.world)+"/_history", list)
}

// askHistoryPage asks for a page and compares it with the whole history.
func (r *Run) askHistoryPage(path string, all []any) error {
	const page, size = 2, 3
	path += fmt.Sprintf("?pagination[page]=%d&pagination[pageSize]=%d", page, size)
	status, got, err := r.server.Do("GET", path, nil)
	if err != nil {
		return err
	}
	body, _ := got.(map[string]any)
	list, _ := body["data"].([]any)
	if want := all[min(len(all), size):min(len(all), page*size)]; status != 200 ||
		program.JSON(list) != program.JSON(want) && len(list)+len(want) > 0 {
		return &Difference{r.Seed, len(r.Done) - 1, "GET " + path, "a page of the history", printed(want),
			printed(list)}
	}
	return nil
}

// lastOnly returns the document that a single type has, or had last; 0 if it never had one.
func (p *Past) lastOnly(t *Type) int {
	for _, m := range slices.Backward(p.Moments) {
		if d := m.World.Single(t); d != nil {
			return d.Number
		}
	}
	return 0
}

// itemsIn reads the items of an answer. It leaves out those of changed definitions, and checks the order and who has
// written.
func (p *Past) itemsIn(list []any) (items []*PastItem, where string) {
	var last *store.Position
	for _, x := range list {
		object, _ := x.(map[string]any)
		at, err := store.ParsePosition(fmt.Sprint(object["seq"]))
		if err != nil || last != nil && at.Sequence > last.Sequence {
			return nil, fmt.Sprintf("seq: %v is out of order", object["seq"])
		}
		last = &at
		by, _ := object["by"].(map[string]any)
		if by["kind"] == "system" {
			continue
		}
		i, _ := slices.BinarySearchFunc(p.Moments, at.Sequence,
			func(m *Moment, sequence uint64) int { return cmp.Compare(m.Seq.Sequence, sequence) })
		if i == len(p.Moments) {
			return nil, fmt.Sprintf("seq: %v is that of no write", at)
		}
		item := &PastItem{Action: fmt.Sprint(object["action"]), Status: fmt.Sprint(object["status"]),
			Moment: p.Moments[i]}
		if by["kind"] != "token" || by["name"] != "full" && by["name"] != "principal" {
			return nil, fmt.Sprintf("by: %v has written", by)
		}
		item.Locale, _ = object["locale"].(string)
		for _, name := range object["changed"].([]any) {
			item.Changed = append(item.Changed, fmt.Sprint(name))
		}
		slices.Sort(item.Changed)
		items = append(items, item)
	}
	return items, ""
}

// differentItems returns the first difference between the items of two histories, or "". What was changed before a
// conversion is not compared.
func differentItems(want, got []*PastItem) string {
	order := func(x, y *PastItem) int {
		return cmp.Or(cmp.Compare(y.Moment.Seq.Sequence, x.Moment.Seq.Sequence), cmp.Compare(x.Locale, y.Locale),
			cmp.Compare(x.Status, y.Status))
	}
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	for i := range max(len(want), len(got)) {
		if i >= len(want) {
			return "history: an item too many: " + got[i].String()
		}
		if i >= len(got) {
			return "history: an item is missing: " + want[i].String()
		}
		x, y := *want[i], *got[i]
		if x.Moment.Converted {
			x.Changed, y.Changed = nil, nil
		}
		if x.String() != y.String() {
			return fmt.Sprintf("history: wanted %s, got %s", &x, &y)
		}
	}
	return ""
}

func (i *PastItem) String() string {
	return fmt.Sprintf("%s %s %q of %v at %s", i.Action, i.Status, i.Locale, i.Changed, i.Moment.Seq)
}

func itemsText(items []*PastItem) string {
	var lines []string
	for _, i := range items {
		lines = append(lines, i.String())
	}
	return strings.Join(lines, "\n")
}

// restore restores a former version, and reads the document back.
func (r *Run) restore(op *Operation) error {
	m, _, ok := r.momentOf(op)
	if !ok {
		return nil
	}
	data := map[string]any{"seq": m.Seq.String()}
	if op.Status != "" {
		data["status"] = op.Status
	}
	path := op.path(r.world) + "/actions/restore"
	if op.Locale != "" {
		path += "?locale=" + op.Locale
	}
	request := "POST " + path + " " + program.JSON(map[string]any{"data": data})
	status, got, err := r.server.Do("POST", path, map[string]any{"data": data})
	if err != nil {
		return err
	}
	out, written := Outcome{Status: 410}, op
	if !m.Converted {
		out, written = r.world.Restore(op, m.World)
	}
	r.Cover.Hit("past", fmt.Sprintf("restore %d", out.Status))
	if out.Reason != "" {
		request += "\n(to be refused: " + out.Reason + ")"
	}
	var want any
	if out.Row != nil {
		want = map[string]any{"data": r.world.show(out.Row, view{status: out.Row.Status}, nil, nil),
			"meta": map[string]any{}}
	}
	if err := r.compare(request, out.Status, want, status, got); err != nil {
		return err
	}
	err = r.readBack(written, false)
	if d, ok := err.(*Difference); ok {
		d.Request = request + "\nthen " + d.Request
	}
	if err != nil {
		return err
	}
	if err := r.settle(); err != nil {
		return err
	}
	return r.remember(1)
}

// redefine changes a definition, and serves the content under it.
func (r *Run) redefine(op *Operation) error {
	op.Redefinition.apply(r.Model)
	r.Cover.Hit("past", op.Redefinition.word())
	if err := r.server.(LoggedHost).Redefine(r.Model); err != nil {
		return err
	}
	if op.Redefinition.Convert {
		for _, m := range r.past.Moments {
			m.Converted = true
		}
	} else {
		r.world.Added = append(r.world.Added, op.Redefinition.Attr)
	}
	return r.remember(1)
}
