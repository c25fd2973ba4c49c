package execution_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/execution"
	"lectern/shadowcrud/graphql/limits"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/params"
	"lectern/store"
)

const kitchen = "../../../testdata/conformance/projects/kitchen"

// A server is an engine on a store of its own.
type server struct {
	t      testing.TB
	engine *execution.Engine
	store  *store.Store
	docs   *documents.Service
	model  *contenttypes.Model
	log    bytes.Buffer
}

func newServer(t testing.TB, limits limits.Operation) *server {
	t.Helper()
	return newExtended(t, limits, nil)
}

// newExtended returns a server like newServer, with extensions.
func newExtended(t testing.TB, limits limits.Operation, e *schema.Extensions) *server {
	t.Helper()
	model, problems := contenttypes.Load(kitchen, contenttypes.Options{})
	if problems != nil {
		t.Fatal(problems)
	}
	st := storetest.Open(t, model)
	s := &server{t: t, store: st, docs: documents.NewService(st, model, "en"), model: model}
	s.engine = s.extended(limits, e)
	return s
}

// extended returns an engine with extensions on the store of s.
func (s *server) extended(limits limits.Operation, e *schema.Extensions) *execution.Engine {
	s.t.Helper()
	built, err := schema.Build(s.model, schema.Options{DocumentActions: true, Subscriptions: true, Extensions: e})
	if err != nil {
		s.t.Fatal(err)
	}
	limits.Document.Introspection = true
	return execution.New(execution.Options{
		Schema: built, Store: s.store, Documents: s.docs,
		Params: params.New(s.model, "en", params.ListSettings{DefaultLimit: 25, MaxLimit: 100, WithCount: true}),
		Limits: limits, Log: slog.New(slog.NewTextHandler(&s.log, nil)), Server: s,
	})
}

func (s *server) Store() *store.Store           { return s.store }
func (s *server) Documents() *documents.Service { return s.docs }
func (s *server) Log() *slog.Logger             { return slog.Default() }

// ask runs an operation with full access and returns the answer.
func (s *server) ask(query string, variables ...string) string {
	s.t.Helper()
	return s.askAs(permission.FullAccess, query, variables...)
}

func (s *server) askAs(access *permission.Access, query string, variables ...string) string {
	s.t.Helper()
	r := &execution.Request{Query: query, Access: access}
	if len(variables) > 0 {
		r.Variables = object(s.t, variables[0])
	}
	answer, err := s.engine.Execute(context.Background(), r)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	defer answer.Release()
	text := strings.TrimSuffix(string(answer.Body), "\n")
	if _, err := jsontree.Parse([]byte(text), 500); err != nil {
		s.t.Fatalf("%s: the answer is no JSON: %v\n%s", query, err, text)
	}
	return text
}

func object(t testing.TB, text string) *jsontree.Object {
	t.Helper()
	v, err := jsontree.Parse([]byte(text), 500)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*jsontree.Object)
}

// create creates a document from JSON data and returns its documentId.
func (s *server) create(uid, data string) (id string) {
	s.t.Helper()
	typ := s.model.Type(uid)
	err := s.docs.Create(context.Background(), documents.Write{
		Type: typ, Data: object(s.t, data), Access: permission.FullAccess,
		After: func(_ *store.Snapshot, r store.Record) error {
			id = strings.Trim(string(r.JSON(typ.Attribute("documentId"))), `"`)
			return nil
		},
	})
	if err != nil {
		s.t.Fatalf("create %s %s: %v", uid, data, err)
	}
	return id
}

// fill creates n restaurants with related documents, and returns the documentId of one.
func (s *server) fill(n int) (id string) {
	s.t.Helper()
	var people, categories []string
	for i := range 5 {
		people = append(people, s.create("api::person.person", fmt.Sprintf(`{"firstName":"P%d"}`, i)))
		categories = append(
			categories, s.create("api::category.category", fmt.Sprintf(`{"name":"C%d","position":%d}`, i, i)))
	}
	for i := range n {
		id = s.create("api::restaurant.restaurant",
			fmt.Sprintf(`{"name":"Restaurant %d","slug":"r-%d","seats":%d,"price":9.5,
			"owner":%q,"categories":[%q,%q],"address":{"city":"Rome","geo":{"lat":41.9}},
			"dz":[{"__component":"blocks.rich-text","body":"text"},{"__component":"blocks.slider","caption":"c"}]}`,
				i, i, i%50+1, people[i%5], categories[i%5], categories[(i+1)%5]))
		s.create("api::review.review", fmt.Sprintf(`{"stars":%d,"comment":"fine","restaurant":%q}`, i%5+1, id))
	}
	return id
}
