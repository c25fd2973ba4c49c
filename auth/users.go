package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// UserSettings say how users come and go.
type UserSettings struct {
	Lifespan          time.Duration // of a JWT
	AllowRegister     bool          // anybody may become a user
	UniqueEmail       bool          // no two users have the same address, whichever their providers
	EmailConfirmation bool          // nobody gets in before he has confirmed his address
	RegisterFields    []string      // the attributes that who registers may set beside name, address and password: see MayRegister
	DefaultRole       string        // the type of the role of who registers
	ResetURL          string        // the page where a new password is set; "" is the server itself
	ConfirmPath       string        // the route that confirms an address
	ConfirmedURL      string        // where who confirmed his address is sent
	Mail              MailSettings
}

// UserOptions say what OpenUsers needs.
type UserOptions struct {
	Store     *store.Store
	Documents *documents.Service
	Model     *contenttypes.Model
	Actions   *Actions // what can be granted; nil: ActionsOf the Model
	Settings  UserSettings
	Granted   map[string][]string // what permissions.yaml grants: role → permissions
	Secret    []byte              // signs JWTs
	ServerURL func() string       // where the links of mail lead; nil is none
	MailDir   string              // where mail is kept when there is no server for it; "" keeps none
	Log       *slog.Logger
	Now       func() time.Time // time.Now where it is nil
	Former    *Users           // nil at start; else the Users that these replace, whose mails that wait are sent by these
}

// Users are the users of a project, their roles, and how they get in. Whatever a method is given as a body is checked by it;
// what is wrong with it is an *apierror.Error.
type Users struct {
	o       UserOptions
	typ     *contenttypes.ContentType
	actions *Actions
	roles   *storedRoles
	signer  *signer
	mails   *mailQueue
	sender  *mailSender

	username, email, password, provider, confirmed, blocked, role *contenttypes.Attribute
	resetCode, confirmCode                                        *contenttypes.Attribute
}

// OpenUsers makes the roles that are missing, brings what permissions.yaml granted in step with the file, and begins to take
// requests. Close ends it.
func OpenUsers(ctx context.Context, o UserOptions) (*Users, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ServerURL == nil {
		o.ServerURL = func() string { return "" }
	}
	u := &Users{o: o, typ: o.Model.Type(contenttypes.UserUID), actions: o.Actions}
	if u.actions == nil {
		u.actions = ActionsOf(o.Model)
	}
	if u.typ == nil {
		return nil, errors.New("open users: the model has none")
	}
	for name, a := range map[string]**contenttypes.Attribute{
		"username": &u.username, "email": &u.email, "password": &u.password, "provider": &u.provider, "confirmed": &u.confirmed,
		"blocked": &u.blocked, "role": &u.role, "resetPasswordToken": &u.resetCode, "confirmationToken": &u.confirmCode,
	} {
		*a = u.typ.Attribute(name)
	}
	var err error
	if u.roles, err = newStoredRoles(o.Store, o.Model); err != nil {
		return nil, err
	}
	if err := u.grant(ctx); err != nil {
		return nil, fmt.Errorf("grant what permissions.yaml says: %w", err)
	}
	if u.o.Settings.DefaultRole != "" {
		if err := u.checkDefaultRole(); err != nil {
			return nil, err
		}
	}
	u.signer = newSigner(o.Secret, o.Settings.Lifespan, o.Now)
	u.sender = &mailSender{settings: o.Settings.Mail, dir: o.MailDir, log: o.Log}
	if o.Former == nil {
		u.mails = newMailQueue(u, o.Log)
	} else {
		u.mails, u.o.Former = o.Former.mails, nil
		u.mails.handTo(u)
	}
	return u, nil
}

// Close waits a moment for mail that is on its way. It must be called before the store is closed.
func (u *Users) Close() { u.mails.close() }

// Show is called with a user's row while it can be read: to print it. It may be called more than once and must begin anew
// each time.
type Show func(*store.Snapshot, store.Record) error

// An account is what decides whether somebody gets in.
type account struct {
	id                 uint64
	documentID         string
	username, email    string
	hash               []byte // of the password, as it is stored
	local              bool
	confirmed, blocked bool
}

