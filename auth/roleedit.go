package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

var (
	errNoRole    = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Role not found"}
	errRoleTaken = apierror.Application("There is a role of that name already")
	errRoleOther = &apierror.Error{Status: http.StatusPreconditionFailed, Name: "PreconditionFailedError",
		Message: "the role is not, or no longer, as the request expects it (If-Match)"}
)

// A Role is an entry in the list of roles.
type Role struct {
	store.Record
	Users int // number of users who have it
}

// Roles returns all roles in the order of their creation.
func (u *Users) Roles(s *store.Snapshot) ([]Role, error) {
	page, err := s.Find(&store.Query{Type: u.roles.role, Limit: -1})
	if err != nil {
		return nil, err
	}
	roles := make([]Role, len(page.Rows))
	for i, r := range page.Rows {
		roles[i].Record = r
		s.LinksTo(u.role, store.PublishedLinks, r.Ref(), func(store.Link) bool { roles[i].Users++; return true })
	}
	return roles, nil
}

// Role returns the role with this id, and the tree of all permissions for a caller with this access, in which those of
// the role are enabled.
func (u *Users) Role(s *store.Snapshot, id uint64, by *permission.Access) (store.Record, *jsontree.Object, error) {
	r := u.roleRow(s, id)
	if !r.Exists() {
		return r, nil, errNoRole
	}
	granted := map[string]bool{}
	permissions, _ := u.roles.granted(s, r)
	for _, p := range permissions {
		granted[p] = true
	}
	return r, u.actions.tree(granted, editsRoles(by)), nil
}

// Permissions returns the tree of all permissions for a caller with this access, none of them enabled.
func (u *Users) Permissions(by *permission.Access) *jsontree.Object {
	return u.actions.tree(nil, editsRoles(by))
}

// editsRoles reports whether a caller may make or change roles.
func editsRoles(by *permission.Access) bool {
	const actions = contenttypes.RoleUID + "."
	return by.AllowsAction(actions+"createRole") || by.AllowsAction(actions+"updateRole")
}

func (u *Users) roleRow(s *store.Snapshot, id uint64) store.Record { return rowOf(s, u.roles.role, id) }

// tree returns all permissions in the form that clients use, {owner: {controllers: {controller: {action: {enabled,
// policy}}}}}: owner is the part of a uid before its last dot, controller the part after it. Clients know the tree as
// Strapi's, so what is only Lectern's own is in it if it is granted, or if everything is to be shown.
func (a *Actions) tree(granted map[string]bool, everything bool) *jsontree.Object {
	tree := jsontree.NewObject()
	for _, uid := range a.uids {
		owner, controller := cutUID(uid)
		actions := jsontree.NewObject()
		for _, name := range a.names[uid] {
			if controller == "" && !everything && !granted[uid+"."+name] {
				continue
			}
			one := jsontree.NewObject()
			one.Set("enabled", granted[uid+"."+name])
			one.Set("policy", "")
			actions.Set(name, one)
		}
		if len(actions.Keys) > 0 {
			child(child(tree, owner), "controllers").Set(controller, actions)
		}
	}
	return tree
}

func child(o *jsontree.Object, key string) *jsontree.Object {
	if c, ok := o.Value(key).(*jsontree.Object); ok {
		return c
	}
	c := jsontree.NewObject()
	o.Set(key, c)
	return c
}

// cutUID returns the parts of a uid before and after its last dot. The controller of a uid without one, such as
// lectern::desk, is "".
func cutUID(uid string) (owner, controller string) {
	if i := strings.LastIndexByte(uid, '.'); i >= 0 {
		return uid[:i], uid[i+1:]
	}
	return uid, ""
}

// joinUID undoes cutUID.
func joinUID(owner, controller string) string {
	if controller == "" {
		return owner
	}
	return owner + "." + controller
}

// readPermissions returns the enabled permissions in a tree of the form that Role returns.
func (u *Users) readPermissions(form *form) (list []string) {
	eachEntry(form, []string{"permissions"}, form.value("permissions"), func(owner string, at []string, v any) {
		at = append(at, "controllers")
		eachEntry(form, at, member(v, "controllers"), func(controller string, at []string, v any) {
			eachEntry(form, at, v, func(action string, at []string, v any) {
				permission := joinUID(owner, controller) + "." + action
				switch enabled := member(v, "enabled").(type) {
				case nil:
				case bool:
					if !enabled || slices.Contains(list, permission) {
						return
					}
					if err := u.actions.CheckPermission(permission); err != nil {
						form.issue(at, err.Error(), v)
						return
					}
					list = append(list, permission)
				default:
					form.wrongType(append(at, "enabled"), "boolean", enabled)
				}
			})
		})
	})
	return list
}

