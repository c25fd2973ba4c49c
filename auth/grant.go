package auth

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"unicode"
	"unicode/utf8"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// AuthenticatedRole is the role of users who register, unless the settings name another.
const AuthenticatedRole = "authenticated"

// A builtinRole is a role that every project has from its first start, with its initial permissions.
type builtinRole struct {
	kind, name  string
	description any // a string or nil
	permissions []string
}

var builtinRoles = []builtinRole{
	{AuthenticatedRole, "Authenticated", "Default role given to authenticated user.", []string{
		contenttypes.UserUID + ".me", authActions + ".changePassword", authActions + ".logout",
		authActions + ".getSessions", authActions + ".revokeSession",
	}},
	{PublicRole, "Public", "Default role given to unauthenticated user.", []string{
		authActions + ".callback", authActions + ".connect", authActions + ".register", authActions + ".forgotPassword",
		authActions + ".resetPassword", authActions + ".emailConfirmation", authActions + ".sendEmailConfirmation",
		authActions + ".refresh",
	}},
}

const authActions = "plugin::users-permissions.auth"

// grantDeclared creates the missing roles and makes the declared permissions the same as those of permissions.yaml. It
// keeps permissions that were granted at run time.
func (u *Users) grantDeclared(ctx context.Context) error {
	return u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		roles, err := u.rolesByType(tx.Snapshot)
		if err != nil {
			return err
		}
		for _, g := range u.wanted() {
			role, there := roles[g.kind]
			if !there {
				if role, err = u.makeRole(tx, g.kind, g.name, g.description); err != nil {
					return fmt.Errorf("role %s: %w", g.kind, err)
				}
			}
			delete(roles, g.kind)
			declared := u.o.Granted[g.kind]
			if err := u.regrant(tx, role, declared); err != nil {
				return fmt.Errorf("role %s: %w", g.kind, err)
			}
			if there {
				continue
			}
			for _, p := range g.permissions {
				if slices.Contains(declared, p) {
					continue
				}
				if err := u.permit(tx, role, p); err != nil {
					return fmt.Errorf("role %s: %w", g.kind, err)
				}
			}
		}
		for kind, role := range roles { // roles that permissions.yaml does not mention
			if err := u.regrant(tx, role, nil); err != nil {
				return fmt.Errorf("role %s: %w", kind, err)
			}
		}
		return nil
	})
}

// wanted returns the roles that must exist: the built-in ones, and those of permissions.yaml ordered by name.
func (u *Users) wanted() []builtinRole {
	list := slices.Clone(builtinRoles)
	for _, kind := range slices.Sorted(maps.Keys(u.o.Granted)) {
		if kind != AuthenticatedRole && kind != PublicRole {
			list = append(list, builtinRole{kind: kind, name: capital(kind)})
		}
	}
	return list
}

func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// A roleRef identifies a role, by the id of its row, by its documentId and by its type.
type roleRef struct {
	id         uint64
	documentID string
	kind       string
}

func (u *Users) roleRef(r store.Record) roleRef {
	return roleRef{r.ID(), r.DocumentID(), textOf(r, u.roles.roleType)}
}

func (u *Users) rolesByType(s *store.Snapshot) (map[string]roleRef, error) {
	page, err := s.Find(&store.Query{Type: u.roles.role, Limit: -1})
	if err != nil {
		return nil, err
	}
	roles := map[string]roleRef{}
	for _, r := range page.Rows {
		roles[textOf(r, u.roles.roleType)] = u.roleRef(r)
	}
	return roles, nil
}

func (u *Users) makeRole(tx *documents.Transaction, kind, name string, description any) (made roleRef, err error) {
	data := jsontree.NewObject()
	data.Set("name", name)
	data.Set("description", description)
	data.Set("type", kind)
	p, err := u.o.Documents.Prepare(context.Background(), documents.Write{
		Type: u.roles.role, Data: data, Access: permission.FullAccess,
		After: func(_ *store.Snapshot, r store.Record) error { made = u.roleRef(r); return nil },
	})
	if err != nil {
		return made, err
	}
	err = tx.Create(p)
	return made, err
}

