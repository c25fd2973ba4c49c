package answers

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"lectern/internal/simulation/program"
)

// A Run sends random operations to a server, applies them to a World, and compares the results.
type Run struct {
	Seed   uint64
	Quirk  Quirks
	Model  *Model
	Cover  *Coverage
	Done   []*Operation
	Writes int
	Asked  int

	Tolerate  int           // how many more differences do not end the run
	Different []*Difference // differences that were tolerated

	server   Host
	world    *World
	graphql  bool
	batching bool
	past     *Past // nil: the run remembers nothing
}

// A Host is a server that serves a model's project. A Run restarts it now and then if it is also a Restarter.
type Host interface {
	Do(method, path string, body any) (int, any, error)
	Upload(name string, content []byte) (int, []byte, error)
	GraphQL(limited bool, query string, variables map[string]any) (int, []byte, error)
}

// A Restarter can stop and start again on the same data.
type Restarter interface {
	Restart() error
}

// A LinkHost tells the order of a list of links with those that no response shows: targets that are not published. It
// matters when the version that has the list becomes a draft again.
type LinkHost interface {
	LinkOrder(a *Attribute, list *Type, documentID, locale, linkSet string) ([]LinkTarget, error)
}

// A LinkTarget is a document in a list of links.
type LinkTarget struct{ DocumentID, Locale string }

// A Difference describes where the server's response and the expected one differ.
type Difference struct {
	Seed     uint64
	Index    int // number of operations before it
	Request  string
	Where    string
	Expected string
	Got      string
}

func (d *Difference) Error() string {
	return fmt.Sprintf("seed %d, after %d operations\n%s\n%s\nexpected %s\ngot      %s", d.Seed, d.Index, d.Request,
		d.Where, d.Expected, d.Got)
}

// refused reports whether the status differs from the expected one.
func (d *Difference) refused() bool { return strings.HasPrefix(d.Where, "status") }

// ModelOf returns the model for a seed.
func ModelOf(seed uint64, quirk Quirks) *Model {
	return RandomModel(rand.New(rand.NewPCG(seed, 1)), quirk)
}

// NewRun returns the run of a seed against a fresh server of ModelOf(seed).
func NewRun(seed uint64, quirk Quirks, model *Model, server Host) *Run {
	return &Run{Seed: seed, Quirk: quirk, Model: model, Cover: NewCoverage(quirk), server: server,
		world: &World{Model: model, Quirk: quirk}}
}

// Random does n random operations. It returns a *Difference, or an error when the server cannot be reached.
func (r *Run) Random(n int) error {
	o := &operationGenerator{generator: generator{rng: rand.New(rand.NewPCG(r.Seed, 2)), world: r.world, quirk: r.Quirk,
		cover: r.Cover, graphql: r.graphql}}
	o.past, o.batching = r.past, r.batching
	_, o.restarts = r.server.(Restarter)
	if err := r.begin(); err != nil {
		return err
	}
	for range n {
		op := o.Operation()
		r.Done = append(r.Done, op)
		if err := r.do(op, o); err != nil {
			return err
		}
	}
	return nil
}

// begin prepares the server before the first operation.
func (r *Run) begin() error {
	if r.graphql {
		return r.upload()
	}
	return nil
}

