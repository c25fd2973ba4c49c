package permission_test

import (
	"bytes"
	"testing"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// conditions stand for those of rules.
type conditions struct{ variables []string }

func (c conditions) Condition(*contenttypes.ContentType, any) (permission.Condition, error) {
	return c, nil
}
func (c conditions) CheckVariable(string) error                  { return nil }
func (c conditions) Variables() []string                         { return c.variables }
func (c conditions) Bind(permission.Values) (store.Filter, bool) { return store.And{}, true }

// TestOutline compares callers of rules: those of one role have the same outline, whoever they are, and callers who
// read or write other attributes have not.
func TestOutline(t *testing.T) {
	model := storetest.Model(t, storetest.Archive(t, "../testdata/model.txtar"))
	const find, create = "api::tag.tag.find", "api::tag.tag.create"
	role := func(action, rule string) *permission.Access {
		t.Helper()
		o, err := jsontree.Parse([]byte(rule), 10)
		if err != nil {
			t.Fatal(err)
		}
		r, err := permission.ReadRule(model, action, o.(*jsontree.Object), conditions{[]string{"user"}})
		if err != nil {
			t.Fatal(err)
		}
		return permission.NewAccess([]string{find, create}, r)
	}
	own := role(find, `{"where": {"id": "$user"}}`)
	ada, bob := own.Bind(permission.Values{"user": "1"}), own.Bind(permission.Values{"user": "2"})
	outline := ada.AppendOutline(nil)
	if !bytes.Equal(outline, bob.AppendOutline(nil)) || !bytes.Equal(outline, own.AppendOutline(nil)) {
		t.Error("users of one role have different outlines")
	}
	if bytes.Equal(ada.AppendFingerprint(nil), bob.AppendFingerprint(nil)) {
		t.Error("users who see different documents have the same fingerprint")
	}
	for name, other := range map[string]*permission.Access{
		"no rule": permission.NewAccess([]string{find, create}), "fewer actions": permission.NewAccess([]string{find}),
		"fields": role(find, `{"where": {"id": "$user"}, "fields": ["name"]}`), "full": permission.FullAccess,
	} {
		if bytes.Equal(ada.AppendOutline(nil), other.AppendOutline(nil)) {
			t.Errorf("%s: the outline is the same", name)
		}
	}
	tag := model.Type("api::tag.tag")
	sets := role(create, `{"set": {"name": "$user"}}`)
	for _, who := range []*permission.Access{sets, sets.Bind(permission.Values{"user": "1"})} {
		if !who.LimitOf(tag, "create").Sets(tag.Attribute("name")) {
			t.Error("what the server writes depends on the caller")
		}
	}
}
