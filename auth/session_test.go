package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

const (
	accessLife  = 10 * time.Minute
	idleLife    = time.Hour
	sessionLife = 3 * time.Hour
)

// sessions are the users of a fixture that has sessions.
type sessions struct {
	*auth.Users
	*fixture
}

func newSessions(t testing.TB) sessions {
	t.Helper()
	f := newFixture(t)
	o := f.userOptions(nil)
	o.Settings.Sessions = auth.SessionSettings{On: true, Access: accessLife, Idle: idleLife, Max: sessionLife}
	u, err := auth.OpenUsers(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return sessions{u, f}
}

// register creates a user, whose name is their password as well, and returns their id and first credentials.
func (s sessions) register(name string) (id uint64, c auth.Credentials) {
	s.t.Helper()
	c, err := s.Register(context.Background(), jsontree.ObjectOf("username", name, "email", name+"@people.test",
		"password", name+name), func(_ *store.Snapshot, r store.Record) error { id = r.ID(); return nil })
	if err != nil {
		s.t.Fatal(err)
	}
	return id, c
}

func (s sessions) login(name, device string) auth.Credentials {
	s.t.Helper()
	c, err := s.Login(context.Background(), jsontree.ObjectOf("identifier", name, "password", name+name,
		"deviceId", device), func(*store.Snapshot, store.Record) error { return nil })
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// user returns the user of a JWT; status is 0 if it works.
func (s sessions) user(jwt string) (who auth.User, status int) {
	a := &auth.Authenticator{Users: s.Users, Tokens: s.tokens}
	p, err := a.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + jwt}}})
	return p.User, statusOf(s.t, err)
}

// refresh returns the next credentials; status is 0 if the refresh token works.
func (s sessions) refresh(token string) (c auth.Credentials, status int) {
	c, err := s.Refresh(context.Background(), token)
	return c, statusOf(s.t, err)
}

func statusOf(t testing.TB, err error) int {
	t.Helper()
	var refusal *apierror.Error
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &refusal):
		t.Error(err)
		return 500
	}
	return refusal.Status
}

func (s sessions) pass(d time.Duration) { s.clock.Add(int64(d / time.Second)) }

