package auth

import (
	"cmp"
	"context"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/store"
)

var errManyUsers = apierror.Validation("several users have that name, address or id: say another of the three")

// SessionsOf returns the sessions of the user of a name, address or id, also those of the desk, for a caller with this
// access. The one with the key current is that of the request. A user whom the rules of the caller hide is not found.
func (u *Users) SessionsOf(who string, by *permission.Access, current string) (list []Session, err error) {
	id, err := u.find(who)
	switch err {
	case ErrNoAccount:
		return nil, errNoUser
	case ErrManyAccounts:
		return nil, errManyUsers
	case nil:
	default:
		return nil, err
	}
	err = u.o.Store.View(func(snap *store.Snapshot) error {
		list = nil
		if seen, err := u.sees(snap, by, u.Row(snap, id)); err != nil || !seen {
			return cmp.Or(err, error(errNoUser))
		}
		for _, s := range u.sessionsOf(snap, id) {
			list = append(list, Session{s.key, s.device, s.key == current, s.login, s.active})
		}
		return nil
	})
	return list, err
}

// EndSession ends the session with this id, of whichever user, for a caller with this access. JWTs that were issued in
// it work until they expire.
func (u *Users) EndSession(ctx context.Context, id string, by *permission.Access) error {
	return u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		s, ok := u.sessions.withKey(tx.Snapshot, id)
		if !ok {
			return errNoSession
		}
		doc, _ := tx.Document(u.typ, s.user)
		seen, err := u.sees(tx.Snapshot, by, tx.Version(u.typ, doc, store.Published, ""))
		if err != nil || !seen {
			return cmp.Or(err, error(errNoSession))
		}
		return tx.DeleteUnhooked(u.sessions.typ, s.documentID)
	})
}

// sees reports whether the rules of a caller show them a user. Whether they may find users at all is not asked.
func (u *Users) sees(snap *store.Snapshot, by *permission.Access, user store.Record) (bool, error) {
	visible := by.VisibleAlone(u.typ, store.Published)
	if !user.Exists() || visible == nil {
		return user.Exists(), nil
	}
	is, err := documents.FilterOf(u.typ, documents.Eq("documentId", user.DocumentID()))
	if err != nil {
		return false, err
	}
	page, err := snap.Find(&store.Query{Type: u.typ, Filter: store.And{is, visible}, Limit: 1})
	return len(page.Rows) == 1, err
}
