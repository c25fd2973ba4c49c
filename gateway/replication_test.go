package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
	"lectern/store"
)

// TestFollowPermissionAllowsNothingElse follows a server with a token that may do only that, and expects the server to
// refuse the token everything else.
func TestFollowPermissionAllowsNothingElse(t *testing.T) {
	e := newEditing(t)
	if status, answer := send(t, http.MethodPost, e.base+"/api/notes", e.key,
		`{"data":{"title":"one","rank":1}}`); status != 201 {
		t.Fatal(status, answer)
	}
	_, follows, err := e.project.CreateToken(
		t.Context(), auth.Declaration{Name: "edge", Kind: auth.Custom, Permissions: []string{auth.FollowAction}})
	e.must(err)
	_, reads, err := e.project.CreateToken(
		t.Context(), auth.Declaration{Name: "reader", Kind: auth.Custom, Permissions: []string{"api::note.note.find"}})
	e.must(err)
	r := follow(t, t.TempDir(), e.base, follows)
	r.equals(e.base, e.key, "/api/notes?status=draft")
	for _, base := range []string{e.base, r.base} {
		for path, want := range map[string]int{
			"/api/notes": 403, "/api/notes/x": 403, "/api/_changes": 403, "/api/upload/files": 403,
			"/api/users-permissions/roles": 403, "/api/users": 403,
			"/api/i18n/locales": 403, "/api/_schedules": 403, "/api/_replica/position": 200, "/api/_replica/files": 200,
		} {
			if status, answer := get(t, base+path, follows); status != want {
				t.Errorf("GET %s: %d %.100s, want %d", path, status, answer, want)
			}
		}
		if _, answer := send(t, http.MethodPost, base+"/graphql", follows,
			`{"query":"{notes{rank}}"}`); !strings.Contains(answer, "FORBIDDEN") {
			t.Errorf("GraphQL: %s", answer)
		}
		if status, answer := get(t, base+"/api/_replica/position", reads); status != 403 {
			t.Errorf("a token that may not follow: %d %.100s", status, answer)
		}
	}
	if status, answer := send(t, http.MethodPost, e.base+"/api/notes", follows,
		`{"data":{"title":"two"}}`); status != 403 {
		t.Errorf("a write: %d %.100s", status, answer)
	}
}

// TestReplicasGetNoSecrets serves files that contain secrets. Replicas get neither them nor the content until the
// secrets are in the environment.
func TestReplicasGetNoSecrets(t *testing.T) {
	const secret = "a-secret-of-thirty-two-characters"
	plugins := map[string]string{
		"jwtSecret":                       "users-permissions: {config: {jwtSecret: %s}}\n",
		"the password of the mail server": "users-permissions: {config: {email: {from: cms@example.org, smtp: {host: mail.example.org, username: cms, password: %s}}}}\n",
		"the secret of images":            "upload: {config: {images: {secret: %s}}}\n",
		"the secret key of the bucket":    "upload: {config: {provider: s3, providerOptions: {endpoint: 'http://127.0.0.1:9', bucket: files, region: eu, accessKey: key, secretKey: %s}}}\n",
	}
	for name, text := range plugins {
		t.Run(name, func(t *testing.T) {
			for _, literal := range []bool{true, false} {
				e := &editing{T: t, dir: t.TempDir()}
				e.write("content-types/note.yaml", noteFile())
				value := "\"${MARKED}\""
				if literal {
					value = secret
				}
				e.write(".env", "MARKED="+secret+"\n")
				e.write("config/plugins.yaml", fmt.Sprintf(text, value))
				e.serve(nil)
				for _, path := range []string{"copy", "definitions"} {
					status, answer := get(t, e.base+"/api/_replica/"+path, e.key)
					refused := status == http.StatusConflict &&
						strings.Contains(answer, "config/plugins.yaml contains "+name)
					if refused != literal || strings.Contains(answer, secret) {
						t.Errorf("GET %s, with the secret in the file: %v: %d %.300q", path, literal, status, answer)
					}
				}
				e.close()
			}
		})
	}
}

// TestDamagedOriginIsNotCopied follows a server with a changed byte in its file, which its own reads have met before it
// was changed. No replica may serve a copy of it.
func TestDamagedOriginIsNotCopied(t *testing.T) {
	e := newEditing(t)
	for range 100 { // so many that they have pages of their own
		if status, answer := send(t, http.MethodPost, e.base+"/api/notes", e.key,
			`{"data":{"title":"written before the damage"}}`); status != 201 {
			t.Fatal(status, answer)
		}
	}
	_, want := get(t, e.base+"/api/notes?status=draft", e.key)
	path := filepath.Join(e.dir, "data", "content.db")
	content, err := os.ReadFile(path)
	e.must(err)
	damaged := bytes.ReplaceAll(content, []byte("before the damage"), []byte("before the demage"))
	if bytes.Equal(damaged, content) {
		t.Fatal("the title is not in the file")
	}
	write := func(content []byte) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		e.must(err)
		_, err = f.Write(content)
		e.must(errors.Join(err, f.Close()))
	}
	for name, part := range map[string]store.Part{"all": {}, "a part": {Types: []string{"api::note.note"}}} {
		t.Run(name, func(t *testing.T) {
			get(t, e.base+"/api/notes?status=draft", e.key)
			write(damaged)
			o := gateway.Options{Addr: "127.0.0.1:0", Follow: &gateway.Follow{URL: e.base, Token: e.key, Part: part}}
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			log := logTrigger{text: "the origin cannot be copied yet", found: cancel}
			o.LogTo = &log
			if err := gateway.Serve(ctx, dir, o); !errors.Is(err, context.Canceled) {
				t.Errorf("%v; %s", err, log.String())
			}
			if part.All() && !strings.Contains(log.String(), "its checksum does not match") {
				t.Errorf("the replica does not say why: %s", log.String())
			}
			write(content)
			e.must(e.project.Store().Check())
			follow(t, t.TempDir(), e.base, e.key).equals(e.base, e.key, "/api/notes?status=draft")
		})
	}
	if _, got := get(t, e.base+"/api/notes?status=draft", e.key); got != want {
		t.Errorf("in the end: %s", got)
	}
}
