package movein

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/gateway"
	"lectern/internal/yamlfile"
	"lectern/strapi/archive"
	"lectern/strapi/definitions"
)

// A Role is a role of the source with what it may do here.
type Role struct {
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Permissions []string `json:"permissions"` // as uid.action
}

// roles collects the roles of an archive and their permissions, and the names of API tokens.
type roles struct {
	byRow   map[uint64]*Role
	actions map[uint64]string // by row of a permission
	tokens  []string
}

func newRoles() *roles { return &roles{byRow: map[uint64]*Role{}, actions: map[uint64]string{}} }

const apiTokenUID = "admin::api-token"

// addEntity takes a row if it is a role, a permission or an API token.
func (r *roles) addEntity(e archive.Entity) {
	text := func(key string) string { return strings.Clone(e.Data.Text(key)) }
	switch e.Type {
	case contenttypes.RoleUID:
		r.byRow[e.ID] = &Role{Type: text("type"), Name: text("name"), Description: text("description")}
	case contenttypes.PermissionUID:
		r.actions[e.ID] = text("action")
	case apiTokenUID:
		r.tokens = append(r.tokens, text("name"))
	}
}

// addLink takes a link if it grants a permission to a role. It returns false for any other link.
func (r *roles) addLink(l archive.Link) bool {
	permission, role := l.Left, l.Right
	if permission.Type != contenttypes.PermissionUID {
		permission, role = role, permission
	}
	if permission.Type != contenttypes.PermissionUID || role.Type != contenttypes.RoleUID {
		return permission.Type == contenttypes.PermissionUID
	}
	if to := r.byRow[role.ID]; to != nil && r.actions[permission.ID] != "" {
		to.Permissions = append(to.Permissions, r.actions[permission.ID])
	}
	return true
}

// list returns the roles with the permissions that mean something in the model. The others become notes.
func (r *roles) list(model *contenttypes.Model, notes *notes) []Role {
	actions := auth.ActionsOf(model)
	list := []Role{}
	for _, row := range slices.Sorted(maps.Keys(r.byRow)) {
		role := *r.byRow[row]
		var granted []string
		for _, p := range role.Permissions {
			if err := actions.CheckPermission(p); err != nil {
				notes.say("permission "+p+" of the role "+role.Type, "%v", err)
				continue
			}
			granted = append(granted, p)
		}
		slices.Sort(granted)
		role.Permissions = slices.Compact(granted)
		list = append(list, role)
	}
	granted := map[string][]string{}
	for _, role := range list {
		granted[role.Type] = role.Permissions
	}
	if text := auth.UnstatedDrafts(model, granted); text != "" {
		notes.say("drafts", "as in Strapi, %s", text)
	}
	for _, name := range r.tokens {
		notes.say("API token "+name, "an archive has no keys; make a new one by `lectern token create`")
	}
	return list
}

// writeRoles writes roles to config/permissions.yaml.
func writeRoles(to *definitions.Converted, list []Role) {
	for _, role := range list {
		byUID := map[string][]string{}
		for _, p := range role.Permissions {
			i := strings.LastIndexByte(p, '.')
			byUID[p[:i]] = append(byUID[p[:i]], p[i+1:])
		}
		granted := &yamlfile.Node{Kind: yamlfile.Map}
		for _, uid := range slices.Sorted(maps.Keys(byUID)) {
			names := &yamlfile.Node{Kind: yamlfile.List}
			for _, name := range byUID[uid] {
				names.Items = append(names.Items, textNode(name))
			}
			granted.Entries = append(granted.Entries, yamlfile.Entry{Key: uid, Value: names})
		}
		to.Set("config/permissions.yaml", granted, "roles", role.Type)
	}
}

// setRoles gives the roles in the store the names and permissions of the source. Otherwise public and authenticated
// would also have the permissions that a fresh store begins with.
func (m *move) setRoles(p *gateway.Project) error {
	users := p.Users()
	if users == nil {
		return nil
	}
	for _, r := range m.report.Roles {
		if err := users.SetRole(m.ctx, r.Type, r.Name, r.Description, r.Permissions); err != nil {
			return fmt.Errorf("role %s: %w", r.Type, err)
		}
	}
	return nil
}
