package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/passwords"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

var project = fstest.MapFS{
	"content-types/article.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes: {title: {type: string}}`)},
	"content-types/home.yaml": {Data: []byte(`
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes: {title: {type: string}}`)},
}

// A fixture is a store with the tokens of its project and a clock for them.
type fixture struct {
	t      testing.TB
	model  *contenttypes.Model
	store  *store.Store
	docs   *documents.Service
	tokens *auth.Tokens
	clock  atomic.Int64 // unix seconds
}

// serviceOf returns the service of a store. Its hashes of passwords cost little, because the tests create many users.
func serviceOf(st *store.Store, model *contenttypes.Model) *documents.Service {
	s := documents.NewService(st, model, "en")
	s.Passwords = passwords.NewHasher(bcrypt.MinCost)
	return s
}

func newFixture(t testing.TB, declared ...auth.Declaration) *fixture {
	model := storetest.Model(t, project)
	st, err := store.Open(filepath.Join(t.TempDir(), "content.db"), model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, model: model, store: st, docs: serviceOf(st, model)}
	f.clock.Store(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC).Unix())
	f.open(declared...)
	t.Cleanup(func() {
		f.tokens.Close()
		if err := errors.Join(f.store.Check(), st.Close()); err != nil { // tests redefine f.store
			t.Error(err)
		}
	})
	return f
}

