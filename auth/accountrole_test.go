package auth_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// typeOf returns the type of a role.
func typeOf(r store.Record) string {
	return strings.Trim(string(r.JSON(r.Schema().Attribute("type"))), `"`)
}

// TestRolesByName creates and changes users whose role is given by its type, its name or its id.
func TestRolesByName(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	u := f.users(map[string][]string{"author": {"api::article.article.find"}})
	if err := u.CreateRole(ctx, nil, permission.FullAccess, jsontree.ObjectOf("name", "Chief Editor")); err != nil {
		t.Fatal(err)
	}
	ids := map[string]jsontree.Number{}
	_ = f.store.View(func(s *store.Snapshot) error {
		roles, err := u.Roles(s)
		for _, r := range roles {
			ids[typeOf(r.Record)] = jsontree.Number(fmt.Sprint(r.ID()))
		}
		return err
	})
	var user uint64
	role := ""
	show := func(s *store.Snapshot, r store.Record) error {
		user, role = r.ID(), ""
		s.Related(r, u.Type().Attribute("role"), store.Published, func(r store.Record) bool {
			role = typeOf(r)
			return false
		})
		return nil
	}
	if err := u.Create(ctx, nil, jsontree.ObjectOf("username", "ann", "email", "ann@people.test", "password", "secret1",
		"role", "author"), show); err != nil || role != "author" {
		t.Fatalf("a user created as author has the role %q: %v", role, err)
	}
	list := func(v any) []any { return []any{v} }
	for _, c := range []struct {
		name string
		role any
		want string // the role, or a part of the error
	}{
		{"by name", "Chief Editor", "chief_editor"},
		{"by type", "author", "author"},
		{"by type, as a link", jsontree.ObjectOf("connect", list("chief_editor")), "chief_editor"},
		{"by name, as the only link", jsontree.ObjectOf("set", list("Public")), "public"},
		{"by id", ids["author"], "author"},
		{"by id as a text", string(ids["public"]), "public"},
		{"by a word that is nearly one", "autor", `did you mean "author"?`},
		{"by another word", "pope", "known are authenticated, public, author, chief_editor"},
		{"by nothing", "", "known are"},
		{"by a word as a link", jsontree.ObjectOf("connect", list("pope")), "not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := u.Update(ctx, nil, user, jsontree.ObjectOf("role", c.role), show, permission.FullAccess)
			if err == nil && role != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got role %q, error %v, want %q", role, err, c.want)
			}
		})
	}
}
