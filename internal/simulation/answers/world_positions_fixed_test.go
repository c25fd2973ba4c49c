package answers

import "testing"

// A linkedModel has two types whose documents are linked to many of each other. Pages have drafts, topics may have
// some.
type linkedModel struct {
	model               *Model
	page, topic         *Type
	name, topics, pages *Attribute
}

func newLinkedModel(drafts bool) *linkedModel {
	m := &linkedModel{
		page:  &Type{Schema: Schema{UID: "api::page.page"}, Singular: "page", Plural: "pages", Drafts: true},
		topic: &Type{Schema: Schema{UID: "api::topic.topic"}, Singular: "topic", Plural: "topics", Drafts: drafts},
		name:  &Attribute{Name: "name", Type: "string"},
	}
	m.topics = &Attribute{Name: "topics", Type: "relation", Relation: "manyToMany", Target: m.topic, Owner: m.page}
	m.pages = &Attribute{Name: "pages", Type: "relation", Relation: "manyToMany", Target: m.page, Owner: m.topic,
		Mapped: true, Inverse: m.topics}
	m.topics.Inverse = m.pages
	m.page.Attributes, m.topic.Attributes = []*Attribute{m.topics}, []*Attribute{m.name, m.pages}
	m.model = &Model{Types: []*Type{m.page, m.topic}, Locales: []string{"en"}, DefaultLimit: 10, MaxLimit: -1}
	(&modelGenerator{model: m.model}).system()
	return m
}

// linked returns the field that links a document to others.
func linked(a *Attribute, documents ...int) []Field {
	edit := &Edit{Form: "list"}
	for _, number := range documents {
		edit.Set = append(edit.Set, Target{Number: number})
	}
	return []Field{{Attr: a, Value: edit}}
}

// TestPositionsThatTheServerChooses makes a page come to a list of pages at a place that the server may choose, while
// the same request writes or shows the document that has the list.
func TestPositionsThatTheServerChooses(t *testing.T) {
	for _, c := range []struct {
		name    string
		drafts  bool // of topics
		prepare func(*Run) *Run
		request func(*linkedModel) []*Operation
	}{
		{"a draft is discarded in a batch", true, (*Run).Batching, func(m *linkedModel) []*Operation {
			return []*Operation{
				{Kind: "create", Type: m.page, Number: 1},
				{Kind: "create", Type: m.page, Number: 2},
				{Kind: "create", Type: m.topic, Number: 3, Data: linked(m.pages, 1, 2)},
				{Kind: "update", Type: m.topic, Number: 3, Status: draft, Data: linked(m.pages, 2)},
				{Kind: "batch", Batch: []*Operation{
					{Kind: "update", Type: m.topic, Number: 3, Status: draft,
						Data: []Field{{Attr: m.name, Value: same("one")}}},
					{Kind: "discard-draft", Type: m.page, Number: 1},
				}},
			}
		}},
		{"a page is published for the first time in a mutation", false, (*Run).InGraphQL,
			func(m *linkedModel) []*Operation {
				id := []*Selection{{Name: "documentId", Attr: m.page.Find("documentId")}}
				publish := &Operation{Kind: "publish", Type: m.page, Number: 1}
				rename := &Operation{Kind: "update", Type: m.topic, Number: 3, Status: published,
					Data: []Field{{Attr: m.name, Value: same("one")}}}
				return []*Operation{
					{Kind: "create", Type: m.topic, Number: 3},
					{Kind: "create", Type: m.page, Number: 1, Status: draft, Data: linked(m.topics, 3)},
					{Kind: "create", Type: m.page, Number: 2, Data: linked(m.topics, 3)},
					{Kind: "mutate", Graph: &Request{Mutation: true, Roots: []*Selection{
						{Name: publish.field(), Args: &Args{Write: publish}, Of: id},
						{Name: rename.field(), Args: &Args{Write: rename},
							Of: []*Selection{{Name: "pages", Attr: m.pages, Args: &Args{}, Of: id}}},
					}}},
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newLinkedModel(c.drafts)
			server := serveLectern(t, m.model)
			replayLinks(t, server, c.prepare(NewRun(1, Quirks{}, m.model, server)), c.request(m))
		})
	}
}

// TestRemovedNeighbourIsRefused writes both sides of a relation at once: the first side removes the document beside
// which the second one connects another. The reference refuses it too.
func TestRemovedNeighbourIsRefused(t *testing.T) {
	node := &Type{Schema: Schema{UID: "api::node.node"}, Singular: "node", Plural: "nodes"}
	parent := &Attribute{Name: "parent", Type: "relation", Relation: "manyToOne", Target: node, Owner: node}
	children := &Attribute{Name: "children", Type: "relation", Relation: "oneToMany", Target: node, Owner: node,
		Mapped: true, Inverse: parent}
	parent.Inverse = children
	node.Attributes = []*Attribute{parent, children}
	model := &Model{Types: []*Type{node}, Locales: []string{"en"}, DefaultLimit: 10, MaxLimit: -1}
	(&modelGenerator{model: model}).system()

	server := serveLectern(t, model)
	beside := Field{Attr: children,
		Value: &Edit{Form: "change", Connect: []Target{{Number: 3, Wrapped: true, Position: "after", Next: 1}}}}
	replayLinks(t, server, NewRun(1, Quirks{}, model, server), []*Operation{
		{Kind: "create", Type: node, Number: 1},
		{Kind: "create", Type: node, Number: 2},
		{Kind: "create", Type: node, Number: 3},
		{Kind: "update", Type: node, Number: 1, Data: linked(children, 1)},
		{Kind: "update", Type: node, Number: 1, Data: append(linked(parent, 2), beside)},
		{Kind: "update", Type: node, Number: 1, Data: []Field{beside}},
	})
}

// replayLinks replays operations, compares the links in the store of the server with the expected ones, and ends the
// server.
func replayLinks(t *testing.T, server *lectern, run *Run, operations []*Operation) {
	t.Helper()
	err := run.Replay(operations)
	if err == nil {
		err = run.compareLinks()
	}
	if err != nil {
		t.Error(err)
	}
	if err := server.end(); err != nil {
		t.Error(err)
	}
}