// eachEntry calls f with key, path and value of each entry of v. It adds an issue to the form if v is not an object,
// unless it is absent.
func eachEntry(form *form, path []string, v any, f func(key string, at []string, v any)) {
	switch v := v.(type) {
	case nil:
	case *jsontree.Object:
		for _, key := range v.Keys {
			f(key, append(slices.Clip(path), key), v.Value(key))
		}
	default:
		form.wrongType(path, "object", v)
	}
}

// member returns a member of an object. If v is not an object it returns v, so that the caller adds an issue about it.
func member(v any, key string) any {
	if o, isObject := v.(*jsontree.Object); isObject {
		return o.Value(key)
	}
	return v
}

// CreateRole creates a role from {name, description, permissions}, for a caller with this access: it is refused if the
// role could do more. once may be nil, as for UpdateRole and DeleteRole; see store.WriteOnce.
func (u *Users) CreateRole(ctx context.Context, once *store.Once, by *permission.Access, body any) error {
	form, err := roleForm(body)
	if err != nil {
		return err
	}
	name := form.text("name")
	description := readDescription(form)
	permissions := u.readPermissions(form)
	if err := form.err(); err != nil {
		return err
	}
	kind := roleType(name)
	if kind == "" {
		return apierror.Validation("name must contain a letter or a digit")
	}
	return u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
		roles, err := u.Roles(tx.Snapshot)
		if err != nil {
			return err
		}
		for _, r := range roles {
			if textOf(r.Record, u.roles.roleType) == kind || u.roleName(r.Record) == name {
				return errRoleTaken
			}
		}
		role, err := u.makeRole(tx, kind, name, description)
		if err != nil {
			return err
		}
		return u.permitOnly(tx, role, permissions, by)
	})
}

// UpdateRole changes the role that to names to {name, description, permissions}, for a caller with this access.
// Afterwards it has exactly the permissions that are enabled there, none if they are absent. It is refused if the role
// would get what the caller may not do.
func (u *Users) UpdateRole(ctx context.Context, once *store.Once, by *permission.Access, to RoleAt, body any) error {
	form, err := roleForm(body)
	if err != nil {
		return err
	}
	name, hasName := form.filled("name")
	data := jsontree.NewObject()
	if hasName {
		data.Set("name", name)
	}
	if form.has("description") {
		data.Set("description", readDescription(form))
	}
	permissions := u.readPermissions(form)
	if err := form.err(); err != nil {
		return err
	}
	p, err := u.o.Documents.Prepare(ctx, documents.Write{Type: u.roles.role, Data: data, Access: permission.FullAccess})
	if err != nil {
		return err
	}
	return u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
		row, err := u.roleAt(tx.Snapshot, to)
		if err != nil {
			return err
		}
		if hasName {
			roles, err := u.Roles(tx.Snapshot)
			if err != nil {
				return err
			}
			for _, r := range roles {
				if r.ID() != to.ID && u.roleName(r.Record) == name {
					return errRoleTaken
				}
			}
		}
		role := u.roleRef(row)
		if err := tx.Update(role.documentID, p); err != nil {
			return err
		}
		return u.permitOnly(tx, role, permissions, by)
	})
}

// SetRole gives the role of this type a name, a description (a string or nil) and exactly these permissions
// ("uid.action"). It creates the role if there is none.
func (u *Users) SetRole(ctx context.Context, kind, name string, description any, permissions []string) error {
	data := jsontree.NewObject()
	data.Set("name", name)
	data.Set("description", description)
	p, err := u.o.Documents.Prepare(ctx, documents.Write{Type: u.roles.role, Data: data, Access: permission.FullAccess})
	if err != nil {
		return err
	}
	return u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		roles, err := u.rolesByType(tx.Snapshot)
		if err != nil {
			return err
		}
		role, there := roles[kind]
		if there {
			err = tx.Update(role.documentID, p)
		} else {
			role, err = u.makeRole(tx, kind, name, description)
		}
		if err != nil {
			return err
		}
		return u.permitOnly(tx, role, permissions, permission.FullAccess)
	})
}

