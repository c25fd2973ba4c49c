package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/store"
)

// A Kind says which actions an API token allows.
type Kind string

const (
	FullAccess Kind = "full-access" // everything
	ReadOnly   Kind = "read-only"   // the actions find, findOne and findDrafts of everything but the server itself
	Custom     Kind = "custom"      // those in its permissions
)

// kinds lists all Kinds.
var kinds = []Kind{FullAccess, ReadOnly, Custom}

// A Declaration describes a token to be created. permissions.yaml lists them, and `lectern token create` makes one from
// its flags.
type Declaration struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Kind        Kind          `json:"type"`
	Permissions []string      `json:"permissions,omitempty"` // "uid.action", for Custom
	Rules       Rules         `json:"-"`                     // of the permissions, from permissions.yaml
	Lifespan    time.Duration `json:"lifespan,omitempty"`    // 0 means that it does not expire
}

// Check returns an error with a suggestion if no token can be created from d.
func (d *Declaration) Check(actions *Actions) error {
	switch {
	case strings.TrimSpace(d.Name) == "":
		return errors.New("a token needs a name")
	case len(d.Name) > 100:
		return errors.New("a token's name has at most 100 characters")
	case !slices.Contains(kinds, d.Kind):
		return fmt.Errorf("a token's type is full-access, read-only or custom, not %q", d.Kind)
	case d.Kind == Custom && len(d.Permissions) == 0:
		return fmt.Errorf("a custom token needs permissions, for example %s", actions.example())
	case d.Kind != Custom && len(d.Permissions) > 0:
		return fmt.Errorf("a %s token has no permissions of its own; its type would have to be custom", d.Kind)
	case d.Lifespan < 0:
		return errors.New("a token's lifespan cannot be negative")
	}
	for _, p := range d.Permissions {
		if err := actions.CheckTokenPermission(p); err != nil {
			return err
		}
	}
	return nil
}