// open opens the tokens, as the server does when it starts.
func (f *fixture) open(declared ...auth.Declaration) {
	f.t.Helper()
	if f.tokens != nil {
		f.tokens.Close()
	}
	var err error
	f.tokens, err = auth.OpenTokens(auth.TokenOptions{
		Store: f.store, Documents: f.docs, Model: f.model, Declared: declared,
		Now:    func() time.Time { return time.Unix(f.clock.Load(), 0) },
		Failed: func(err error) { f.t.Error(err) },
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) create(d auth.Declaration) (auth.Token, string) {
	f.t.Helper()
	tok, key, err := f.tokens.Create(context.Background(), d)
	if err != nil {
		f.t.Fatal(err)
	}
	return tok, key
}

func TestAuthenticate(t *testing.T) {
	f := newFixture(t)
	_, full := f.create(auth.Declaration{Name: "full", Kind: auth.FullAccess})
	_, gone := f.create(auth.Declaration{Name: "gone", Kind: auth.FullAccess})
	_, short := f.create(auth.Declaration{Name: "short", Kind: auth.FullAccess, Lifespan: time.Hour})
	if _, err := f.tokens.Revoke(context.Background(), "gone"); err != nil {
		t.Fatal(err)
	}
	f.clock.Add(3600)
	a := &auth.Authenticator{Roles: auth.CompileRoles(map[string][]string{"public": {"api::article.article.find"}}, nil, auth.RuleReader{Drafts: auth.GrantedDrafts}),
		Tokens: f.tokens}

	const public, token, refused = "public", "token", "refused"
	cases := []struct{ header, want string }{
		{"", public},
		{"Bearer " + full, token},
		{"bearer " + full, token},
		{"BEARER \t " + full + " ", token},
		{"Bearer", public},
		{"Bearer  ", public},
		{"Basic dXNlcjpwYXNz", public},
		{"Bearer " + full + " more", public},
		{full, public},
		{"BearerX " + full, public},
		{"Bearer x", refused},
		{"Bearer " + gone, refused},
		{"Bearer " + short, refused},
		{"Bearer " + full[:255], refused},
		{"Bearer " + full + "0", refused},
		{"Bearer " + strings.ToUpper(full), refused},
		{"Bearer " + strings.Repeat("0", 256), refused},
		{"Bearer " + strings.Repeat("\x00", 256), refused},
		{"Bearer null", refused},
		{"Bearer eyJhbGciOiJub25lIn0.eyJpZCI6MX0.", refused},
	}
	for _, c := range cases {
		r := &http.Request{Header: http.Header{"Authorization": {c.header}}}
		who, err := a.Authenticate(r)
		got := token
		var told *apierror.Error
		switch {
		case errors.As(err, &told) && told.Status == 401 && told.Name == "UnauthorizedError" &&
			told.Message == "Missing or invalid credentials":
			got = refused
		case err != nil:
			got = err.Error()
		case who.Access != permission.FullAccess:
			got = public
		}
		if got != c.want {
			t.Errorf("%.40q: %s, want %s", c.header, got, c.want)
		}
	}
}

func TestKindsOfTokensGrantWhatTheySay(t *testing.T) {
	f := newFixture(t)
	_, full := f.create(auth.Declaration{Name: "full", Kind: auth.FullAccess})
	_, readOnly := f.create(auth.Declaration{Name: "readonly", Kind: auth.ReadOnly})
	_, custom := f.create(auth.Declaration{Name: "custom", Kind: auth.Custom,
		Permissions: []string{"api::article.article.update", "plugin::i18n.locales.listLocales"}})
	cases := []struct {
		permission             string
		full, readOnly, custom bool
	}{
		{"api::article.article.find", true, true, false},
		{"api::article.article.findOne", true, true, false},
		{"api::article.article.update", true, false, true},
		{"api::article.article.publish", true, false, false},
		{"api::home.home.find", true, true, false},
		{"api::home.home.update", true, false, false},
		{"plugin::i18n.locales.listLocales", true, false, true},
		{"plugin::upload.content-api.find", true, true, false},
		{"plugin::upload.content-api.upload", true, false, false},
		{"plugin::users-permissions.user.find", true, true, false},
		{"plugin::users-permissions.user.count", true, false, false},
		{"plugin::users-permissions.permissions.getPermissions", true, false, false},
		{"lectern::api-token.find", true, false, false}, // of the server, not of content
	}
	for _, c := range cases {
		for key, want := range map[string]bool{full: c.full, readOnly: c.readOnly, custom: c.custom} {
			p, ok := f.tokens.Principal(key)
			if !ok {
				t.Fatal("refused")
			}
			if got := p.Access.AllowsAction(c.permission); got != want {
				t.Errorf("%s: %v, want %v", c.permission, got, want)
			}
		}
	}
}

func TestDeclarationsThatMakeNoTokenAreRefused(t *testing.T) {
	f := newFixture(t)
	actions := auth.ActionsOf(f.model)
	cases := []struct {
		d    auth.Declaration
		want string
	}{
		{auth.Declaration{Name: "x", Kind: auth.FullAccess}, ""},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"api::article.article.find"}}, ""},
		{auth.Declaration{Name: " ", Kind: auth.FullAccess}, "needs a name"},
		{auth.Declaration{Name: strings.Repeat("x", 101), Kind: auth.FullAccess}, "at most 100"},
		{auth.Declaration{Name: "x", Kind: "admin"}, `full-access, read-only or custom, not "admin"`},
		{auth.Declaration{Name: "x", Kind: auth.Custom}, "needs permissions, for example api::article.article.find"},
		{auth.Declaration{Name: "x", Kind: auth.ReadOnly, Permissions: []string{"api::article.article.find"}},
			"would have to be custom"},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"articles"}},
			"write it as <uid>.<action>"},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"api::artcle.article.find"}},
			`did you mean "api::article.article"?`},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"api::article.article.remove"}},
			"its actions are find, findOne, create, update, delete, publish"},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"api::home.home.create"}},
			"its actions are find, update, delete"},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"lectern::api-token.read"}},
			"its actions are find, create, rotate, revoke"},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{auth.FollowAction}}, ""},
		{auth.Declaration{Name: "x", Kind: auth.Custom, Permissions: []string{"lectern::replica.copy"}},
			"nothing is called"},
		{auth.Declaration{Name: "x", Kind: auth.FullAccess, Lifespan: -1}, "cannot be negative"},
	}
	for _, c := range cases {
		err := c.d.Check(actions)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want …%s…", c.d, err, c.want)
		}
	}
	if err := actions.CheckPermission(auth.FollowAction); err == nil ||
		!strings.Contains(err.Error(), "API tokens only") {
		t.Errorf("a role that may follow: %v", err)
	}
}

