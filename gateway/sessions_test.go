package gateway_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

const sessionPlugins = `users-permissions:
  config:
    jwtSecret: ${SECRET_OF_BOTH}
    ratelimit: {enabled: false}
    jwtManagement: refresh
`

// TestSessionsOverReplica logs in, refreshes and logs out at a replica that forwards writes. The sessions are those of
// the origin, and the JWTs work at both servers, which have one secret.
func TestSessionsOverReplica(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	e := &editing{T: t, dir: t.TempDir()}
	e.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	e.write("config/plugins.yaml", sessionPlugins)
	e.serve(nil)
	t.Setenv("KEY_OF_ORIGIN", e.key)
	dir := t.TempDir()
	settings := filepath.Join(dir, "config", "server.yaml")
	e.must(os.MkdirAll(filepath.Dir(settings), 0o700))
	e.must(os.WriteFile(settings, []byte("replica: {url: "+e.base+", token: '${KEY_OF_ORIGIN}', writes: forward}\n"),
		0o600))
	r := serveReplica(t, dir, gateway.Options{})
	send := func(method, path, key, body string, status int, headers ...string) (a sessionAnswer, res *http.Response) {
		t.Helper()
		res, text := r.writing(method, path, key, "application/json", []byte(body), headers...)
		if res.StatusCode != status {
			t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
		}
		if status == 200 {
			e.must(json.Unmarshal([]byte(text), &a))
		}
		return a, res
	}
	send("POST", "/api/auth/local/register", "", `{"username":"ann","email":"ann@people.test","password":"secret1"}`, 200)
	first, res := send("POST", "/api/auth/local", "",
		`{"identifier":"ann","password":"secret1","deviceId":"phone"}`, 200, "X-Strapi-Refresh-Cookie", "httpOnly")
	if got := res.Header.Get("Lectern-Forwarded"); got != "applied" {
		t.Errorf("Lectern-Forwarded of the login is %q", got)
	}
	if len(res.Cookies()) != 1 || first.RefreshToken != "" {
		t.Fatalf("cookies %v, refresh token %q", res.Cookies(), first.RefreshToken)
	}
	send("GET", "/api/users/me", first.JWT, "", 200)
	second, res := send("POST", "/api/auth/refresh", "", "", 200, "Cookie", res.Cookies()[0].String())
	list, _ := send("GET", "/api/auth/sessions", second.JWT, "", 200)
	if len(list.Data) != 2 || list.Data[0].Device != "phone" || !list.Data[0].Current {
		t.Errorf("sessions at the replica: %+v", list.Data)
	}
	send("POST", "/api/auth/logout", second.JWT, "", 200)
	r.base = e.base
	send("POST", "/api/auth/refresh", "", "", 401, "Cookie", res.Cookies()[0].String())
	send("GET", "/api/users/me", second.JWT, "", 200)
}

// sessionAnswer is what routes of sessions answer.
type sessionAnswer struct {
	JWT          string `json:"jwt"`
	RefreshToken string `json:"refreshToken"`
	Data         []struct {
		Device  string `json:"deviceId"`
		Current bool   `json:"current"`
	} `json:"data"`
}

// TestRefreshThatNobodyMayIsLogged starts a server with sessions on a store whose public may not refresh them, and on a
// fresh one, whose public may.
func TestRefreshThatNobodyMayIsLogged(t *testing.T) {
	t.Setenv("SECRET_OF_BOTH", testSecret)
	const warning = "the public may not refresh them"
	fresh := &editing{T: t, dir: t.TempDir()}
	fresh.write("content-types/note.yaml", noteFile("rank: {type: integer}"))
	fresh.write("config/plugins.yaml", sessionPlugins)
	fresh.serve(nil)
	if strings.Contains(fresh.log(), warning) {
		t.Error("the log of a fresh store warns")
	}
	r := &replica{T: t, base: fresh.base}
	res, text := r.writing("PUT", "/api/users-permissions/roles/2", fresh.key, "application/json",
		[]byte(`{"name":"Public"}`))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("take away what the public may: %d %s", res.StatusCode, text)
	}
	fresh.close()
	var log servertest.LogBuffer
	_, stop := openProject(t, fresh.dir, gateway.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	stop()
	if !strings.Contains(log.String(), warning) {
		t.Errorf("the log says %s", log.String())
	}
}
