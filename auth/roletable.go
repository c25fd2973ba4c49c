package auth

import (
	"errors"
	"sync"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A roleTable holds what each role in the store may do, compiled. It is immutable but for the note of how long it is known to
// be right.
type roleTable struct {
	roles, permissions uint64 // revisions of the types it was read from
	revision           atomic.Uint64
	byDoc              map[uint64]compiledRole // by number of the role's document
	byType             map[string]*permission.Access
}

// public is what someone may do who has no role.
func (t *roleTable) public() *permission.Access {
	if a := t.byType[PublicRole]; a != nil {
		return a
	}
	return nobody
}

// A compiledRole is a role's type, and what it may do.
type compiledRole struct {
	kind   string
	access *permission.Access
}

// of is what someone may do who has the role that is the document of that number, or none, and the type of the role.
func (t *roleTable) of(role uint64) (access *permission.Access, kind string) {
	if r, ok := t.byDoc[role]; ok {
		return r.access, r.kind
	}
	return t.public(), PublicRole
}

// storedRoles keeps the roleTable in step with the store, whoever writes there: a request looks at the store's revision,
// in memory; only after a write the revisions of the two types are looked up; and only when one of them changed
// the roles are read again.
type storedRoles struct {
	store                         *store.Store
	role, permission              *contenttypes.ContentType
	roleType, permissions, action *contenttypes.Attribute

	table   atomic.Pointer[roleTable]
	reading sync.Mutex
}

func newStoredRoles(st *store.Store, model *contenttypes.Model) (*storedRoles, error) {
	r := &storedRoles{store: st, role: model.Type(contenttypes.RoleUID), permission: model.Type(contenttypes.PermissionUID)}
	if r.role == nil || r.permission == nil {
		return nil, errors.New("read roles: the model has none")
	}
	r.roleType, r.permissions = r.role.Attribute("type"), r.role.Attribute("permissions")
	r.action = r.permission.Attribute("action")
	return r, nil
}

// current returns what the roles may do now.
func (r *storedRoles) current() (*roleTable, error) {
	if t := r.table.Load(); t != nil && t.revision.Load() == r.store.Revision() {
		return t, nil
	}
	return r.renewed()
}

func (r *storedRoles) renewed() (*roleTable, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	t := r.table.Load()
	revision := r.store.Revision() // taken before the snapshot: see Store.Revision
	err := r.store.View(func(s *store.Snapshot) error {
		roles, permissions := s.Revision(r.role), s.Revision(r.permission)
		if t != nil && t.roles == roles && t.permissions == permissions {
			return nil
		}
		t = &roleTable{roles: roles, permissions: permissions}
		return r.read(s, t)
	})
	if err != nil {
		return nil, err
	}
	t.revision.Store(revision)
	r.table.Store(t)
	return t, nil
}

func (r *storedRoles) read(s *store.Snapshot, t *roleTable) error {
	page, err := s.Find(&store.Query{Type: r.role, Limit: -1})
	if err != nil {
		return err
	}
	t.byDoc, t.byType = map[uint64]compiledRole{}, map[string]*permission.Access{}
	for _, role := range page.Rows {
		kind, access := textOf(role, r.roleType), permission.NewAccess(r.granted(s, role))
		t.byDoc[role.Doc()] = compiledRole{kind, access}
		t.byType[kind] = access
	}
	return nil
}

// granted lists the permissions of a role.
func (r *storedRoles) granted(s *store.Snapshot, role store.Record) (list []string) {
	s.Related(role, r.permissions, store.Published, func(p store.Record) bool {
		list = append(list, textOf(p, r.action))
		return true
	})
	return list
}
