package providers_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"lectern/auth/providers"
	"lectern/documents/apierror"
)

func TestBeginIsBusy(t *testing.T) {
	h := start(t, nil)
	const most = 16
	release := make(chan struct{})
	h.fake.Answer = func(http.ResponseWriter, *http.Request) bool {
		<-release
		return false
	}
	done := make(chan error, most+1)
	for range most + 1 {
		go func() {
			_, _, err := h.p.Begin(t.Context(), redirectURI, "", "")
			done <- err
		}()
	}
	var answer *apierror.Error
	if err := <-done; !errors.As(err, &answer) || answer.Status != 503 || !strings.HasPrefix(answer.Message, "too many logins") {
		t.Errorf("the first that is answered: %v", err)
	}
	close(release)
	for range most {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestRotatedKeys(t *testing.T) {
	h := start(t, nil)
	for range 2 {
		if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
			t.Fatal(got)
		}
		h.fake.Rotate()
	}
	if n := h.fake.Calls("/keys"); n != 2 {
		t.Errorf("the keys were read %d times, want 2", n)
	}
	for range 20 {
		h.fake.Rotate()
		h.finish(providers.Trade{Code: h.login()})
	}
	if n := h.fake.Calls("/keys"); n != 5 {
		t.Errorf("the keys were read %d times, want 5", n)
	}
	h.now = h.now.Add(10 * time.Second)
	if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
		t.Error(got)
	}
}

func TestSecretAmongParameters(t *testing.T) {
	for _, methods := range [][]string{{"client_secret_post"}, {"client_secret_basic", "client_secret_post"}} {
		h := start(t, nil)
		h.fake.Methods = methods
		for range 2 {
			if got := h.finish(providers.Trade{Code: h.login()}); got != "Ann@people.test" {
				t.Errorf("%v: %s\n%s", methods, got, &h.log)
			}
		}
		if n := h.fake.Calls("/token"); n != 1+len(methods) {
			t.Errorf("%v: %d requests for two tokens", methods, n)
		}
	}
}

func TestProviderFails(t *testing.T) {
	const down, wrong = "503 idp cannot be reached; try again later, or log in another way",
		"502 idp gives an answer that cannot be used; try again later, or log in another way"
	fails := func(path string, status int, body string) func(*harness) {
		return func(h *harness) {
			h.fake.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != path {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
				return true
			}
		}
	}
	for _, c := range []struct {
		name string
		fail func(*harness)
		want string
	}{
		{"is down", func(h *harness) { h.fake.Close() }, down},
		{"token: 500", fails("/token", 500, "{}"), wrong},
		{"token: no JSON", fails("/token", 200, "<html>"), wrong},
		{"token: without end", fails("/token", 200, `{"access_token":"`+strings.Repeat("x", 3<<20)), wrong},
		{"token: another place", fails("/token", 307, ""), wrong},
		{"token: a client that is not known", fails("/token", 401, `{"error":"invalid_client"}`), wrong},
		{"token: no id_token", fails("/token", 200, `{"access_token":"x"}`), "400 the id_token of idp is not valid for this login"},
		{"keys: 500", fails("/keys", 500, ""), wrong},
		{"keys: without end", fails("/keys", 200, `{"keys":[`+strings.Repeat("{},", 1<<20)), wrong},
		{"userinfo: long", func(h *harness) {
			h.fake.Claims["email"] = nil
			fails("/userinfo", 200, strings.Repeat(" ", 2<<20)+
				`{"sub":"1","email":"ann@people.test","email_verified":true}`)(h)
		}, wrong},
		{"userinfo: 500", func(h *harness) {
			h.fake.Claims["email"] = nil
			fails("/userinfo", 500, "")(h)
		}, wrong},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, nil)
			trade := providers.Trade{Code: h.login()}
			c.fail(h)
			if got := h.finish(trade); got != c.want {
				t.Errorf("got %s, want %s\n%s", got, c.want, &h.log)
			}
			if h.fake.Calls("/elsewhere") > 0 {
				t.Error("the server follows a redirect")
			}
		})
	}
}

func TestDiscoveryFails(t *testing.T) {
	h := start(t, nil)
	broken := true
	h.fake.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if broken {
			w.WriteHeader(500)
		}
		return broken
	}
	begin := func() string {
		_, _, err := h.p.Begin(t.Context(), redirectURI, "", "")
		if err == nil {
			return "done"
		}
		var answer *apierror.Error
		errors.As(err, &answer)
		return fmt.Sprint(answer.Status)
	}
	for range 3 {
		if got := begin(); got != "502" {
			t.Error(got)
		}
	}
	if n := h.fake.Calls("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times", n)
	}
	broken = false
	h.now = h.now.Add(5 * time.Second)
	if got := begin(); got != "done" {
		t.Errorf("after the failure: %s", got)
	}
	broken = true
	h.now = h.now.Add(2 * time.Hour)
	before := h.fake.Calls("/.well-known/openid-configuration")
	for range 3 {
		if got := begin(); got != "done" {
			t.Errorf("what was found before is of use while the provider fails: %s", got)
		}
	}
	if n := h.fake.Calls("/.well-known/openid-configuration") - before; n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestBusy(t *testing.T) {
	h := start(t, nil)
	const most = 16
	codes := make([]string, most+1)
	for i := range codes {
		codes[i] = h.login()
	}
	arrived, release := make(chan struct{}, most), make(chan struct{})
	h.fake.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			arrived <- struct{}{}
			<-release
		}
		return false
	}
	done := make(chan string, most)
	for _, code := range codes[:most] {
		go func() {
			_, err := h.p.Finish(t.Context(), providers.Trade{Code: code})
			done <- fmt.Sprint(err)
		}()
	}
	for range most {
		<-arrived
	}
	if got := h.finish(providers.Trade{Code: codes[most]}); got != "503 too many logins by idp are at work; try again, or log in another way" {
		t.Error(got)
	}
	close(release)
	for range most {
		if got := <-done; got != "<nil>" {
			t.Error(got)
		}
	}
}