// stored returns how many sessions the store has.
func (s sessions) stored() (n int) {
	s.t.Helper()
	n, err := s.docs.Query(contenttypes.SessionUID).Count(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestTokensExpire lets time pass: a JWT works for as long as the settings say, a refresh token as well, and a session
// cannot be refreshed for longer than the settings say.
func TestTokensExpire(t *testing.T) {
	s := newSessions(t)
	_, c := s.register("ann")
	s.pass(accessLife - time.Second)
	if _, status := s.user(c.JWT); status != 0 {
		t.Errorf("a JWT that has not expired is answered %d", status)
	}
	s.pass(time.Second)
	if _, status := s.user(c.JWT); status != 401 {
		t.Errorf("an expired JWT is answered %d", status)
	}
	c, status := s.refresh(c.Refresh)
	if status != 0 {
		t.Fatalf("the refresh is answered %d", status)
	}
	idle := c.Refresh
	s.pass(idleLife)
	if _, status := s.refresh(idle); status != 401 {
		t.Errorf("a refresh token that was idle for too long is answered %d", status)
	}
	c = s.login("ann", "")
	for passed := time.Duration(0); passed+idleLife/2 < sessionLife; passed += idleLife / 2 {
		s.pass(idleLife / 2)
		if c, status = s.refresh(c.Refresh); status != 0 {
			t.Fatalf("after %s the refresh is answered %d", passed+idleLife/2, status)
		}
	}
	s.pass(idleLife / 2)
	if _, status := s.refresh(c.Refresh); status != 401 {
		t.Errorf("a session that lasts too long is answered %d", status)
	}
}

// TestRefreshTokenWorksOnce refreshes a session by many requests at the same time: one of them succeeds.
func TestRefreshTokenWorksOnce(t *testing.T) {
	s := newSessions(t)
	_, c := s.register("ann")
	var mu sync.Mutex
	var wg sync.WaitGroup
	count := map[int]int{}
	var next auth.Credentials
	for range 8 {
		wg.Go(func() {
			got, status := s.refresh(c.Refresh)
			mu.Lock()
			defer mu.Unlock()
			count[status]++
			if status == 0 {
				next = got
			}
		})
	}
	wg.Wait()
	if count[0] != 1 || count[401] != 7 {
		t.Errorf("statuses of the requests: %v", count)
	}
	if _, status := s.refresh(next.Refresh); status != 0 {
		t.Errorf("the next refresh is answered %d", status)
	}
}

// TestReusedTokenEndsSession refreshes a session with a token that was used already. Soon after its use nothing
// happens, since clients repeat requests; later it shows that somebody has a copy, and the session ends.
func TestReusedTokenEndsSession(t *testing.T) {
	s := newSessions(t)
	s.register("ann")
	stolen, other := s.login("ann", "phone"), s.login("ann", "")
	next, _ := s.refresh(stolen.Refresh)
	for _, step := range []struct {
		name   string
		pass   time.Duration
		token  *auth.Credentials
		status int
	}{
		{"the token again", time.Minute, &stolen, 401},
		{"the next token", 0, &next, 0},
		{"the token before the next one", time.Minute, &stolen, 401},
		{"the newest token", 0, &next, 0},
		{"the first token after a while", time.Minute + time.Second, &stolen, 401},
		{"the newest token of the session", 0, &next, 401},
		{"another session", 0, &other, 0},
	} {
		s.pass(step.pass)
		c, status := s.refresh(step.token.Refresh)
		if status != step.status {
			t.Errorf("%s is answered %d, want %d", step.name, status, step.status)
		}
		if status == 0 {
			*step.token = c
		}
	}
}

// TestSessionsEndWithAccount ends all that a user has when their account changes, whoever changes it.
func TestSessionsEndWithAccount(t *testing.T) {
	ctx := context.Background()
	show := func(*store.Snapshot, store.Record) error { return nil }
	for _, c := range []struct {
		name   string
		change func(s sessions, id uint64) error
		left   int // sessions in the store
	}{
		{"the user changes the password", func(s sessions, id uint64) error {
			_, err := s.ChangePassword(ctx, id, jsontree.ObjectOf("currentPassword", "annann", "password", "another",
				"passwordConfirmation", "another"), show)
			return err
		}, 1},
		{"another sets the password", func(s sessions, id uint64) error {
			return s.Update(ctx, nil, id, jsontree.ObjectOf("password", "another"), show, permission.FullAccess)
		}, 0},
		{"another blocks the user", func(s sessions, id uint64) error {
			return s.Update(ctx, nil, id, jsontree.ObjectOf("blocked", true), show, permission.FullAccess)
		}, 0},
		{"the user was blocked for a while", func(s sessions, id uint64) error {
			if err := s.Update(ctx, nil, id, jsontree.ObjectOf("blocked", "true"), show, permission.FullAccess); err != nil {
				return err
			}
			return s.Update(ctx, nil, id, jsontree.ObjectOf("blocked", false), show, permission.FullAccess)
		}, 0},
		{"another deletes the user", func(s sessions, id uint64) error { return s.Delete(ctx, nil, id, show, nil) }, 0},
		{"a program sets the password", func(s sessions, id uint64) error { return s.write(id, "password", "another") },
			2},
		{"a program blocks the user", func(s sessions, id uint64) error { return s.write(id, "blocked", true) }, 2},
		{"a program deletes the user", func(s sessions, id uint64) error {
			return s.docs.Delete(ctx, documents.Write{Type: s.Type(), DocumentID: s.documentID(id),
				Access: permission.FullAccess})
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSessions(t)
			id, first := s.register("ann")
			second := s.login("ann", "phone")
			if err := c.change(s, id); err != nil {
				t.Fatal(err)
			}
			for name, token := range map[string]string{"first": first.Refresh, "second": second.Refresh} {
				if _, status := s.refresh(token); status != 401 {
					t.Errorf("the %s session is answered %d", name, status)
				}
			}
			if n := s.stored(); n != c.left {
				t.Errorf("the store has %d sessions, want %d", n, c.left)
			}
		})
	}
}

func (s sessions) documentID(id uint64) (documentID string) {
	_ = s.store.View(func(snap *store.Snapshot) error {
		documentID = s.Row(snap, id).DocumentID()
		return nil
	})
	return documentID
}

// write changes an attribute of a user as programs can, without asking Users.
func (s sessions) write(id uint64, attribute string, value any) error {
	return s.docs.Update(context.Background(), documents.Write{Type: s.Type(), DocumentID: s.documentID(id),
		Access: permission.FullAccess, Data: jsontree.ObjectOf(attribute, value)})
}

// TestLoginWhileAccountChanges changes a user after their password was compared: the login begins no session.
func TestLoginWhileAccountChanges(t *testing.T) {
	ctx := context.Background()
	show := func(*store.Snapshot, store.Record) error { return nil }
	for name, change := range map[string]func(s sessions, id uint64) error{
		"password": func(s sessions, id uint64) error {
			return s.Update(ctx, nil, id, jsontree.ObjectOf("password", "another"), show, permission.FullAccess)
		},
		"block": func(s sessions, id uint64) error {
			return s.Update(ctx, nil, id, jsontree.ObjectOf("blocked", true), show, permission.FullAccess)
		},
		"delete": func(s sessions, id uint64) error { return s.Delete(ctx, nil, id, show, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions(t)
			id, _ := s.register("ann")
			c, err := s.Login(ctx, jsontree.ObjectOf("identifier", "ann", "password", "annann"),
				func(*store.Snapshot, store.Record) error { return change(s, id) })
			if status := statusOf(t, err); status != 401 || c != (auth.Credentials{}) {
				t.Errorf("the login is answered %d with %v", status, c)
			}
			if n := s.stored(); n != 0 {
				t.Errorf("the store has %d sessions", n)
			}
		})
	}
}

// TestSessionsAreBounded begins more sessions than a user can have. The oldest end; those of others do not.
func TestSessionsAreBounded(t *testing.T) {
	const bound = 100
	s := newSessions(t)
	_, other := s.register("bob")
	_, first := s.register("ann")
	s.pass(time.Second)
	second := s.login("ann", "")
	for range bound - 1 {
		s.pass(time.Second)
		s.login("ann", "")
	}
	if n := s.stored(); n != bound+1 {
		t.Errorf("the store has %d sessions, want %d", n, bound+1)
	}
	for _, c := range []struct {
		name   string
		token  string
		status int
	}{{"the first", first.Refresh, 401}, {"the second", second.Refresh, 0}, {"another user's", other.Refresh, 0}} {
		if _, status := s.refresh(c.token); status != c.status {
			t.Errorf("%s session is answered %d, want %d", c.name, status, c.status)
		}
	}
}

// TestExpiredSessionsAreSwept lets the sessions of many users expire. Each login removes more of them than it adds.
func TestExpiredSessionsAreSwept(t *testing.T) {
	s := newSessions(t)
	for i := range 10 {
		s.register(fmt.Sprint("user", i))
	}
	s.pass(sessionLife)
	for i, want := range []int{10 - 1 - 4 + 1, 1 + 2, 3, 4} {
		s.login("user0", "")
		if n := s.stored(); n != want {
			t.Errorf("after %d logins the store has %d sessions, want %d", i+1, n, want)
		}
	}
}

// TestStoreHasNoRefreshTokens looks for refresh tokens in the bytes of the store.
func TestStoreHasNoRefreshTokens(t *testing.T) {
	s := newSessions(t)
	_, c := s.register("ann")
	next, _ := s.refresh(c.Refresh)
	file := filepath.Join(t.TempDir(), "copy.db")
	err := s.store.View(func(snap *store.Snapshot) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		_, err = snap.CopyTo(f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{c.Refresh, next.Refresh, next.JWT} {
		signature := token[strings.LastIndexByte(token, '.')+1:]
		if strings.Contains(string(text), signature) {
			t.Error("the store has a token")
		}
	}
}

// TestKindsOfTokens sends each kind of token where another is expected, and JWTs of a server without sessions.
func TestKindsOfTokens(t *testing.T) {
	s := newSessions(t)
	_, c := s.register("ann")
	without := s.fixture.users(nil)
	lasting, err := without.Login(context.Background(), jsontree.ObjectOf("identifier", "ann", "password", "annann"),
		func(*store.Snapshot, store.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if lasting.Refresh != "" {
		t.Error("a login without sessions gives a refresh token")
	}
	for name, jwt := range map[string]string{"a refresh token": c.Refresh, "a JWT without a session": lasting.JWT} {
		if _, status := s.user(jwt); status != 401 {
			t.Errorf("%s as JWT is answered %d", name, status)
		}
	}
	for name, token := range map[string]string{"a JWT": c.JWT, "a JWT without a session": lasting.JWT} {
		if _, status := s.refresh(token); status != 401 {
			t.Errorf("%s as refresh token is answered %d", name, status)
		}
	}
	a := &auth.Authenticator{Users: without, Tokens: s.tokens}
	for name, jwt := range map[string]string{"a JWT of a session": c.JWT, "a refresh token": c.Refresh} {
		_, err := a.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + jwt}}})
		if status := statusOf(t, err); status != 401 {
			t.Errorf("%s without sessions is answered %d", name, status)
		}
	}
	if _, err := without.Refresh(context.Background(), c.Refresh); statusOf(t, err) != 404 {
		t.Errorf("a refresh without sessions: %v", err)
	}
}

// FuzzRefresh sends changed refresh tokens: none works but the one that was issued.
func FuzzRefresh(f *testing.F) {
	s := newSessions(f)
	_, c := s.register("ann")
	for _, token := range []string{"", ".", "..", c.JWT, c.Refresh + ".", "." + c.Refresh, strings.ToUpper(c.Refresh),
		c.Refresh[:len(c.Refresh)-1], "{}", `{"signatures":[]}`, strings.Repeat("a", 5000),
		strings.Replace(c.Refresh, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJhbGciOiJub25lIn0", 1)} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if token == c.Refresh {
			return
		}
		want := 401
		if token == "" {
			want = 400
		}
		_, err := s.Refresh(context.Background(), token)
		if status := statusOf(t, err); status != want {
			t.Errorf("%q is answered %d, want %d", token, status, want)
		}
	})
}
