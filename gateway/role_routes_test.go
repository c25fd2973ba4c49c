package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A roleAnswer is what GET /api/_roles says of a role.
type roleAnswer struct {
	ID                               int
	Name, Type, Etag                 string
	Users                            int
	Declared                         bool
	Permissions, DeclaredPermissions []string
	Rules                            map[string]any
}

// role returns what GET /api/_roles says of the role of a type.
func (e *editing) role(kind string) (found roleAnswer) {
	e.Helper()
	var all []roleAnswer
	e.must(json.Unmarshal(e.as(e.key, "GET", "/api/_roles", nil, 200), &all))
	for _, r := range all {
		if r.Type == kind {
			return r
		}
	}
	e.Fatalf("no role %s", kind)
	return found
}

// roleOf returns the body that makes or changes a role, with these permissions.
func roleOf(name string, permissions ...string) json.RawMessage {
	tree := object{}
	for _, p := range permissions {
		dot := strings.LastIndexByte(p, '.')
		uid, action := p[:dot], p[dot+1:]
		owner, controller := uid, ""
		if dot := strings.LastIndexByte(uid, '.'); dot >= 0 {
			owner, controller = uid[:dot], uid[dot+1:]
		}
		if tree[owner] == nil {
			tree[owner] = object{"controllers": object{}}
		}
		controllers := tree[owner].(object)["controllers"].(object)
		if controllers[controller] == nil {
			controllers[controller] = object{}
		}
		controllers[controller].(object)[action] = object{"enabled": true}
	}
	body, _ := json.Marshal(object{"name": name, "permissions": tree})
	return body
}

// rolesFile declares roles, and tokens that look after them.
const rolesFile = `roles:
  public: {api::note.note: {find: {where: {title: open}, fields: [title]}}}
  writer: {api::note.note: [find, create], api::page.page: {find: {where: {name: mine}}}}
tokens:
  - {name: reader, type: read-only}
  - {name: seer, type: custom, permissions: [lectern::role.find]}
  - name: clerk
    type: custom
    permissions:
      - lectern::role.find
      - plugin::users-permissions.role.find
      - plugin::users-permissions.role.findOne
      - plugin::users-permissions.role.createRole
      - plugin::users-permissions.role.updateRole
      - plugin::users-permissions.role.deleteRole
      - plugin::users-permissions.permissions.getPermissions
      - api::note.note.find
  - name: limited
    type: custom
    permissions:
      plugin::users-permissions.role: [createRole, updateRole]
      api::note.note: {find: {where: {title: mine}}}
      api::page.page: [find]
`

// serveRoles serves a project with rolesFile, and returns the keys of its tokens.
func serveRoles(t *testing.T) (e *editing, keys map[string]string) {
	t.Helper()
	e = &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile())
	e.write("content-types/page.yaml", typeFile("page"))
	e.write("config/permissions.yaml", rolesFile)
	e.serve(nil)
	keys = map[string]string{"full": e.key, "": ""}
	for _, name := range []string{"reader", "seer", "clerk", "limited"} {
		keys[name] = e.token(e.key, "POST", "/api/_tokens", object{"name": name}, 201).Key
	}
	return e, keys
}

const rolesPath = "/api/users-permissions/roles"

// TestRolesAreSeenWithTheirRules reads the roles by callers who may and may not.
func TestRolesAreSeenWithTheirRules(t *testing.T) {
	e, keys := serveRoles(t)
	e.as(e.key, "POST", rolesPath, roleOf("Guests", "api::note.note.find"), 200)
	for who, status := range map[string]int{"full": 200, "seer": 200, "clerk": 200, "reader": 403, "": 403,
		"limited": 403} {
		e.as(keys[who], "GET", "/api/_roles", nil, status)
	}
	e.as(keys["seer"], "GET", rolesPath, nil, 403) // an action of its own
	public, writer, guests := e.role("public"), e.role("writer"), e.role("guests")
	for _, c := range []struct {
		role        roleAnswer
		name        string
		declared    bool
		permissions []string
		rules       string
	}{
		{public, "Public", true, nil, `map[api::note.note.find:map[fields:[title] where:map[title:open]]]`},
		{writer, "Writer", true, []string{"api::note.note.create", "api::note.note.find", "api::page.page.find"},
			`map[api::page.page.find:map[where:map[name:mine]]]`},
		{guests, "Guests", false, []string{"api::note.note.find"}, `map[]`},
	} {
		if c.role.Name != c.name || c.role.Declared != c.declared || fmt.Sprint(c.role.Rules) != c.rules ||
			c.permissions != nil && !slices.Equal(c.role.Permissions, c.permissions) {
			t.Errorf("%+v, want %+v", c.role, c)
		}
	}
	if !slices.Equal(public.DeclaredPermissions, []string{"api::note.note.find"}) || len(public.Permissions) < 5 ||
		len(guests.DeclaredPermissions) != 0 {
		t.Errorf("%+v, %+v", public, guests)
	}
}
