package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"

	"lectern/jsontree"
)

// The permissions that a token needs for routes that belong to no content-type.
const (
	actionLocales = "plugin::i18n.locales.listLocales"
	actionRoles   = "plugin::users-permissions.role.find"
	actionRole    = "plugin::users-permissions.role.findOne"
)

// Accounts are the rows that no listing has: locales, roles, and permissions of roles.
type accounts struct {
	locales       []*jsontree.Object
	defaultLocale string
	roles         []*jsontree.Object
	permissions   []permission
}

// A permission is an action that a role may carry out.
type permission struct {
	action string
	role   *jsontree.Object
}

// askAccounts asks for locales and roles. A server without these plugins has none.
func (r *reader) askAccounts(ctx context.Context) (*accounts, error) {
	a := &accounts{}
	v, err := r.client.get(ctx, query{path: "/api/i18n/locales", action: actionLocales}, r.client.maxAnswer)
	if err != nil && statusOf(err) != http.StatusNotFound {
		return nil, err
	}
	items, _ := v.([]any)
	for _, item := range items {
		row, ok := item.(*jsontree.Object)
		if !ok || row.Text("code") == "" {
			return nil, fmt.Errorf("GET /api/i18n/locales: a locale has no code")
		}
		if row.Value("isDefault") == true {
			a.defaultLocale = row.Text("code")
		}
		a.locales = append(a.locales, row)
		r.locales = append(r.locales, row.Text("code"))
	}
	return a, r.askRoles(ctx, a)
}

func (r *reader) askRoles(ctx context.Context, a *accounts) error {
	const path = "/api/users-permissions/roles"
	v, err := r.client.get(ctx, query{path: path, action: actionRoles}, r.client.maxAnswer)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	answer, ok := v.(*jsontree.Object)
	if !ok {
		return fmt.Errorf("GET %s: the answer is not an object", path)
	}
	for _, item := range list(answer, "roles") {
		row, ok := item.(*jsontree.Object)
		if !ok || row.Text("documentId") == "" {
			return fmt.Errorf("GET %s: a role has no documentId", path)
		}
		id, err := idOf(row)
		if err != nil {
			return fmt.Errorf("GET %s: %w", path, err)
		}
		one := query{path: path + "/" + strconv.FormatUint(id, 10), action: actionRole}
		v, err := r.client.get(ctx, one, r.client.maxAnswer)
		if err != nil {
			return err
		}
		details, ok := v.(*jsontree.Object)
		if !ok {
			return fmt.Errorf("GET %s: the answer is not an object", one.path)
		}
		a.roles = append(a.roles, row)
		a.addPermissions(row, object(object(details, "role"), "permissions"))
	}
	return nil
}

// addPermissions adds the actions that are enabled in the tree of a role: api, controllers, controller, action.
func (a *accounts) addPermissions(role, tree *jsontree.Object) {
	for _, api := range tree.Keys {
		controllers := object(object(tree, api), "controllers")
		for _, controller := range controllers.Keys {
			actions := object(controllers, controller)
			for _, action := range actions.Keys {
				if object(actions, action).Value("enabled") == true {
					a.permissions = append(a.permissions, permission{api + "." + controller + "." + action, role})
				}
			}
		}
	}
}

// madeID returns a documentId for a row that has none on the wire. The same text gives the same id.
func madeID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "r" + hex.EncodeToString(sum[:])[:23]
}

// digest returns a text that changes with the definitions.
func digest(schemas []*jsontree.Object) string {
	h := sha256.New()
	for _, s := range schemas {
		h.Write(jsontree.Append(nil, s))
	}
	return hex.EncodeToString(h.Sum(nil))
}
