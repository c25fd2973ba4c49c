package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/jsontree"
)

// TestHooksSeeEveryWrite expects hooks to be called for writes over REST, over GraphQL and by the program itself. They
// see the caller of the request.
func TestHooksSeeEveryWrite(t *testing.T) {
	tr := &trace{}
	x := &gateway.Extensions{}
	x.Hooks(documents.Hooks{
		BeforeCreate: func(ctx context.Context, e *documents.Event) error {
			title := e.Data.Text("title")
			if title == "forbidden" {
				return &apierror.Error{Status: 409, Name: "ConflictError", Message: "not that"}
			}
			caller := "nobody"
			if a := gateway.CallerOf(ctx); a.HTTP != nil {
				caller = fmt.Sprint(a.HTTP.URL.Path, " full ", a.Access == permission.FullAccess)
			}
			tr.add("before %s by %s", title, caller)
			e.Data.Set("title", strings.ToUpper(title))
			return nil
		},
		AfterCreate: func(_ context.Context, e *documents.Event) error {
			values, err := e.Values()
			tr.add("after %s", values.Value("title"))
			return errors.Join(err, errors.New("told to the log"))
		},
	}, "api::article.article")
	log := &servertest.LogBuffer{}
	files := maps.Clone(extendedFiles)
	delete(files, "config/permissions.yaml")
	var project *gateway.Project
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Extensions: x,
		Log: slog.New(slog.NewTextHandler(log, nil))}, func(p *gateway.Project) { project = p })
	full := ready.Tokens["full"]
	if status, body := send(t, "POST", ready.Base+"/api/articles", full, `{"data":{"title":"rest"}}`); status != 201 ||
		!strings.Contains(body, `"title":"REST"`) {
		t.Error(status, body)
	}
	if status, body := send(t, "POST", ready.Base+"/graphql", full,
		`{"query":"mutation{createArticle(data:{title:\"graphql\"}){title}}"}`); body != `{"data":{"createArticle":{"title":"GRAPHQL"}}}`+"\n" {
		t.Error(status, body)
	}
	article := project.Documents().Model().Type("api::article.article")
	data := jsontree.NewObject()
	data.Set("title", "go")
	if err := project.Documents().Create(
		t.Context(), documents.Write{Type: article, Data: data, Access: permission.FullAccess}); err != nil {
		t.Error(err)
	}
	if status, body := send(t, "POST", ready.Base+"/api/articles", full,
		`{"data":{"title":"forbidden"}}`); status != 409 ||
		body != `{"data":null,"error":{"status":409,"name":"ConflictError","message":"not that","details":{}}}` {
		t.Error(status, body)
	}
	if status, body := send(t, "POST", ready.Base+"/graphql", full,
		`{"query":"mutation{createArticle(data:{title:\"forbidden\"}){title}}"}`); !strings.Contains(body,
		`"message":"not that"`) {
		t.Error(status, body)
	}
	want := []string{"before rest by /api/articles full true", "after REST", "before graphql by /graphql full true",
		"after GRAPHQL", "before go by nobody", "after GO"}
	if !slices.Equal(tr.calls, want) {
		t.Errorf("%q", tr.calls)
	}
	if n := strings.Count(log.String(), "told to the log"); n != 3 {
		t.Errorf("%d errors after writes are in the log, want 3", n)
	}
}

// TestHooksSeeUsersAndFiles expects hooks to be called for writes of users and files.
func TestHooksSeeUsersAndFiles(t *testing.T) {
	tr := &trace{}
	note := func(when string) documents.Hook {
		return func(ctx context.Context, e *documents.Event) error {
			name := ""
			if values, err := e.Values(); err != nil {
				return err
			} else if values != nil {
				name = fmt.Sprint(" ", values.Value("username"), values.Value("name"))
			}
			a := gateway.CallerOf(ctx)
			who := "the public"
			if a.Access == permission.FullAccess {
				who = "full"
			}
			tr.add("%s %s%s by %s", when, e.Action, strings.ReplaceAll(name, "<nil>", ""), who)
			if e.Data != nil && e.Data.Value("username") == "root" {
				return &apierror.Error{Status: 400, Name: "ValidationError", Message: "Not that name"}
			}
			return nil
		}
	}
	x := &gateway.Extensions{}
	x.Hooks(documents.Hooks{
		BeforeCreate: note("before"), AfterCreate: note("after"), BeforeUpdate: note("before"),
		AfterUpdate:  note("after"),
		BeforeDelete: note("before"), AfterDelete: note("after"),
	}, "plugin::users-permissions.user", "plugin::upload.file")
	ready, _ := run(t, writeProject(t, nil), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	full := ready.Tokens["full"]
	for _, c := range []struct {
		method, path, body string
		status             int
		calls              string
	}{
		{"POST", "/api/auth/local/register", `{"username":"ada","email":"a@example.org","password":"secret12"}`, 200,
			"before create by the public, after create ada by the public"},
		{"POST", "/api/auth/local/register", `{"username":"root","email":"r@example.org","password":"secret12"}`, 400,
			"before create by the public"},
		{"POST", "/api/users", `{"username":"tom","email":"t@example.org","password":"secret12","role":1}`, 201,
			"before create by full, after create tom by full"},
		{"PUT", "/api/users/2", `{"username":"tim"}`, 200, "before update tom by full, after update tim by full"},
		{"PUT", "/api/users/2", `{"username":"root"}`, 400, "before update tim by full"},
		{"DELETE", "/api/users/2", "", 200, "before delete tim by full, after delete by full"},
		{"DELETE", "/api/users/2", "", 204, ""},
		{"POST", "/graphql", `{"query":"mutation{deleteUsersPermissionsUser(id:1){data{username}}}"}`, 200,
			"before delete ada by full, after delete by full"},
	} {
		tr.calls = nil
		key := full
		if strings.HasPrefix(c.path, "/api/auth") {
			key = ""
		}
		status, body := send(t, c.method, ready.Base+c.path, key, c.body)
		if got := strings.Join(tr.calls, ", "); status != c.status || got != c.calls {
			t.Errorf("%s %s %s: %d %s\ncalled %s\nwant   %s", c.method, c.path, c.body, status, body, got, c.calls)
		}
	}
	tr.calls = nil
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	file, err := parts.CreateFormFile("files", "note.txt")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(file, "a note")
	parts.Close()
	req, err := http.NewRequest("POST", ready.Base+"/api/upload", &form)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", parts.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+full)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	status, _ := send(t, "DELETE", ready.Base+"/api/upload/files/1", full, "")
	if got := strings.Join(tr.calls, ", "); res.StatusCode != 201 || status != 200 ||
		got != "before create by full, after create note.txt by full, before delete note.txt by full, after delete by full" {
		t.Error(res.StatusCode, status, got)
	}
}
