package rest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// TestPlainEnds requests lists, counts and documents without an envelope under a context that has ended, and expects
// the work to end.
func TestPlainEnds(t *testing.T) {
	_, m, _ := newProject(t)
	st := storetest.Open(t, m)
	service, parser := documents.NewService(st, m, "en"),
		params.New(m, "en", params.ListSettings{DefaultLimit: 25, MaxLimit: 100})
	tag, article := m.Type("api::tag.tag"), m.Type("api::article.article")
	create := func(typ *contenttypes.ContentType, n int, data func(i int) string) (ids []string) {
		for i := range n {
			v, err := jsontree.Parse([]byte(data(i)), 10)
			if err != nil {
				t.Fatal(err)
			}
			err = service.Create(context.Background(), documents.Write{
				Type: typ, Data: v.(*jsontree.Object), Access: permission.FullAccess, Status: store.Published,
				After: func(_ *store.Snapshot, r store.Record) error {
					ids = append(ids, string(r.JSON(typ.Attribute("documentId"))))
					return nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		return ids
	}
	tags := create(tag, 70, func(i int) string { return fmt.Sprintf(`{"name":"%d"}`, i) })
	create(article, 70, func(i int) string {
		return fmt.Sprintf(`{"title":"%d","tags":[%s]}`, i,
			strings.Join(tags, ","))
	})

	plain := &rest.Plain{API: rest.New(m, st, service, parser), Access: permission.FullAccess}
	query, err := jsontree.Parse([]byte(`{"filters":{"articles":{"tags":{"articles":{"title":{"$contains":"x"}}}}}}`),
		20)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parser.PlainList(tag, query.(*jsontree.Object), permission.FullAccess)
	if err != nil {
		t.Fatal(err)
	}
	asks := map[string]func(context.Context) error{
		"a list": func(ctx context.Context) error {
			body, err := plain.List(ctx, &list.Query, list.Selection)
			if err == nil && string(body) != "[]" {
				t.Errorf("a list: %s", body)
			}
			return err
		},
		"a count": func(ctx context.Context) error {
			n, err := plain.Count(ctx, list.Query)
			if err == nil && n != 0 {
				t.Errorf("a count: %d", n)
			}
			return err
		},
		"one": func(ctx context.Context) error {
			body, err := plain.One(ctx, &list.Query, list.Selection, func(s *store.Snapshot) (row store.Record) {
				page, _ := s.Find(&store.Query{Type: tag, Limit: 1})
				return page.Rows[0]
			})
			if err == nil && body != nil {
				t.Errorf("one: %s", body)
			}
			return err
		},
	}
	gone, leave := context.WithCancel(context.Background())
	leave()
	for what, ask := range asks {
		if err := ask(context.Background()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := ask(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("%s that nobody waits for: %v", what, err)
		}
	}
}
