package routes

import (
	"testing"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/internal/lru"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/shadowcrud/openapi"
	"lectern/store"
)

// ownOnly stands for the condition of a rule that compares with the user.
type ownOnly struct{}

func (ownOnly) Condition(*contenttypes.ContentType, any) (permission.Condition, error) {
	return ownOnly{}, nil
}
func (ownOnly) CheckVariable(string) error                          { return nil }
func (ownOnly) Variables() []string                                 { return []string{"user"} }
func (ownOnly) Bind(permission.Values) (f store.Filter, known bool) { return store.And{}, true }

// TestUsersShareADocument describes the API to two users of a role whose rule shows each of them other documents. One
// document is kept for both.
func TestUsersShareADocument(t *testing.T) {
	model := storetest.Model(t, storetest.Archive(t, "../../../documents/testdata/model.txtar"))
	const find = "api::tag.tag.find"
	rule, err := permission.ReadRule(model, find,
		jsontree.ObjectOf("where", jsontree.ObjectOf("id", "$user")), ownOnly{})
	if err != nil {
		t.Fatal(err)
	}
	o := &openAPI{api: &openapi.API{Model: model, Prefix: "/api", Locales: []string{"en"}},
		kept: lru.New[string, *tagged](keptOpenAPIs, keptOpenAPIBytes)}
	role, public := permission.NewAccess([]string{find}, rule), permission.NewAccess(nil)
	ada := o.document(role.Bind(permission.Values{"user": "1"}), public)
	if bob := o.document(role.Bind(permission.Values{"user": "2"}), public); bob != ada {
		t.Error("each user of a role has a document of their own")
	}
	if other := o.document(public, public); other == ada {
		t.Error("callers who may do less have the same document")
	}
}
