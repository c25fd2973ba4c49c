package auth

import (
	"context"
	"errors"
	"slices"
	"time"

	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// An Account is a user as operators see them.
type Account struct {
	ID         uint64    `json:"id"`
	DocumentID string    `json:"documentId"`
	Username   string    `json:"username"`
	Email      string    `json:"email"`
	Role       string    `json:"role"` // its type
	Provider   string    `json:"provider"`
	Confirmed  bool      `json:"confirmed"`
	Blocked    bool      `json:"blocked"`
	CreatedAt  time.Time `json:"createdAt"`
	Sessions   int       `json:"sessions"`
}

// A NewAccount is what an operator says of a user to create. Its address counts as confirmed.
type NewAccount struct {
	Username string `json:"username"`
	Email    string `json:"email"`
	Password string `json:"password"`
	Role     string `json:"role"` // type, name or id; "" is that of users who register
}

// An AccountChange is what an operator changes of a user. What is nil stays.
type AccountChange struct {
	Role     *string `json:"role,omitempty"` // type, name or id
	Password *string `json:"password,omitempty"`
	Blocked  *bool   `json:"blocked,omitempty"`
}

// These are the errors of operators.
var (
	ErrNoAccount = errors.New("there is no user of that name, address or id; `lectern user list` shows them")
	// ErrManyAccounts means that one user has as name what another has as address or id.
	ErrManyAccounts = errors.New("several users have that name, address or id: say another of the three, " +
		"as `lectern user list` shows them")
	ErrNoSessions = errors.New("there are no sessions: config/plugins.yaml does not say jwtManagement: refresh")
)

// Accounts returns all users, in the order of their creation.
func (u *Users) Accounts(ctx context.Context) (list []Account, err error) {
	err = u.o.Store.View(func(s *store.Snapshot) error {
		s.Within(ctx, 0)
		list = nil
		page, err := s.Find(&store.Query{Type: u.typ, Status: store.Published, Limit: -1})
		for _, r := range page.Rows {
			list = append(list, u.describe(s, r))
		}
		return err
	})
	return list, err
}

func (u *Users) describe(s *store.Snapshot, r store.Record) Account {
	a := Account{ID: r.ID(), DocumentID: r.DocumentID(), Username: textOf(r, u.username), Email: textOf(r, u.email),
		Provider: textOf(r, u.provider), Confirmed: isTrue(r, u.confirmed), Blocked: isTrue(r, u.blocked),
		CreatedAt: timeOf(r, u.typ.Attribute("createdAt")), Sessions: len(u.sessionsOf(s, r.ID()))}
	s.Related(r, u.role, store.Published, func(role store.Record) bool {
		a.Role = textOf(role, u.roles.roleType)
		return false
	})
	return a
}

// find returns the id of the user of this name, address or id. It returns ErrManyAccounts if those are several: anybody
// who registers could otherwise take the id of another as a name, and get the role that is meant for them.
func (u *Users) find(who string) (id uint64, err error) {
	err = u.o.Store.View(func(s *store.Snapshot) error {
		var ids []uint64
		add := func(r store.Record) bool {
			if r.Exists() && !slices.Contains(ids, r.ID()) {
				ids = append(ids, r.ID())
			}
			return true
		}
		u.each(s, u.email, lower(who), add)
		u.each(s, u.username, who, add)
		if n, isID := ParseID(who); isID {
			add(u.Row(s, n))
		}
		switch len(ids) {
		case 0:
			return ErrNoAccount
		case 1:
			id = ids[0]
			return nil
		}
		return ErrManyAccounts
	})
	return id, err
}

// CreateAccount creates a user.
func (u *Users) CreateAccount(ctx context.Context, n NewAccount) (made Account, err error) {
	if n.Role == "" {
		n.Role = u.o.Settings.DefaultRole
	}
	body := jsontree.ObjectOf("username", n.Username, "email", n.Email, "password", n.Password, "role", n.Role,
		"confirmed", true)
	err = u.Create(ctx, nil, body, u.into(&made))
	return made, plain(err)
}

// plain returns the message of an error that is meant for clients.
func plain(err error) error {
	var refusal *apierror.Error
	if errors.As(err, &refusal) {
		return errors.New(refusal.Message)
	}
	return err
}

// ChangeAccount changes the user of a name, address or id. Their JWTs and sessions end if they get a new password or
// are blocked.
func (u *Users) ChangeAccount(ctx context.Context, who string, change AccountChange) (changed Account, err error) {
	id, err := u.find(who)
	if err != nil {
		return changed, err
	}
	body := jsontree.NewObject()
	if change.Role != nil {
		body.Set("role", *change.Role)
	}
	if change.Password != nil {
		body.Set("password", *change.Password)
	}
	if change.Blocked != nil {
		body.Set("blocked", *change.Blocked)
	}
	err = u.Update(ctx, nil, id, body, u.into(&changed), permission.FullAccess)
	return changed, plain(err)
}

func (u *Users) into(a *Account) Show {
	return func(s *store.Snapshot, r store.Record) error {
		*a = u.describe(s, r)
		return nil
	}
}

// AccountSessions returns the sessions of the user of a name, address or id, those first that were active last.
func (u *Users) AccountSessions(who string) ([]Session, error) {
	if !u.o.Settings.Sessions.On {
		return nil, ErrNoSessions
	}
	id, err := u.find(who)
	if err != nil {
		return nil, err
	}
	return u.Sessions(User{ID: id}, "")
}

// EndAccountSessions ends the sessions with these ids of the user of a name, address or id; all of them if there are no
// ids. It returns how many. It fails if there is no session of an id.
func (u *Users) EndAccountSessions(ctx context.Context, who string, ids []string) (n int, err error) {
	list, err := u.AccountSessions(who)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(list, func(s Session) bool { return s.ID == id }) {
			return 0, errors.New("the user has no session " + id)
		}
	}
	user, err := u.find(who)
	if err != nil {
		return 0, err
	}
	return u.endSome(ctx, user, func(s *session) bool { return len(ids) == 0 || slices.Contains(ids, s.key) })
}