// A Token is an API token as it is stored, without its key.
type Token struct {
	Declaration
	ID         string    `json:"id"` // documentId
	Declared   bool      `json:"declared"`
	CreatedAt  time.Time `json:"createdAt"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	// FormerUntil is when the key before the last rotation expires; zero if there is none.
	FormerUntil time.Time `json:"formerUntil,omitzero"`

	hash, former digest
	noted        bool // the document says that permissions.yaml has declared the token
	outdated     bool // permissions.yaml declares the token, and the document does not say so, or not with these permissions
}

// Removed reports whether permissions.yaml has declared the token and no longer does.
func (t *Token) Removed() bool { return t.noted && !t.Declared }

// TokenOptions are the arguments of OpenTokens.
type TokenOptions struct {
	Store     *store.Store
	Documents *documents.Service
	Model     *contenttypes.Model
	Actions   *Actions // nil means ActionsOf the Model
	// Conditions reads the conditions of rules; it may be nil if there are none.
	Conditions permission.Conditions
	Drafts     Drafts

	// Declared are the tokens of permissions.yaml. A token with a declared name has the type and permissions that the
	// file states at the last start; a permission that is removed from the file is thus revoked. See FollowFile for
	// tokens that are removed.
	Declared []Declaration

	// Uses holds the last uses of the tokens. It is passed on when another Tokens replaces this one on the same store;
	// nil means a new one.
	Uses *LastUses

	// Now is the clock; nil means time.Now. Failed is called if the last use of a token could not be stored; it may be
	// nil.
	Now    func() time.Time
	Failed func(error)
}

// Tokens are the API tokens of a project. Principal, which every request calls, only reads an immutable table in
// memory; creating or revoking a token makes a new table.
type Tokens struct {
	o       TokenOptions
	typ     *contenttypes.ContentType
	actions *Actions

	table atomic.Pointer[table]
	edit  sync.Mutex // serialises changes of tokens

	revision uint64 // of the tokens that Refresh has read

	stop context.CancelFunc
	done chan struct{}
}

// A table finds tokens by the digest of their key.
type table struct {
	entries map[[8]byte][]*entry
	tokens  []Token // in the order of their creation
}

// An entry is a valid key: that of a token, or the one before its last rotation.
type entry struct {
	hash    digest
	name    string // of the token
	access  *permission.Access
	expires int64 // unix seconds; 0 means never
	used    *lastUse
}

// OpenTokens reads the tokens of a store. The caller must Close the result.
func OpenTokens(o TokenOptions) (*Tokens, error) {
	t := &Tokens{o: o, typ: o.Model.Type(contenttypes.TokenUID), actions: o.Actions}
	if t.actions == nil {
		t.actions = ActionsOf(o.Model)
	}
	if t.typ == nil {
		return nil, fmt.Errorf("open API tokens: the model has no type %s", contenttypes.TokenUID)
	}
	if t.o.Now == nil {
		t.o.Now = time.Now
	}
	if t.o.Failed == nil {
		t.o.Failed = func(error) {}
	}
	if t.o.Uses == nil {
		t.o.Uses = NewLastUses()
	}
	if err := t.reload(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	t.stop, t.done = stop, make(chan struct{})
	go t.keepLastUses(ctx)
	return t, nil
}

// Close stores the last uses that are not stored yet and ends t. Call it before you close the store.
func (t *Tokens) Close() {
	t.stop()
	<-t.done
}

// Refresh reads the tokens anew if they have changed in the store otherwise than by t, as they do in a replica.
func (t *Tokens) Refresh() error {
	t.edit.Lock()
	defer t.edit.Unlock()
	var revision uint64
	if err := t.o.Store.View(func(s *store.Snapshot) error { revision = s.Revision(t.typ); return nil }); err != nil {
		return fmt.Errorf("read API tokens: %w", err)
	}
	if revision == t.revision {
		return nil
	}
	t.revision = revision
	return t.reload()
}

// Principal returns the token of a key and what its bearer may do; ok is false for a key that is unknown, revoked or
// expired.
func (t *Tokens) Principal(key string) (p Principal, ok bool) {
	d, ok := digestOf(key)
	if !ok {
		return p, false
	}
	for _, e := range t.table.Load().entries[d.slot()] {
		if !e.hash.equal(d) {
			continue
		}
		now := t.o.Now().Unix()
		if e.expires != 0 && now >= e.expires {
			return p, false
		}
		e.used.note(now)
		return Principal{Access: e.access.At(t.o.Now), Token: e.name}, true
	}
	return p, false
}

// List returns the tokens in the order of their creation, with their last uses.
func (t *Tokens) List() []Token {
	tokens := slices.Clone(t.table.Load().tokens)
	for i := range tokens {
		tokens[i].LastUsedAt = t.o.Uses.of(tokens[i]).time()
	}
	return tokens
}

// These are the errors of Create, Rotate and Revoke.
var (
	ErrTokenExists = errors.New("there is a token of that name already; revoke it first or take another name")
	ErrNoToken     = errors.New("there is no token of that name or id; `lectern token list` shows them")
)

// Create creates a token. Only this call returns its key; the store has just a digest of it.
func (t *Tokens) Create(ctx context.Context, d Declaration) (tok Token, key string, err error) {
	return t.CreateAs(ctx, permission.FullAccess, d)
}

// CreateAs is Create for a caller with this access. It returns an error wrapping ErrBeyond if the token could do more.
func (t *Tokens) CreateAs(ctx context.Context, by *permission.Access,
	d Declaration) (tok Token, key string, err error) {
	if err := d.Check(t.actions); err != nil {
		return Token{}, "", err
	}
	ctx, release, err := t.o.Store.LockSchema(ctx) // else the key could be lost after the write
	if err != nil {
		return Token{}, "", err
	}
	defer release()
	t.edit.Lock()
	defer t.edit.Unlock()
	if t.find(d.Name) != nil {
		return Token{}, "", ErrTokenExists
	}
	declared := t.declared(d.Name)
	does := d // what the token does: permissions.yaml has the last word
	if declared != nil {
		does = *declared
	}
	if err := mayGrant(by, does); err != nil {
		return Token{}, "", err
	}
	key, hash := newKey()
	if err := t.o.Documents.Create(ctx, documents.Write{
		Type: t.typ, Access: permission.FullAccess, Data: tokenData(d, hash, t.o.Now(), declared != nil),
	}); err != nil {
		return Token{}, "", fmt.Errorf("create token %s: %w", d.Name, err)
	}
	if err := t.reload(); err != nil {
		return Token{}, "", err
	}
	made := t.find(d.Name)
	if made == nil {
		return Token{}, "", fmt.Errorf("create token %s: it was written but cannot be found", d.Name)
	}
	return *made, key, nil
}

// Rotate gives the token with this name or id a new key, which only this call returns. The former key works for the
// time grace, but no longer than before; keys of earlier rotations end at once. The lifespan of the token begins again.
func (t *Tokens) Rotate(ctx context.Context, nameOrID string, grace time.Duration) (tok Token, key string, err error) {
	return t.RotateAs(ctx, permission.FullAccess, nameOrID, grace)
}

// RotateAs is Rotate for a caller with this access. It returns an error wrapping ErrBeyond if the token may do more:
// the caller gets its key.
func (t *Tokens) RotateAs(ctx context.Context, by *permission.Access, nameOrID string,
	grace time.Duration) (tok Token, key string, err error) {
	if grace < 0 {
		return Token{}, "", errors.New("the grace of a former key cannot be negative")
	}
	ctx, release, err := t.o.Store.LockSchema(ctx)
	if err != nil {
		return Token{}, "", err
	}
	defer release()
	t.edit.Lock()
	defer t.edit.Unlock()
	found := t.find(nameOrID)
	if found == nil {
		return Token{}, "", ErrNoToken
	}
	if err := mayGrant(by, found.Declaration); err != nil {
		return Token{}, "", err
	}
	key, hash := newKey()
	if err := t.o.Documents.Update(ctx, documents.Write{
		Type: t.typ, DocumentID: found.ID, Access: permission.FullAccess,
		Data: rotationData(*found, hash, t.o.Now(), grace),
	}); err != nil {
		return Token{}, "", fmt.Errorf("rotate token %s: %w", found.Name, err)
	}
	if err := t.reload(); err != nil {
		return Token{}, "", err
	}
	rotated := t.find(found.ID)
	if rotated == nil {
		return Token{}, "", fmt.Errorf("rotate token %s: it was written but cannot be found", found.Name)
	}
	return *rotated, key, nil
}

// Revoke deletes the token with this name or id. Its key is refused from then on.
func (t *Tokens) Revoke(ctx context.Context, nameOrID string) (Token, error) {
	ctx, release, err := t.o.Store.LockSchema(ctx)
	if err != nil {
		return Token{}, err
	}
	defer release()
	t.edit.Lock()
	defer t.edit.Unlock()
	found := t.find(nameOrID)
	if found == nil {
		return Token{}, ErrNoToken
	}
	gone := *found
	if err := t.o.Documents.Delete(
		ctx, documents.Write{Type: t.typ, DocumentID: gone.ID, Access: permission.FullAccess}); err != nil {
		return Token{}, fmt.Errorf("revoke token %s: %w", gone.Name, err)
	}
	t.o.Uses.forget(gone.ID)
	return gone, t.reload()
}

func (t *Tokens) find(nameOrID string) *Token {
	tokens := t.table.Load().tokens
	for _, by := range []func(
		Token) string{func(x Token) string { return x.Name }, func(x Token) string { return x.ID }} {
		if i := slices.IndexFunc(tokens, func(x Token) bool { return by(x) == nameOrID }); i >= 0 {
			return &tokens[i]
		}
	}
	return nil
}

// reload makes a new lookup table from the store.
func (t *Tokens) reload() error {
	tokens, err := readTokens(t.o.Store, t.typ)
	if err != nil {
		return fmt.Errorf("read API tokens: %w", err)
	}
	next := &table{entries: make(map[[8]byte][]*entry, len(tokens)), tokens: tokens}
	for i := range tokens {
		tok := &tokens[i]
		if d := t.declared(tok.Name); d != nil {
			tok.outdated = !tok.noted || tok.Kind != d.Kind || !slices.Equal(tok.Permissions, d.Permissions) ||
				!maps.EqualFunc(tok.Rules, d.Rules, sameRule)
			tok.Declared, tok.Kind, tok.Permissions, tok.Rules = true, d.Kind, d.Permissions, d.Rules
		}
		e := entry{hash: tok.hash, name: tok.Name, access: t.compile(tok.Declaration), used: t.o.Uses.of(*tok)}
		if !tok.ExpiresAt.IsZero() {
			e.expires = tok.ExpiresAt.Unix()
		}
		next.add(e)
		if !tok.FormerUntil.IsZero() {
			e.hash, e.expires = tok.former, tok.FormerUntil.Unix()
			next.add(e)
		}
	}
	t.table.Store(next)
	return nil
}

func (t *table) add(e entry) { t.entries[e.hash.slot()] = append(t.entries[e.hash.slot()], &e) }

func (t *Tokens) declared(name string) *Declaration {
	for i := range t.o.Declared {
		if t.o.Declared[i].Name == name {
			return &t.o.Declared[i]
		}
	}
	return nil
}

func (t *Tokens) compile(d Declaration) *permission.Access {
	rules := RuleReader{Model: t.o.Model, Conditions: t.o.Conditions, Drafts: t.o.Drafts, Failed: t.o.Failed}
	return rules.Token(d, t.actions)
}

// Has reports whether there is a token of this name.
func (t *Tokens) Has(name string) bool {
	return slices.ContainsFunc(t.table.Load().tokens, func(x Token) bool { return x.Name == name })
}