// permit grants a permission to a role, within its rule in permissions.yaml, if that has one. A permission that the
// file declares ends with it, also if it was switched off and on again while serving.
func (u *Users) permit(tx *documents.Transaction, role roleRef, action string) error {
	data := jsontree.NewObject()
	data.Set("action", action)
	data.Set("declared", slices.Contains(u.o.Granted[role.kind], action))
	data.Set("rule", ruleValue(u.o.Rules[role.kind][action]))
	data.Set("role", number(role.id))
	p, err := u.o.Documents.Prepare(context.Background(),
		documents.Write{Type: u.roles.permission, Data: data, Access: permission.FullAccess})
	if err != nil {
		return err
	}
	return tx.Create(p)
}

// A grant is a permission that a role has.
type grant struct {
	documentID string
	declared   bool
	rule       []byte // as stored
}

// grants returns the permissions of a role by name.
func (u *Users) grants(tx *documents.Transaction, role roleRef) map[string]grant {
	granted := map[string]grant{}
	doc, _ := tx.Document(u.roles.role, role.documentID)
	row := tx.Version(u.roles.role, doc, store.Published, "")
	declared := u.roles.permission.Attribute("declared")
	tx.Related(row, u.roles.permissions, store.Published, func(r store.Record) bool {
		granted[textOf(r, u.roles.action)] = grant{r.DocumentID(), isTrue(r, declared), r.JSON(u.roles.rule)}
		return true
	})
	return granted
}

// regrant grants the declared permissions that the role lacks, and revokes those that were declared before and no
// longer are. Every permission gets the rule that permissions.yaml has for it.
func (u *Users) regrant(tx *documents.Transaction, role roleRef, declared []string) error {
	return u.changeGrants(tx, role, declared, permission.FullAccess, func(g grant) bool { return g.declared })
}

// changeGrants grants the permissions that a role lacks, and revokes those that it has beside them where revokes is
// true. A caller with the access by must be able to give the new ones. Those that the role keeps get the rule of
// permissions.yaml.
func (u *Users) changeGrants(tx *documents.Transaction, role roleRef, permissions []string, by *permission.Access,
	revokes func(grant) bool) error {
	granted := u.grants(tx, role)
	for _, permission := range slices.Sorted(maps.Keys(granted)) {
		g := granted[permission]
		var err error
		if revokes(g) && !slices.Contains(permissions, permission) {
			err = tx.DeleteUnhooked(u.roles.permission, g.documentID)
		} else if rule := u.o.Rules[role.kind][permission]; !bytes.Equal(ruleText(rule), g.rule) {
			err = u.setRule(tx, g, rule)
		}
		if err != nil {
			return err
		}
	}
	for _, permission := range permissions {
		if _, has := granted[permission]; has {
			continue
		}
		granted[permission] = grant{}
		if err := mayGive(by, permission, u.o.Rules[role.kind][permission] != nil); err != nil {
			return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Message: err.Error()}
		}
		if err := u.permit(tx, role, permission); err != nil {
			return err
		}
	}
	return nil
}

// setRule gives a permission that a role has a rule, or none.
func (u *Users) setRule(tx *documents.Transaction, g grant, rule *jsontree.Object) error {
	p, err := u.o.Documents.Prepare(context.Background(), documents.Write{Type: u.roles.permission,
		Data: jsontree.ObjectOf("rule", ruleValue(rule)), Access: permission.FullAccess})
	if err != nil {
		return err
	}
	return tx.Update(g.documentID, p)
}

// checkDefaultRole returns an error if the role in the setting default_role does not exist. The server then refuses to
// start; otherwise each registration would fail.
func (u *Users) checkDefaultRole() error {
	table, err := u.roles.current()
	if err != nil {
		return err
	}
	if table.byType[u.o.Settings.DefaultRole] != nil {
		return nil
	}
	kinds := slices.Sorted(maps.Keys(table.byType))
	return fmt.Errorf("there is no role %q to be the default_role of config/plugins.yaml; there are %q",
		u.o.Settings.DefaultRole, kinds)
}
