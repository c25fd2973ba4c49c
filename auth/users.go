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
	"lectern/documents/passwords"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// UserSettings are the settings for registration, login and mail.
type UserSettings struct {
	Lifespan          time.Duration // validity of a JWT, without sessions
	Sessions          SessionSettings
	AllowRegister     bool     // everybody may register
	UniqueEmail       bool     // no two users may have the same address, even with different providers
	EmailConfirmation bool     // users must confirm their address before they can log in
	RegisterFields    []string // attributes that users may set when they register, beside name, address and password: see MayRegister
	DefaultRole       string   // type of the role of users who register
	ResetURL          string   // page on which users set a new password; "" means the one of this server
	ConfirmPath       string   // route that confirms an address
	ConfirmedURL      string   // page to which users are redirected after they confirm their address
	Mail              MailSettings
}

// UserOptions are the arguments of OpenUsers.
type UserOptions struct {
	Store      *store.Store
	Documents  *documents.Service
	Model      *contenttypes.Model
	Actions    *Actions              // nil means ActionsOf the Model
	Conditions permission.Conditions // reads the conditions of rules; may be nil if there are none
	Settings   UserSettings
	Granted    map[string][]string // permissions of each role in permissions.yaml
	Rules      map[string]Rules    // and their rules
	Drafts     Drafts
	Secret     []byte        // signs JWTs
	ServerURL  func() string // base of the links in mails; may be nil
	MailDir    string        // directory to write mails to if no mail server is configured; "" writes none
	Log        *slog.Logger
	Now        func() time.Time // nil means time.Now
	Former     *Users           // the Users that these replace, whose mail queue they take over; nil when the server starts
}

// Users manages the users of a project and their roles. Each method checks the body that it gets and returns an
// *apierror.Error for an invalid one.
type Users struct {
	o        UserOptions
	typ      *contenttypes.ContentType
	actions  *Actions
	roles    *storedRoles
	signer   *signer
	sessions sessionType
	mails    *mailQueue
	sender   *mailSender

	username, email, password, provider, confirmed, blocked, role *contenttypes.Attribute
	resetCode, confirmCode                                        *contenttypes.Attribute
}

// OpenUsers creates the missing roles and grants them the permissions of permissions.yaml. The caller must Close the
// result.
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
		"username": &u.username, "email": &u.email, "password": &u.password, "provider": &u.provider,
		"confirmed": &u.confirmed,
		"blocked":   &u.blocked, "role": &u.role, "resetPasswordToken": &u.resetCode,
		"confirmationToken": &u.confirmCode,
	} {
		*a = u.typ.Attribute(name)
	}
	var err error
	if u.roles, err = newStoredRoles(o.Store,
		RuleReader{Model: o.Model, Conditions: o.Conditions, Drafts: o.Drafts, Failed: u.failed}); err != nil {
		return nil, err
	}
	if u.sessions, err = newSessionType(o.Model); err != nil {
		return nil, err
	}
	err = u.grantDeclared(ctx)
	follows := store.WritesElsewhere(err) // the roles come with the content
	if err != nil && !follows {
		return nil, fmt.Errorf("grant the permissions of permissions.yaml: %w", err)
	}
	if u.o.Settings.DefaultRole != "" && !follows {
		if err := u.checkDefaultRole(); err != nil {
			return nil, err
		}
	}
	kind := lasting
	if o.Settings.Sessions.On {
		kind = access
	}
	u.signer = newSigner(o.Secret, kind, o.Now)
	u.sender = &mailSender{settings: o.Settings.Mail, dir: o.MailDir, log: o.Log}
	if o.Former == nil {
		u.mails = newMailQueue(u, o.Log)
	} else {
		u.mails, u.o.Former = o.Former.mails, nil
		u.mails.handTo(u)
	}
	return u, nil
}

// failed logs an error that is nobody's answer.
func (u *Users) failed(err error) {
	if u.o.Log != nil {
		u.o.Log.Error(err.Error())
	}
}

