package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// users opens the users of a fixture and closes them when the test ends.
func (f *fixture) users(granted map[string][]string) *auth.Users {
	f.t.Helper()
	u, err := auth.OpenUsers(context.Background(), f.userOptions(granted))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(u.Close)
	return u
}

func (f *fixture) userOptions(granted map[string][]string) auth.UserOptions {
	return auth.UserOptions{
		Store: f.store, Documents: f.docs, Model: f.model, Granted: granted, Secret: []byte("a secret of the tests"),
		Log: slog.New(slog.DiscardHandler),
		Settings: auth.UserSettings{Lifespan: time.Hour, AllowRegister: true, UniqueEmail: true,
			DefaultRole: auth.AuthenticatedRole},
		Now: func() time.Time { return time.Unix(f.clock.Load(), 0) },
	}
}

// register creates a user and returns a request with their JWT.
func register(t testing.TB, u *auth.Users, name string) (*http.Request, uint64) {
	t.Helper()
	var id uint64
	c, err := u.Register(context.Background(), jsontree.ObjectOf("username", name, "email", name+"@people.test",
		"password", "secret"),
		func(_ *store.Snapshot, r store.Record) error { id = r.ID(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + c.JWT}}}, id
}

// TestRolesAreNoticed changes permissions in the store without calling Users. The next request has the changed
// permissions.
func TestRolesAreNoticed(t *testing.T) {
	f := newFixture(t)
	u := f.users(map[string][]string{"authenticated": {"api::article.article.find"}})
	a := &auth.Authenticator{Users: u, Tokens: f.tokens}
	r, _ := register(t, u, "ann")
	may := func(permission string) bool {
		t.Helper()
		who, err := a.Authenticate(r)
		if err != nil {
			t.Fatal(err)
		}
		return who.Access.AllowsAction(permission)
	}
	if !may("api::article.article.find") || may("api::article.article.create") ||
		!may("plugin::users-permissions.user.me") {
		t.Error("not what was granted")
	}
	permissions := f.model.Type("plugin::users-permissions.permission")
	w := documents.Write{Type: permissions, Access: permission.FullAccess, DocumentID: "aaaaaaaaaaaaaaaaaaaaaaaa",
		Data: jsontree.ObjectOf("action", "api::article.article.create", "role", jsontree.Number("1"))}
	if err := f.docs.Create(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	if !may("api::article.article.create") {
		t.Error("a new permission was not noticed")
	}
	if err := f.docs.Delete(context.Background(), w); err != nil {
		t.Fatal(err)
	}
	if may("api::article.article.create") {
		t.Error("a permission that was taken away was not noticed")
	}
	f.clock.Add(3600)
	if _, err := a.Authenticate(r); err == nil {
		t.Error("a JWT is taken at the moment it expires")
	}
}

// blockWrites makes all writers wait until release is called. release may be called more than once.
func (f *fixture) blockWrites() (release func()) {
	f.t.Helper()
	held, let, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	began := sync.OnceFunc(func() { close(held) })
	go func() {
		done <- f.store.Write(context.Background(), func(*store.Tx) error {
			began()
			<-let
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(let)
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	})
}

// TestRegisterAtOnce registers the same name and address many times at once. Exactly one request succeeds, though none
// of them saw the name taken at first.
func TestRegisterAtOnce(t *testing.T) {
	f := newFixture(t)
	u := f.users(nil)
	release := f.blockWrites()
	var wg sync.WaitGroup
	var mutex sync.Mutex
	var taken []string
	for i := range 8 {
		wg.Go(func() {
			name, email := "ann", fmt.Sprintf("ann%d@people.test", i)
			if i%2 == 1 {
				name, email = fmt.Sprint("bob", i), "bob@people.test"
			}
			_, err := u.Register(context.Background(), jsontree.ObjectOf("username", name, "email", email, "password",
				"secret"),
				func(*store.Snapshot, store.Record) error { return nil })
			var told *apierror.Error
			switch {
			case err == nil:
				mutex.Lock()
				defer mutex.Unlock()
				taken = append(taken, name[:3])
			case !errors.As(err, &told) || told.Message != "Email or Username are already taken":
				t.Error(err)
			}
		})
	}
	for range 32 { // this takes long enough for all of them to reach the store
		if _, err := f.docs.Passwords.Hash(context.Background(), "secret"); err != nil {
			t.Fatal(err)
		}
	}
	release()
	wg.Wait()
	if slices.Sort(taken); fmt.Sprint(taken) != "[ann bob]" {
		t.Errorf("%v were made", taken)
	}
}

// TestForgotDoesNotWait requests a code while writes are blocked. The answer does not wait for the write, which would
// reveal that the address is known.
func TestForgotDoesNotWait(t *testing.T) {
	f := newFixture(t)
	u := f.users(nil)
	register(t, u, "ann")
	release := f.blockWrites()
	defer release()
	answered := make(chan error, 1)
	go func() { answered <- u.ForgotPassword(jsontree.ObjectOf("email", "ann@people.test")) }()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the answer waits for the store")
		release()
		<-answered
	}
}

// TestMailIsSentAfterDefinitionsChange requests a code after the definitions have changed. The Users that replace the
// former ones send it.
func TestMailIsSentAfterDefinitionsChange(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	open := func(former *auth.Users) *auth.Users {
		t.Helper()
		o := f.userOptions(nil)
		o.MailDir, o.Former = dir, former
		o.Settings.Mail = auth.MailSettings{From: "tests@people.test",
			Reset: auth.MailTemplate{Subject: "x", Message: "=<%= TOKEN %>="}}
		u, err := auth.OpenUsers(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := open(nil)
	r, _ := register(t, u, "ann")
	next, err := f.store.Redefine(t.Context(), f.model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.store, f.docs = next, serviceOf(next, f.model)
	if err := u.ForgotPassword(jsontree.ObjectOf("email", "ann@people.test")); err != nil {
		t.Fatal(err)
	}
	u = open(u)
	if _, err := (&auth.Authenticator{Users: u, Tokens: f.tokens}).Authenticate(r); err != nil {
		t.Errorf("who has logged in: %v", err)
	}
	u.Close()
	if mails, err := os.ReadDir(dir); err != nil || len(mails) != 1 {
		t.Errorf("mails: %v, %v", mails, err)
	}
}

// TestCodesGetOld resets a password with a code within an hour and after it. The store does not contain the code
// itself.
func TestCodesGetOld(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	options := f.userOptions(nil)
	options.MailDir = dir
	options.Settings.Mail = auth.MailSettings{From: "tests@people.test",
		Reset: auth.MailTemplate{Subject: "x", Message: "=<%= TOKEN %>="}}
	open := func() *auth.Users {
		u, err := auth.OpenUsers(context.Background(), options)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	u := open()
	_, id := register(t, u, "ann")
	if err := u.ForgotPassword(jsontree.ObjectOf("email", "ann@people.test")); err != nil {
		t.Fatal(err)
	}
	u.Close() // waits for the mail
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	message, err := os.Open(filepath.Join(dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	defer message.Close()
	parsed, err := mail.ReadMessage(message)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		t.Fatal(err)
	}
	code := strings.Trim(strings.TrimSpace(string(text)), "=")

	u = open()
	defer u.Close()
	var stored string
	err = f.store.View(func(s *store.Snapshot) error {
		stored = strings.Trim(string(u.Row(s, id).JSON(u.Type().Attribute("resetPasswordToken"))), `"`)
		return nil
	})
	if err != nil || !strings.HasPrefix(stored, "sha256:") || strings.Contains(stored, code[10:]) {
		t.Errorf("%s is stored of the code %s: %v", stored, code, err)
	}
	body := jsontree.ObjectOf("code", stored, "password", "another", "passwordConfirmation", "another")
	if _, err := u.ResetPassword(context.Background(), body, nil); err == nil {
		t.Error("what is stored of a code is taken for one")
	}
	reset := func() error {
		_, err := u.ResetPassword(context.Background(),
			jsontree.ObjectOf("code", code, "password", "another", "passwordConfirmation", "another"), nil)
		return err
	}
	f.clock.Add(3601)
	if err := reset(); err == nil || !strings.Contains(err.Error(), "Incorrect code provided") {
		t.Errorf("after more than an hour: %v", err)
	}
	f.clock.Add(-1)
	if err := reset(); err != nil {
		t.Errorf("within the hour: %v", err)
	}
}

// TestClockSteps sets the clock of the server back and forward after a user has logged in. A JWT lives until it
// expires; it stays valid if the clock is earlier than when it was made.
func TestClockSteps(t *testing.T) {
	f := newFixture(t)
	r, _ := register(t, f.users(nil), "ann")
	made := f.clock.Load()
	for _, tt := range []struct {
		name  string
		step  time.Duration
		valid bool
	}{
		{"back a day", -24 * time.Hour, true},
		{"as it was", 0, true},
		{"forward, but not by a lifespan", 59 * time.Minute, true},
		{"forward a year", 365 * 24 * time.Hour, false},
		{"as it was, again", 0, true},
	} {
		f.clock.Store(made + int64(tt.step/time.Second))
		a := &auth.Authenticator{Users: f.users(nil), Tokens: f.tokens} // one that has not seen the JWT
		if _, err := a.Authenticate(r); (err == nil) != tt.valid {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestSameWork logs in as known and unknown users, and resets passwords with wrong codes. Each attempt hashes as much
// as a wrong password of a known user.
func TestSameWork(t *testing.T) {
	f := newFixture(t)
	u := f.users(nil)
	for name, change := range map[string]*jsontree.Object{"known": nil,
		"other": jsontree.ObjectOf("provider", "github"), "blocked": jsontree.ObjectOf("blocked", true)} {
		_, id := register(t, u, name)
		if change == nil {
			continue
		}
		if err := u.Update(context.Background(), nil, id, change,
			func(*store.Snapshot, store.Record) error { return nil }, permission.FullAccess); err != nil {
			t.Fatal(err)
		}
	}
	work := func(try func() error) uint64 {
		before := f.docs.Passwords.Stats().Rounds
		if err := try(); err == nil {
			t.Fatal("let in")
		}
		return f.docs.Passwords.Stats().Rounds - before
	}
	login := func(identifier, password string) func() error {
		return func() error {
			_, err := u.Login(context.Background(), jsontree.ObjectOf("identifier", identifier, "password", password),
				nil)
			return err
		}
	}
	want := work(login("known", "wrong"))
	if want == 0 {
		t.Fatal("a password is compared without work")
	}
	for name, try := range map[string]func() error{
		"nobody": login("nobody", "wrong"), "nobody's address": login("nobody@people.test", "wrong"),
		"no password of his": login("other", "wrong"),
		"blocked":            login("blocked", "wrong"), "too long": login("known", strings.Repeat("x", 100)),
		"a wrong code": func() error {
			_, err := u.ResetPassword(context.Background(),
				jsontree.ObjectOf("code", "x", "password", "another", "passwordConfirmation", "another"), nil)
			return err
		},
	} {
		if did := work(try); did != want {
			t.Errorf("%s: %d rounds of hashing, a wrong password of a known user %d", name, did, want)
		}
	}
}

// TestAuthenticateHardlyAllocates limits the allocations of Authenticate.
func TestAuthenticateHardlyAllocates(t *testing.T) {
	f := newFixture(t)
	u := f.users(nil)
	a := &auth.Authenticator{Users: u, Tokens: f.tokens}
	user, _ := register(t, u, "ann")
	for name, c := range map[string]struct {
		r    *http.Request
		most float64
	}{"public": {&http.Request{}, 0}, "user": {user, 0}} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := a.Authenticate(c.r); err != nil {
				t.Fatal(err)
			}
		}); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
	}
}

func BenchmarkAuthenticateUser(b *testing.B) {
	f := newFixture(b)
	u := f.users(nil)
	a := &auth.Authenticator{Users: u, Tokens: f.tokens}
	r, _ := register(b, u, "ann")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate(r); err != nil {
			b.Fatal(err)
		}
	}
}
