package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/gateway/admin"
	"lectern/gateway/internal/server"
)

// Explain answers a read as a caller with certain permissions, and tells how the store found the answer. Nothing is
// written.
func (p *Project) Explain(ctx context.Context, q admin.Question) (explained admin.Explained, err error) {
	answers, err := p.answering()
	if err != nil {
		return explained, err
	}
	g := p.serving()
	who, err := g.callerOf(q)
	if err != nil {
		return explained, err
	}
	ctx = server.WithExplanation(ctx, func(e server.Explanation) {
		explained.Took, explained.Explanation = e.Took, e.Explanation
	})
	path := g.Settings.REST.Prefix + "/" + strings.TrimPrefix(q.Query, "/")
	if q.GraphQL != "" {
		path = g.Settings.GraphQL.Endpoint + "?query=" + url.QueryEscape(q.GraphQL)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody)
	if err != nil {
		return explained, err
	}
	key := g.owners.Lend(who)
	defer g.owners.End(key)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set(server.ExplainHeader, "1")
	r.Header.Set("Content-Type", "application/json") // or GraphQL expects a preflight by a browser
	w := &begunAnswer{header: http.Header{}}
	answers.AnswerInside(w, r)
	explained.Status, explained.Bytes = w.status, w.bytes
	if w.status >= http.StatusBadRequest || strings.HasPrefix(string(w.begin), `{"errors":`) {
		explained.Answer = string(w.begin)
	}
	return explained, nil
}

// answering returns the server of the project. If it is not served, that is one which listens nowhere.
func (p *Project) answering() (*server.Server, error) {
	if s := p.server.Load(); s != nil {
		return s, nil
	}
	s, err := server.New(p.serverConfig(), server.API{Probes: p.probes(nil), Steps: p.steps(nil)})
	if err == nil {
		err = p.generation.Load().serveBy(s)
	}
	return s, err
}

// callerOf returns the caller of a question.
func (g *generation) callerOf(q admin.Question) (who auth.Principal, err error) {
	who.Access, who.Token = permission.FullAccess, "lectern explain"
	switch {
	case q.Role != "":
		who.Access, err = g.AccessOfRole(q.Role)
	case q.Token != "":
		who.Access, err = g.AccessOfToken(q.Token)
	}
	if err == nil {
		who.Access = who.Access.At(g.project.clock.Now)
	}
	return who, err
}

// A begunAnswer keeps the beginning of an answer and counts the rest.
type begunAnswer struct {
	header http.Header
	status int
	bytes  int64
	begin  []byte
}

// maxBegin is how many bytes a begunAnswer keeps.
const maxBegin = 2000

// Header implements http.ResponseWriter.
func (a *begunAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *begunAnswer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *begunAnswer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.bytes += int64(len(p))
	a.begin = append(a.begin, p[:min(len(p), maxBegin-len(a.begin))]...)
	return len(p), nil
}