// A RoleAt names a role that is to be changed.
type RoleAt struct {
	ID uint64
	// If reports whether the role may be changed in the state of this version (Users.RoleVersion); nil: in any.
	If func(version string) bool
}

// roleAt returns a role that is to be changed.
func (u *Users) roleAt(s *store.Snapshot, at RoleAt) (store.Record, error) {
	row := u.roleRow(s, at.ID)
	switch {
	case !row.Exists():
		return row, errNoRole
	case at.If != nil && !at.If(u.RoleVersion(s, row)):
		return row, errRoleOther
	}
	return row, nil
}

// permitOnly gives a role exactly these permissions, as a caller with this access asks.
func (u *Users) permitOnly(tx *documents.Transaction, role roleRef, permissions []string, by *permission.Access) error {
	return u.changeGrants(tx, role, permissions, by, func(grant) bool { return true })
}

// movedAtATime is how many users get another role in one transaction when their role is deleted.
const movedAtATime = 500

// errMoreUsers ends the transaction that deletes a role which has more users than one transaction moves.
var errMoreUsers = errors.New("the role has more users")

// DeleteRole deletes a role. Its users get the public role.
func (u *Users) DeleteRole(ctx context.Context, once *store.Once, at RoleAt) error {
	for {
		err := u.o.Documents.TransactOnce(ctx, once, func(tx *documents.Transaction) error {
			more, err := u.moveUsers(ctx, tx, at)
			if err == nil && more {
				err = errMoreUsers
			}
			if err != nil {
				return err
			}
			role := u.roleRef(u.roleRow(tx.Snapshot, at.ID))
			if err := u.permitOnly(tx, role, nil, permission.FullAccess); err != nil {
				return err
			}
			return tx.DeleteUnhooked(u.roles.role, role.documentID)
		})
		if !errors.Is(err, errMoreUsers) {
			return err
		}
		err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
			_, err := u.moveUsers(ctx, tx, at)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// moveUsers gives the public role to at most movedAtATime users of a role, if that can be deleted. It reports whether
// the role has more users.
func (u *Users) moveUsers(ctx context.Context, tx *documents.Transaction, at RoleAt) (more bool, err error) {
	row, err := u.roleAt(tx.Snapshot, at)
	if err != nil {
		return false, err
	}
	kind := textOf(row, u.roles.roleType)
	if kind == PublicRole || kind == AuthenticatedRole || kind == u.o.Settings.DefaultRole {
		return false, apierror.Application("Cannot delete " + kind + " role")
	}
	if _, declared := u.o.Granted[kind]; declared { // it would be back at the next start, without its users
		return false, apierror.Application("config/permissions.yaml declares the role " + kind +
			": take it out of the file first")
	}
	roles, err := u.rolesByType(tx.Snapshot)
	if err != nil {
		return false, err
	}
	return u.move(ctx, tx, row, roles[PublicRole])
}

// move gives the role to to at most movedAtATime users of the role from, and reports whether from has more users.
func (u *Users) move(ctx context.Context, tx *documents.Transaction, from store.Record,
	to roleRef) (more bool, err error) {
	data := jsontree.NewObject()
	data.Set("role", number(to.id))
	p, err := u.prepare(ctx, data, nil, nil)
	if err != nil {
		return false, err
	}
	var moved []string
	tx.Related(from, u.roles.role.Attribute("users"), store.Published, func(r store.Record) bool {
		if more = len(moved) == movedAtATime; !more {
			moved = append(moved, r.DocumentID())
		}
		return !more
	})
	for _, documentID := range moved {
		if err := tx.Update(documentID, p); err != nil {
			return false, err
		}
	}
	return more, nil
}

func (u *Users) roleName(r store.Record) string { return textOf(r, u.roles.role.Attribute("name")) }

func roleForm(body any) (*form, error) {
	if o, ok := body.(*jsontree.Object); !ok || len(o.Keys) == 0 {
		return nil, apierror.Validation("Request body cannot be empty")
	}
	return newForm(body), nil
}

func readDescription(form *form) any {
	v := form.value("description")
	if _, isText := v.(string); !isText && v != nil {
		form.wrongType([]string{"description"}, "string", v)
	}
	return v
}
