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

// A roleBody is what makes or changes a role.
type roleBody struct {
	Name        string `json:"name"`
	Permissions object `json:"permissions"`
}

// roleOf returns the body that makes or changes a role, with these permissions.
func roleOf(name string, permissions ...string) roleBody {
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
	return roleBody{name, tree}
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

// TestRolesGrantNoMore grants roles, by callers who may edit them, what these callers may not do themselves.
func TestRolesGrantNoMore(t *testing.T) {
	e, keys := serveRoles(t)
	const note, page, all = "api::note.note.", "api::page.page.", "plugin::users-permissions.role."
	e.as(keys["full"], "POST", rolesPath, roleOf("Strong", note+"delete", note+"find", "lectern::webhook.find"), 200)
	writer := fmt.Sprint(rolesPath, "/", e.role("writer").ID)
	strong := fmt.Sprint(rolesPath, "/", e.role("strong").ID)
	for _, c := range []struct {
		what, who, method, path string
		body                    roleBody
		status                  int
	}{
		{"what one may", "clerk", "POST", rolesPath, roleOf("A", note+"find", all+"updateRole", "lectern::role.find"), 200},
		{"another action", "clerk", "POST", rolesPath, roleOf("B", note+"find", note+"create"), 403},
		{"another type", "clerk", "POST", rolesPath, roleOf("B", page+"find"), 403},
		{"an action of the server", "clerk", "POST", rolesPath, roleOf("B", "lectern::webhook.find"), 403},
		{"limited by a rule", "limited", "POST", rolesPath, roleOf("B", note+"find"), 403},
		{"no rule of the type", "limited", "POST", rolesPath, roleOf("B", page+"find"), 200},
		{"what the role has stays", "clerk", "PUT", strong, roleOf("Strong", note+"delete", note+"find"), 200},
		{"what it had is gone", "clerk", "PUT", strong, roleOf("Strong", "lectern::webhook.find"), 403},
		{"more for a role of the file", "clerk", "PUT", writer,
			roleOf("Writer", note+"find", note+"create", page+"find", page+"create"), 403},
		{"less for a role of the file", "clerk", "PUT", writer, roleOf("Writer", note+"create"), 200},
		{"what the file gives without a rule", "clerk", "PUT", writer, roleOf("Writer", note+"create", note+"find"), 200},
		{"what it gives within a rule", "limited", "PUT", writer, roleOf("Writer", note+"create", page+"find"), 403},
		{"by who may do everything", "full", "PUT", writer, roleOf("Writer", note+"create", page+"find"), 200},
	} {
		t.Run(c.what, func(t *testing.T) {
			sub := *e
			sub.T = t
			sub.as(keys[c.who], c.method, c.path, c.body, c.status)
		})
	}
	if got := e.role("strong").Permissions; !slices.Equal(got, []string{note + "delete", note + "find"}) {
		t.Errorf("strong has %v", got)
	}
}

// TestRolesAreNotOverwrittenUnseen changes a role from states of it that are, and that are no longer, the present one.
func TestRolesAreNotOverwrittenUnseen(t *testing.T) {
	e, keys := serveRoles(t)
	const find, create = "api::note.note.find", "api::note.note.create"
	e.as(e.key, "POST", rolesPath, roleOf("Guests", find), 200)
	path := fmt.Sprint(rolesPath, "/", e.role("guests").ID)
	at := &replica{T: t, base: e.base}
	send := func(method string, body any, tag string) int {
		t.Helper()
		text, err := json.Marshal(body)
		e.must(err)
		res, _ := at.writing(method, path, e.key, "application/json", text, "If-Match", tag)
		return res.StatusCode
	}
	read := func(key string) string {
		t.Helper()
		res, _ := at.writing("GET", path, key, "application/json", nil, "Accept-Encoding", "gzip")
		return res.Header.Get("ETag")
	}
	first := read(e.key)
	if first == "" || first == e.role("guests").Etag {
		t.Errorf("ETags %q and %q of two answers", first, e.role("guests").Etag)
	}
	for _, c := range []struct {
		what   string
		tag    func() string
		status int
	}{
		{"another", func() string { return `"x.y"` }, 412},
		{"weak", func() string { return "W/" + first }, 412},
		{"none of a list", func() string { return `"x", "y"` }, 412},
		{"what was read", func() string { return first }, 200},
		{"what was read before the last change", func() string { return first }, 412},
		{"what another caller read", func() string { return read(keys["clerk"]) }, 200},
		{"that of the list", func() string { return e.role("guests").Etag }, 200},
		{"one of a list", func() string { return `"x", ` + e.role("guests").Etag }, 200},
		{"any", func() string { return "*" }, 200},
	} {
		body := roleOf("Guests", find)
		if slices.Equal(e.role("guests").Permissions, []string{find}) {
			body = roleOf("Guests", create)
		}
		if status := send("PUT", body, c.tag()); status != c.status {
			t.Errorf("If-Match of %s: %d, want %d", c.what, status, c.status)
		}
	}
	list := e.role("guests").Etag
	e.as(e.key, "PUT", path, roleOf("Visitors", find), 200)
	if status := send("DELETE", nil, list); status != 412 {
		t.Errorf("DELETE of a role that has changed: %d", status)
	}
	if status := send("DELETE", nil, read(e.key)); status != 200 {
		t.Errorf("DELETE of a role as it is: %d", status)
	}
	if status := send("PUT", roleOf("Guests"), "*"); status != 404 {
		t.Errorf("PUT of a role that is gone: %d", status)
	}
	path = rolesPath
	if status := send("POST", roleOf("Guests"), "*"); status != 400 {
		t.Errorf("POST with If-Match: %d", status)
	}
}

// TestDeclaredRolesFollowTheFile switches permissions of permissions.yaml off and on at run time: they end with the
// file all the same, and roles of the file are not deleted.
func TestDeclaredRolesFollowTheFile(t *testing.T) {
	e, _ := serveRoles(t)
	const find, create, erase = "api::note.note.find", "api::note.note.create", "api::note.note.delete"
	writer := fmt.Sprint(rolesPath, "/", e.role("writer").ID)
	for _, permissions := range [][]string{{create}, {create, erase}, {find, create, erase}} {
		e.as(e.key, "PUT", writer, roleOf("Writer", permissions...), 200)
	}
	if r := e.role("writer"); !slices.Equal(r.Permissions, []string{create, erase, find}) ||
		!slices.Contains(r.DeclaredPermissions, find) || slices.Contains(r.DeclaredPermissions, erase) {
		t.Errorf("%+v", r)
	}
	if status, text := e.do(t.Context(), "DELETE", writer, nil); status != 400 ||
		!strings.Contains(string(text), "permissions.yaml declares the role writer") {
		t.Errorf("DELETE: %d %s", status, text)
	}
	e.carryOut(edit{what: "without the permission", file: "config/permissions.yaml",
		text: strings.Replace(rolesFile, "writer: {api::note.note: [find, create], ", "writer: {", 1)})
	if r := e.role("writer"); !slices.Equal(r.Permissions, []string{erase, "api::page.page.find"}) {
		t.Errorf("after the file no longer grants it: %v", r.Permissions)
	}
	e.carryOut(edit{what: "without the role", file: "config/permissions.yaml",
		text: strings.Replace(rolesFile, "  writer:", "  other:", 1)})
	e.as(e.key, "DELETE", writer, nil, 200)
}

// TestTreeOfPermissions expects the actions of the server in the tree of who edits roles, and for others those alone
// that are granted.
func TestTreeOfPermissions(t *testing.T) {
	e, keys := serveRoles(t)
	path := fmt.Sprint(rolesPath, "/", e.role("writer").ID)
	read := func(key, path string) string {
		e.key = key
		defer func() { e.key = keys["full"] }()
		_, text := e.do(t.Context(), "GET", path, nil)
		return string(text)
	}
	const webhooks, desk = `"lectern::webhook":{"controllers":{"":{"find":{"enabled":`, `"lectern::desk"`
	for _, path := range []string{path, "/api/users-permissions/permissions"} {
		for _, who := range []string{"full", "clerk"} {
			if text := read(keys[who], path); !strings.Contains(text, webhooks+"false") || !strings.Contains(text, desk) {
				t.Errorf("%s of %s: %s", path, who, text)
			}
		}
	}
	e.as(e.key, "PUT", path, roleOf("Writer", "lectern::webhook.find"), 200)
	looker := e.token(e.key, "POST", "/api/_tokens",
		object{"name": "looker", "permissions": []string{"plugin::users-permissions.role.findOne"}}, 201).Key
	if text := read(looker, path); !strings.Contains(text, webhooks+"true") || strings.Contains(text, desk) {
		t.Errorf("of who does not edit roles: %s", text)
	}
}
