package auth

import (
	"errors"
	"sync"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/store"
)

// A roleTable holds the compiled permissions of all roles in the store. It is immutable, except for the revision up to
// which it is known to be current.
type roleTable struct {
	roles, permissions uint64 // revisions of the two types when it was read
	revision           atomic.Uint64
	byDoc              map[uint64]compiledRole // by the number of the role's document
	byType             map[string]*permission.Access
	nobody             *permission.Access // without any permission
}

// public returns what a user without a role may do.
func (t *roleTable) public() *permission.Access {
	if a := t.byType[PublicRole]; a != nil {
		return a
	}
	return t.nobody
}

// A compiledRole is the type of a role and its compiled permissions.
type compiledRole struct {
	kind   string
	access *permission.Access
}

// of returns what users with a role may do, and the role's type. role is the number of its document, 0 for none.
func (t *roleTable) of(role uint64) (access *permission.Access, kind string) {
	if r, ok := t.byDoc[role]; ok {
		return r.access, r.kind
	}
	return t.public(), PublicRole
}

// storedRoles keeps a roleTable current with the store, whoever changes roles there. A request compares the store's
// revision, in memory. Only if it changed are the revisions of the two types compared, and only if one of those changed
// are the roles read again.
type storedRoles struct {
	store                         *store.Store
	role, permission              *contenttypes.ContentType
	roleType, permissions, action *contenttypes.Attribute
	rule                          *contenttypes.Attribute
	reader                        RuleReader

	table   atomic.Pointer[roleTable]
	reading sync.Mutex
}

func newStoredRoles(st *store.Store, rules RuleReader) (*storedRoles, error) {
	model := rules.Model
	r := &storedRoles{store: st, role: model.Type(contenttypes.RoleUID),
		permission: model.Type(contenttypes.PermissionUID), reader: rules}
	if r.role == nil || r.permission == nil {
		return nil, errors.New("read roles: the model has none")
	}
	r.roleType, r.permissions = r.role.Attribute("type"), r.role.Attribute("permissions")
	r.action, r.rule = r.permission.Attribute("action"), r.permission.Attribute("rule")
	return r, nil
}

// current returns the current roleTable.
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
	revision := r.store.Revision() // read before the snapshot: see Store.Revision
	err := r.store.View(func(s *store.Snapshot) error {
		roles, permissions := s.Revision(r.role), s.Revision(r.permission)
		if t != nil && t.roles == roles && t.permissions == permissions {
			return nil
		}
		t = &roleTable{roles: roles, permissions: permissions, nobody: r.reader.access(nil, nil)}
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
		kind := textOf(role, r.roleType)
		access := r.reader.access(r.granted(s, role)).Bind(permission.Values{"role": kind})
		t.byDoc[role.Doc()] = compiledRole{kind, access}
		t.byType[kind] = access
	}
	return nil
}

// granted returns the permissions of a role, and the rules of those that have one.
func (r *storedRoles) granted(s *store.Snapshot, role store.Record) (list []string, rules Rules) {
	s.Related(role, r.permissions, store.Published, func(p store.Record) bool {
		action := textOf(p, r.action)
		list = append(list, action)
		if rule := readRule(p.JSON(r.rule)); rule != nil {
			if rules == nil {
				rules = Rules{}
			}
			rules[action] = rule
		}
		return true
	})
	return list, rules
}