func (u *Users) account(r store.Record) account {
	return account{
		id:         r.ID(),
		documentID: textOf(r, u.typ.Attribute("documentId")),
		username:   textOf(r, u.username), email: textOf(r, u.email),
		hash:      append([]byte(nil), r.JSON(u.password)...),
		local:     textOf(r, u.provider) == localProvider,
		confirmed: isTrue(r, u.confirmed), blocked: isTrue(r, u.blocked),
	}
}

// localProvider is the provider of users who log in by password.
const localProvider = "local"

// same reports whether a password is that of an account. Where there is no account, or none with a password, it takes as
// long to say no.
func (a *account) same(ctx context.Context, password string) (bool, error) {
	return documents.SamePassword(ctx, string(jsonText(a.hash)), password)
}

// Type is the content-type of users.
func (u *Users) Type() *contenttypes.ContentType { return u.typ }

// Row returns the row of the user with that id, the zero Record when there is none.
func (u *Users) Row(s *store.Snapshot, id uint64) store.Record {
	return rowOf(s, u.typ, id)
}

// rowOf returns the row of a type with that id, the zero Record when there is none.
func rowOf(s *store.Snapshot, t *contenttypes.ContentType, id uint64) store.Record {
	doc, status, locale, ok := s.DocumentByRow(t, id)
	if !ok {
		return store.Record{}
	}
	return s.Version(t, doc, status, locale)
}

// with returns the first user whose attribute a has that value.
func (u *Users) with(s *store.Snapshot, a *contenttypes.Attribute, value string) (found store.Record) {
	u.each(s, a, value, func(r store.Record) bool {
		found = r
		return false
	})
	return found
}

// each calls yield with the users whose attribute a has that value, until it returns false.
func (u *Users) each(s *store.Snapshot, a *contenttypes.Attribute, value string, yield func(store.Record) bool) {
	s.Equal(u.typ, store.Published, "", a, jsontree.AppendString(nil, value), yield)
}

// MayLink refuses a body that makes or changes a user when it links him to documents that the caller may not find. His role is
// none of these: who may write users gives them roles.
func (u *Users) MayLink(body any, access *permission.Access) error {
	sent, ok := body.(*jsontree.Object)
	if !ok {
		return nil
	}
	data := documents.NewForm(sent).Values(u.typ)
	links := jsontree.NewObject()
	for _, key := range data.Keys {
		if key != u.role.Name {
			links.Set(key, data.Value(key))
		}
	}
	return documents.CheckLinks(u.typ, links, access)
}

// prepare prepares a write of a user that hooks are not called around, such as that of his password or a code. The access is full, since it is
// decided before what the caller may set.
func (u *Users) prepare(ctx context.Context, data *jsontree.Object, show Show, into *account) (*documents.Prepared, error) {
	return u.o.Documents.Prepare(ctx, u.written("", data, show, into))
}

// written makes the write of a user. It notes in into, which may be nil, what was written, and calls show, which may be nil. The access
// is full: it is decided before what the caller may set, and a user must have a role even where who makes him may not see roles.
func (u *Users) written(documentID string, data *jsontree.Object, show Show, into *account) documents.Write {
	return documents.Write{
		Type: u.typ, DocumentID: documentID, Data: data, Access: permission.FullAccess,
		After: func(s *store.Snapshot, r store.Record) error {
			if into != nil {
				*into = u.account(r)
			}
			if show == nil {
				return nil
			}
			return show(s, r)
		},
	}
}

func textOf(r store.Record, a *contenttypes.Attribute) string { return jsonText(r.JSON(a)) }

// jsonText reads a stored text; anything else is "".
func jsonText(raw []byte) string {
	v, err := jsontree.Parse(raw, 1)
	s, _ := v.(string)
	if err != nil {
		return ""
	}
	return s
}

func isTrue(r store.Record, a *contenttypes.Attribute) bool { return string(r.JSON(a)) == "true" }

func number(id uint64) jsontree.Number { return jsontree.Number(strconv.FormatUint(id, 10)) }

// lower is how addresses are stored and looked for.
func lower(email string) string { return strings.ToLower(email) }

// ParseID reads the id of a row in a path: digits without a zero in front.
func ParseID(s string) (id uint64, ok bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseUint(s, 10, 64)
	return id, err == nil
}