// TestKeyIsNotKept searches the stored document of a token for its key.
func TestKeyIsNotKept(t *testing.T) {
	f := newFixture(t)
	tok, key := f.create(auth.Declaration{Name: "full", Kind: auth.FullAccess})
	if len(key) != 256 {
		t.Errorf("a key of %d characters", len(key))
	}
	if _, other := f.create(auth.Declaration{Name: "other", Kind: auth.FullAccess}); other == key {
		t.Error("two tokens have one key")
	}
	shown, err := json.Marshal(tok)
	if err != nil || strings.Contains(string(shown), key) {
		t.Errorf("shown: %s %v", shown, err)
	}
	typ := f.model.Type(contenttypes.TokenUID)
	err = f.store.View(func(s *store.Snapshot) error {
		page, err := s.Find(&store.Query{Type: typ, Limit: -1})
		for _, r := range page.Rows {
			for _, a := range typ.Attributes {
				if text := string(r.JSON(a)); a.IsScalar() &&
					(strings.Contains(text, key[:32]) || strings.Contains(text, fmt.Sprintf("%x", key[:16]))) {
					t.Errorf("%s holds the key: %s", a.Name, text)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTokensOutliveARestart(t *testing.T) {
	f := newFixture(t)
	tok, key := f.create(auth.Declaration{Name: "news", Description: "for letters", Kind: auth.Custom,
		Permissions: []string{"api::article.article.find"}, Lifespan: 48 * time.Hour})
	if _, _, err := f.tokens.Create(context.Background(),
		auth.Declaration{Name: "news", Kind: auth.FullAccess}); !errors.Is(err, auth.ErrTokenExists) {
		t.Errorf("a second token of that name: %v", err)
	}
	f.open()
	list := f.tokens.List()
	if len(list) != 1 || list[0].Name != "news" || list[0].Description != "for letters" || list[0].ID != tok.ID ||
		list[0].Declared ||
		!list[0].ExpiresAt.Equal(time.Unix(f.clock.Load(), 0).Add(48*time.Hour)) {
		t.Errorf("after a restart: %+v", list)
	}
	if p, ok := f.tokens.Principal(key); !ok || !p.Access.AllowsAction("api::article.article.find") ||
		p.Access.AllowsAction("api::article.article.findOne") {
		t.Error("the token does something else after a restart")
	}

	// The declaration of the same name decides what the token may do.
	f.open(auth.Declaration{Name: "news", Kind: auth.Custom, Permissions: []string{"api::article.article.findOne"}})
	if p, ok := f.tokens.Principal(key); !ok || p.Access.AllowsAction("api::article.article.find") ||
		!p.Access.AllowsAction("api::article.article.findOne") {
		t.Error("the declaration does not decide")
	}
	if _, err := f.tokens.Revoke(context.Background(), tok.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.tokens.Principal(key); ok {
		t.Error("a revoked token works")
	}
	if _, err := f.tokens.Revoke(context.Background(), "news"); !errors.Is(err, auth.ErrNoToken) {
		t.Errorf("revoke again: %v", err)
	}
	f.open()
	if _, ok := f.tokens.Principal(key); ok {
		t.Error("a revoked token works after a restart")
	}
}

// TestLastUseOfATokenOutlivesARestart uses a token several times. Its last use is listed at once, in the store within a
// minute, and known after a restart.
func TestLastUseOfATokenOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		_, key := f.create(auth.Declaration{Name: "x", Kind: auth.FullAccess})
		f.create(auth.Declaration{Name: "idle", Kind: auth.FullAccess})
		stored := func() (last string) {
			if err := f.store.View(func(s *store.Snapshot) error {
				typ := f.model.Type(contenttypes.TokenUID)
				page, err := s.Find(&store.Query{Type: typ, Status: store.Published, Limit: 1})
				last = string(page.Rows[0].JSON(typ.Attribute("lastUsedAt")))
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return last
		}
		if got := stored(); got != "" {
			t.Errorf("before its first use it is %s", got)
		}
		for range 3 { // uses in quick succession; the last one must be written too
			for range 2 {
				f.clock.Add(7)
				f.tokens.Principal(key)
			}
			now := time.Unix(f.clock.Load(), 0)
			if got := f.tokens.List()[0].LastUsedAt; !got.Equal(now) {
				t.Errorf("used at %v, listed %v", now, got)
			}
			// The clock of the bubble goes on until uses are written.
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := stored(); got != now.UTC().Format(`"2006-01-02T15:04:05.000Z"`) {
				t.Errorf("used at %v, a minute later the store has %s", now, got)
			}
		}
		written := f.store.Stats().Commits
		// An hour of the bubble, in which nothing must be written.
		time.Sleep(time.Hour)
		synctest.Wait()
		if now := f.store.Stats().Commits; now != written {
			t.Errorf("%d writes while no token was used", now-written)
		}
		f.clock.Add(7)
		f.tokens.Principal(key)
		f.open() // writes the last uses
		if tokens := f.tokens.List(); tokens[0].LastUsedAt.Unix() != f.clock.Load() || !tokens[1].LastUsedAt.IsZero() {
			t.Errorf("after a restart: %v", tokens)
		}
	})
}

// TestRotate gives a token new keys and checks which keys work when.
func TestRotate(t *testing.T) {
	f := newFixture(t)
	made, first := f.create(auth.Declaration{Name: "x", Kind: auth.ReadOnly, Lifespan: 10 * time.Hour})
	works := func(what string, want bool, key string) {
		t.Helper()
		if _, ok := f.tokens.Principal(key); ok != want {
			t.Errorf("%s: works %v, want %v", what, ok, want)
		}
	}
	rotate := func(name string, grace time.Duration) (auth.Token, string) {
		t.Helper()
		tok, key, err := f.tokens.Rotate(t.Context(), name, grace)
		if err != nil {
			t.Fatal(err)
		}
		if tok.ID != made.ID || tok.Kind != auth.ReadOnly ||
			!tok.ExpiresAt.Equal(time.Unix(f.clock.Load(), 0).Add(10*time.Hour)) {
			t.Errorf("rotated: %+v", tok)
		}
		return tok, key
	}
	f.clock.Add(3600)
	_, second := rotate("x", time.Hour)
	works("the new key", true, second)
	works("the former one during its grace", true, first)
	f.tokens.Principal(first)
	f.open()
	works("the new key after a restart", true, second)
	works("the former one after a restart", true, first)
	if got := f.tokens.List()[0].LastUsedAt.Unix(); got != f.clock.Load() {
		t.Errorf("the former key was used at %d, the token says %d", f.clock.Load(), got)
	}
	f.clock.Add(3599)
	works("the former key just before the end of its grace", true, first)
	f.clock.Add(1)
	works("the former key after its grace", false, first)
	works("the new key then", true, second)

	_, third := rotate(made.ID, time.Hour)
	_, fourth := rotate("x", time.Hour)
	works("the key before the former one", false, second)
	works("the former key", true, third)
	works("the new key", true, fourth)

	tok, fifth := rotate("x", 0)
	if !tok.FormerUntil.IsZero() {
		t.Errorf("without grace a former key works until %v", tok.FormerUntil)
	}
	works("a former key without grace", false, fourth)

	f.clock.Add(9*3600 + 1800)
	if tok, _ := rotate("x", 30*24*time.Hour); !tok.FormerUntil.Equal(
		time.Unix(f.clock.Load(), 0).Add(30 * time.Minute)) {
		t.Errorf("a former key works until %v, beyond its own end", tok.FormerUntil)
	}
	f.clock.Add(1800)
	works("a former key that expired", false, fifth)

	_, key := rotate("x", time.Hour)
	if _, err := f.tokens.Revoke(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	works("a revoked token", false, key)
	if _, _, err := f.tokens.Rotate(t.Context(), "x", 0); !errors.Is(err, auth.ErrNoToken) {
		t.Errorf("rotate what is not there: %v", err)
	}
	if _, _, err := f.tokens.Rotate(t.Context(), "x", -1); err == nil {
		t.Error("a negative grace")
	}
}

// TestTokenCheckHardlyAllocates limits the allocations of the token check that each request makes.
func TestTokenCheckHardlyAllocates(t *testing.T) {
	f := newFixture(t)
	_, key := f.create(auth.Declaration{Name: "x", Kind: auth.FullAccess})
	a := &auth.Authenticator{Roles: auth.CompileRoles(nil, nil, auth.RuleReader{Drafts: auth.GrantedDrafts}), Tokens: f.tokens}
	r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + key}}}
	a.Authenticate(r)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := a.Authenticate(r); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRoles(t *testing.T) {
	roles := auth.CompileRoles(
		map[string][]string{"public": {"api::article.article.find"}, "editor": {"api::article.article.update"}},
		nil, auth.RuleReader{Drafts: auth.GrantedDrafts})
	for role, want := range map[string]string{"public": "true false", "editor": "false true", "nobody": "false false"} {
		a := roles.Access(role)
		if got := fmt.Sprint(a.AllowsAction("api::article.article.find"), " ",
			a.AllowsAction("api::article.article.update")); got != want {
			t.Errorf("%s: %s, want %s", role, got, want)
		}
	}
}

// TestFileHasTheLastWord makes a token by the name of a declared one with fewer permissions: it would get those of the
// file, so who may not grant these is refused.
func TestFileHasTheLastWord(t *testing.T) {
	f := newFixture(t, auth.Declaration{Name: "all", Kind: auth.FullAccess})
	by := permission.NewAccess([]string{"api::article.article.find"})
	_, _, err := f.tokens.CreateAs(t.Context(), by,
		auth.Declaration{Name: "all", Kind: auth.Custom, Permissions: []string{"api::article.article.find"}})
	if !errors.Is(err, auth.ErrBeyond) {
		t.Error(err)
	}
}
