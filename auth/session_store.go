package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
	"lectern/store"
)

// A session is where a user is logged in, as it is stored.
type session struct {
	documentID             string
	key                    string // what tokens name it by
	user                   string // documentId of the user
	device                 string // what the client calls their device, "" if it does not say
	hash                   string // of the refresh token that works now
	login, active, expires time.Time
}

// end returns when a session ends unless it is refreshed.
func (s *session) end(o SessionSettings) time.Time {
	idle, last := s.active.Add(o.Idle), s.login.Add(o.Max)
	if last.Before(idle) {
		return last
	}
	return idle
}

// data returns what is stored of a new session.
func (s *session) data() *jsontree.Object {
	data := s.renewal()
	data.Set("key", s.key)
	data.Set("user", s.user)
	data.Set("loginAt", timeText(s.login))
	if s.device != "" {
		data.Set("device", s.device)
	}
	return data
}

// renewal returns what changes of a session when it is refreshed.
func (s *session) renewal() *jsontree.Object {
	return jsontree.ObjectOf("hash", s.hash, "lastActiveAt", timeText(s.active), "expiresAt", timeText(s.expires))
}

func timeText(t time.Time) string { return t.UTC().Format(contenttypes.TimeFormat) }

// sessionType is the type of sessions, with its attributes.
type sessionType struct {
	typ                                             *contenttypes.ContentType
	key, user, device, hash, login, active, expires *contenttypes.Attribute
}

func newSessionType(model *contenttypes.Model) (t sessionType, err error) {
	if t.typ = model.Type(contenttypes.SessionUID); t.typ == nil {
		return t, fmt.Errorf("open users: the model has no type %s", contenttypes.SessionUID)
	}
	for name, a := range map[string]**contenttypes.Attribute{
		"key": &t.key, "user": &t.user, "device": &t.device, "hash": &t.hash, "loginAt": &t.login,
		"lastActiveAt": &t.active, "expiresAt": &t.expires,
	} {
		*a = t.typ.Attribute(name)
	}
	return t, nil
}

func (t *sessionType) read(r store.Record) session {
	return session{
		documentID: r.DocumentID(), key: textOf(r, t.key), user: textOf(r, t.user), device: textOf(r, t.device),
		hash: textOf(r, t.hash), login: timeOf(r, t.login), active: timeOf(r, t.active), expires: timeOf(r, t.expires),
	}
}

// timeOf returns a stored time, the zero Time if there is none.
func timeOf(r store.Record, a *contenttypes.Attribute) time.Time {
	t, _ := time.Parse(time.RFC3339, textOf(r, a))
	return t
}

// withKey returns the session with this key; ok is false if there is none.
func (t *sessionType) withKey(snap *store.Snapshot, key string) (s session, ok bool) {
	t.each(snap, t.key, key, func(found session) { s, ok = found, true })
	return s, ok
}

// each calls yield with the sessions whose attribute a has this value.
func (t *sessionType) each(snap *store.Snapshot, a *contenttypes.Attribute, value string, yield func(session)) {
	snap.Equal(t.typ, store.Published, "", a, jsontree.AppendString(nil, value), func(r store.Record) bool {
		yield(t.read(r))
		return true
	})
}

// sessionsOf returns the sessions of the user with this id that are not over, those first that were active last.
func (u *Users) sessionsOf(snap *store.Snapshot, user uint64) (list []session) {
	r := u.Row(snap, user)
	if !r.Exists() {
		return nil
	}
	for _, s := range u.storedSessions(snap, r.DocumentID()) {
		if !u.isOver(&s) {
			list = append(list, s)
		}
	}
	return list
}

// storedSessions returns all sessions of a user, those first that were active last.
func (u *Users) storedSessions(snap *store.Snapshot, user string) (list []session) {
	u.sessions.each(snap, u.sessions.user, user, func(s session) { list = append(list, s) })
	slices.Reverse(list) // the order of equal times
	slices.SortStableFunc(list, func(a, b session) int {
		return cmp.Or(b.active.Compare(a.active), b.login.Compare(a.login))
	})
	return list
}

func anySession(*session) bool { return true }

// endSessions ends those sessions of a user for which may returns true, and returns how many.
func (u *Users) endSessions(tx *documents.Transaction, user string, may func(*session) bool) (n int, err error) {
	for _, s := range u.storedSessions(tx.Snapshot, user) {
		if !may(&s) {
			continue
		}
		if err := tx.DeleteUnhooked(u.sessions.typ, s.documentID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// endSome does the work of endSessions in a transaction of its own.
func (u *Users) endSome(ctx context.Context, user uint64, may func(*session) bool) (n int, err error) {
	var documentID string
	none := true
	err = u.o.Store.View(func(snap *store.Snapshot) error {
		r := u.Row(snap, user)
		if documentID, none = "", true; r.Exists() {
			documentID = r.DocumentID()
			none = !slices.ContainsFunc(u.storedSessions(snap, documentID), func(s session) bool { return may(&s) })
		}
		return nil
	})
	if err != nil || none {
		return 0, err // without a write
	}
	err = u.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		n, err = u.endSessions(tx, documentID, may)
		return err
	})
	return n, err
}

// swept is how many sessions that are over are removed when one begins. It is more than one, so that they do not
// become more and more.
const swept = 4

// makeRoom removes sessions of a user that are over, and as many others as are too many for another one to begin. It
// also removes some sessions of other users that are over.
func (u *Users) makeRoom(tx *documents.Transaction, user string, now time.Time) error {
	left := 0
	_, err := u.endSessions(tx, user, func(s *session) bool {
		if !u.isOver(s) {
			left++
		}
		return u.isOver(s) || left >= maxSessions
	})
	if err != nil {
		return err
	}
	over, err := documents.FilterOf(u.sessions.typ, documents.Lt("expiresAt", now))
	if err != nil {
		return err
	}
	page, err := tx.Find(&store.Query{Type: u.sessions.typ, Filter: over, Limit: swept,
		Sort: []store.SortKey{{Path: []*contenttypes.Attribute{u.sessions.expires}}}})
	if err != nil {
		return err
	}
	ids := make([]string, len(page.Rows))
	for i, r := range page.Rows {
		ids[i] = r.DocumentID()
	}
	for _, id := range ids {
		if err := tx.DeleteUnhooked(u.sessions.typ, id); err != nil {
			return err
		}
	}
	return nil
}