// Replay does the operations ops.
func (r *Run) Replay(ops []*Operation) error {
	o := &operationGenerator{generator: generator{world: r.world, quirk: r.Quirk, cover: r.Cover, graphql: r.graphql}}
	if err := r.begin(); err != nil {
		return err
	}
	for _, op := range ops {
		r.Done = append(r.Done, op)
		if err := r.do(op, o); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) do(op *Operation, o *operationGenerator) error {
	switch op.Kind {
	case "restart":
		o.cover.Hit("operation", "restart")
		return r.server.(Restarter).Restart()
	case "ask":
		r.Asked++
		err := r.ask(op.Ask)
		if _, differs := err.(*Difference); differs {
			op.Ask = op.Ask.Simplify(func(q *Question) bool {
				_, differs := r.ask(q).(*Difference)
				return differs
			})
			err = r.ask(op.Ask)
		}
		return r.tolerated(err)
	case "query":
		r.Asked++
		err := r.query(op.Graph)
		if first, differs := err.(*Difference); differs {
			op.Graph = op.Graph.Simplify(func(q *Request) bool {
				d, differs := r.query(q).(*Difference)
				return differs && d.refused() == first.refused()
			})
			err = r.query(op.Graph)
		}
		return r.tolerated(err)
	case "mutate":
		return r.mutate(op, o)
	case "asOf":
		return r.askThen(op)
	case "history":
		return r.askHistory(op)
	case "restore":
		return r.restore(op)
	case "redefine":
		return r.redefine(op)
	case "batch":
		r.Writes++
		return r.doBatch(op, o)
	}
	r.Writes++
	return r.write(op, o)
}

// tolerated records a difference and returns nil while the number of differences is within Tolerate.
func (r *Run) tolerated(err error) error {
	if d, ok := err.(*Difference); ok && r.Tolerate > 0 {
		r.Tolerate--
		r.Different = append(r.Different, d)
		return nil
	}
	return err
}

// ask sends a question and compares the response.
func (r *Run) ask(q *Question) error {
	path := q.Path(r.world)
	status, got, err := r.server.Do("GET", path, nil)
	if err != nil {
		return err
	}
	wantStatus, want := r.world.Evaluate(q)
	return r.compare("GET "+path, wantStatus, want, status, got)
}

func (r *Run) compare(request string, wantStatus int, want any, status int, got any) error {
	where := ""
	switch {
	case wantStatus != status:
		where = fmt.Sprintf("status: wanted %d, got %d", wantStatus, status)
	case want != nil:
		where = difference("", want, got)
	}
	if where == "" {
		return nil
	}
	where += r.Model.about(where)
	return &Difference{r.Seed, len(r.Done) - 1, request, where, printed(want), printed(got)}
}

var attributeNames = regexp.MustCompile(`[a-zA-Z]+\d+`)

// about describes the attributes that a text names.
func (m *Model) about(text string) string {
	out := ""
	schemas := map[string]*Schema{}
	for _, t := range m.Types {
		schemas[fmt.Sprintf("%s (drafts %t, locales %t)", t.Singular, t.Drafts, t.Localized)] = &t.Schema
	}
	for _, c := range m.Components {
		schemas[c.UID] = &c.Schema
	}
	for _, name := range attributeNames.FindAllString(text, -1) {
		for owner, s := range schemas {
			a := s.Find(name)
			if a == nil {
				continue
			}
			out += fmt.Sprintf("\n%s of %s: %s, localized %t", name, owner, a.Type, a.Localized)
			if a.Type == "relation" {
				out += fmt.Sprintf(", %s to %s (drafts %t, locales %t)", a.kind(), a.Target.Singular, a.Target.Drafts,
					a.Target.Localized)
			}
		}
	}
	return out
}

// write does one write and reads back all versions of its document.
func (r *Run) write(op *Operation, o *operationGenerator) error {
	var body any
	if op.Kind == "create" || op.Kind == "update" {
		body = map[string]any{"data": op.body(r.world)}
	}
	request := op.method() + " " + op.path(r.world)
	status, got, err := r.server.Do(op.method(), op.path(r.world), body)
	if err != nil {
		return err
	}
	if body != nil {
		request += " " + program.JSON(body)
	}
	wasThere := r.there(op)
	out := r.world.Apply(op)
	o.countWrite(op, out, wasThere)
	var want any
	if out.Row != nil && body != nil {
		want = map[string]any{"data": r.world.show(out.Row, view{status: out.Row.Status}, nil, nil),
			"meta": map[string]any{}}
	}
	if out.Reason != "" {
		request += "\n(to be refused: " + out.Reason + ")" + r.Model.about(out.Reason)
	}
	if err := r.compare(request, out.Status, want, status, got); err != nil {
		return err
	}
	err = r.readBack(op, body != nil && out.Row != nil && out.Row.Status == draft)
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

func (r *Run) there(op *Operation) bool {
	d := r.world.Document(op.Number)
	return d != nil && d.Row(r.world.locale(op.Type, op.Locale), draft) != nil
}

// compareLinks compares all lists of links of documents, whether responses show them or not.
func (r *Run) compareLinks() error {
	h, ok := r.server.(LinkHost)
	if !ok {
		return nil
	}
	for _, d := range r.world.Docs {
		for _, a := range d.Type.Attributes {
			if a.Type != "relation" || d.ID.Value == nil {
				continue
			}
			for _, locale := range append([]string{""}, r.Model.Locales...) {
				for _, set := range []string{draft, published} {
					got, err := h.LinkOrder(a, d.Type, d.ID.text(), locale, set)
					if err != nil {
						return err
					}
					want := []LinkTarget(nil)
					for _, e := range r.world.Ends(a, End{d, locale}, set) {
						want = append(want, LinkTarget{e.Doc.ID.text(), e.Locale})
					}
					if !slices.Equal(got, want) {
						where := fmt.Sprintf("%s of %s %s in %q, %s links", a.Name, d.Type.Singular, d.ID.text(),
							locale, set)
						return &Difference{r.Seed, len(r.Done), "at the end", where, fmt.Sprint(want), fmt.Sprint(got)}
					}
				}
			}
		}
	}
	return nil
}

// idsIn returns the ids in a list of a response.
func idsIn(answer any, name string) []float64 {
	var ids []float64
	body, _ := answer.(map[string]any)
	data, _ := body["data"].(map[string]any)
	list, _ := data[name].([]any)
	for _, x := range list {
		entry, _ := x.(map[string]any)
		id := &Generated{Kind: "id"}
		if id.meet("", entry["id"]) == "" {
			ids = append(ids, id.Value.(float64))
		}
	}
	return ids
}

// made returns the document of a write, even if it was deleted.
func (w *World) made(op *Operation) *Document {
	for _, d := range w.Docs {
		if d.Number == op.Number && d.ID.Value != nil {
			return d
		}
	}
	return nil
}

// readBack compares every version of the document of a write, with everything that is in it.
func (r *Run) readBack(op *Operation, saved bool) error {
	doc := r.world.made(op)
	if doc == nil {
		return nil
	}
	for _, status := range []string{draft, published} {
		for _, locale := range r.Model.Locales {
			if !op.Type.Localized && locale != r.Model.Locales[0] {
				continue
			}
			q := &Question{Type: op.Type, Number: doc.Number, Status: status, Locale: []string{locale},
				Populate: everything(op.Type.Attributes)}
			if doc.Row(locale, status) == nil {
				q.Populate = nil
			}
			if err := r.ask(q); err != nil {
				return err
			}
		}
	}
	if row := doc.Row(r.world.locale(op.Type, op.Locale), draft); saved && row != nil {
		if pub := doc.Row(row.Locale, published); pub != nil && pub.Updated.text() >= row.Updated.text() {
			return &Difference{r.Seed, len(r.Done) - 1, "", "a draft was saved and is not newer than the published row",
				pub.Updated.text(), row.Updated.text()}
		}
	}
	return nil
}

// everything returns a populate of all relations and of components at every depth.
func everything(attrs []*Attribute) *Populate {
	p := &Populate{Form: "object"}
	for _, a := range attrs {
		if a.Private {
			continue
		}
		it := &Populated{Attr: a, Form: "options"}
		switch a.Type {
		case "relation":
			it.Fields = []string{"documentId"}
		case "media":
			it.Fields = []string{"name"}
		case "component":
			if it.Populate = everything(a.Component.Attributes); it.Populate == nil {
				it.Form = "true"
			}
		case "dynamiczone":
			for _, c := range a.Components {
				it.On = append(it.On, &Variant{Component: c, Populate: everything(c.Attributes)})
			}
		default:
			continue
		}
		p.Items = append(p.Items, it)
	}
	if len(p.Items) == 0 {
		return nil
	}
	return p
}

// Story describes operations, one per line, so that a person can repeat them. w must be the world after them.
func Story(ops []*Operation, w *World) string {
	var lines []string
	for _, op := range ops {
		lines = append(lines, op.describe(w))
	}
	return strings.Join(lines, "\n")
}