// AnybodyMayRegister reports whether requests without a credential can make users.
func (u *Users) AnybodyMayRegister() (bool, error) {
	table, err := u.roles.current()
	return err == nil && u.o.Settings.AllowRegister && table.public().AllowsAction(authActions+".register"), err
}

// Close waits a short time for mails that are being sent. Call it before you close the store.
func (u *Users) Close() { u.mails.close() }

// Show prints a user's row; it is called while the row can be read. It may be called again, and must then start from
// the beginning.
type Show func(*store.Snapshot, store.Record) error

// An account holds the fields of a user that decide whether they can log in.
type account struct {
	id                 uint64
	documentID         string
	username, email    string
	hash               []byte // stored hash of the password
	proof              string // of the address, or the code that confirms it; "" if there is neither
	local              bool
	confirmed, blocked bool
}

func (u *Users) account(r store.Record) account {
	return account{
		id:         r.ID(),
		documentID: r.DocumentID(),
		username:   textOf(r, u.username), email: textOf(r, u.email),
		hash:      append([]byte(nil), r.JSON(u.password)...),
		proof:     textOf(r, u.confirmCode),
		local:     textOf(r, u.provider) == localProvider,
		confirmed: isTrue(r, u.confirmed), blocked: isTrue(r, u.blocked),
	}
}

// localProvider is the provider of users who log in with a password.
const localProvider = "local"

// hasPassword reports whether this is the password of the account. If it has no password, the check takes as long as
// for a wrong one.
func (a *account) hasPassword(ctx context.Context, h *passwords.Hasher, password string) (bool, error) {
	return h.Same(ctx, string(jsonText(a.hash)), password)
}

// Type returns the content-type of users.
func (u *Users) Type() *contenttypes.ContentType { return u.typ }

// Row returns the row of the user with this id, the zero Record if there is none.
func (u *Users) Row(s *store.Snapshot, id uint64) store.Record {
	return rowOf(s, u.typ, id)
}

// rowOf returns the row of a type with this id, the zero Record if there is none.
func rowOf(s *store.Snapshot, t *contenttypes.ContentType, id uint64) store.Record {
	doc, status, locale, ok := s.DocumentByRow(t, id)
	if !ok {
		return store.Record{}
	}
	return s.Version(t, doc, status, locale)
}

// with returns the first user whose attribute a has this value.
func (u *Users) with(s *store.Snapshot, a *contenttypes.Attribute, value string) (found store.Record) {
	u.each(s, a, value, func(r store.Record) bool {
		found = r
		return false
	})
	return found
}

// each calls yield with the users whose attribute a has this value, until yield returns false.
func (u *Users) each(s *store.Snapshot, a *contenttypes.Attribute, value string, yield func(store.Record) bool) {
	s.Equal(u.typ, store.Published, "", a, jsontree.AppendString(nil, value), yield)
}

// MayLink returns an error if a body for creating or changing a user links the user to documents that the caller may
// not find. It allows every role, since callers who may write users may assign roles.
func (u *Users) MayLink(body any, access *permission.Access) error {
	sent, ok := body.(*jsontree.Object)
	if !ok {
		return nil
	}
	data := newForm(sent).values(u.typ)
	links := jsontree.NewObject()
	for _, key := range data.Keys {
		if key != u.role.Name {
			links.Set(key, data.Value(key))
		}
	}
	return documents.CheckLinks(u.typ, links, access)
}

// prepare prepares an internal write of a user, such as of a password or a code, which calls no hooks.
func (u *Users) prepare(ctx context.Context, data *jsontree.Object, show Show,
	into *account) (*documents.Prepared, error) {
	return u.o.Documents.Prepare(ctx, u.written("", data, show, into))
}

// written returns the write of a user with full access: Users has checked before what the caller may set, and a user
// must have a role even if the caller may not read roles. The written row is stored in into and passed to show; both
// may be nil.
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

// jsonText returns the string in a stored JSON value, "" for any other value.
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

// lower returns an address as it is stored and compared.
func lower(email string) string { return strings.ToLower(email) }

// ParseID parses the id of a row in a path: digits without a leading zero.
func ParseID(s string) (id uint64, ok bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseUint(s, 10, 64)
	return id, err == nil
}
