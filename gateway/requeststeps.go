package gateway

import (
	"net/http"

	"lectern/gateway/internal/server"
)

// steps returns what stands between requests and the handlers of a generation; of the project while it is opened, if g
// is nil.
func (p *Project) steps(g *generation) (s server.Steps) {
	var forwarded func(*http.Request) bool
	if g != nil {
		s.Once = g.idempotency().serve
		if g.forward != nil {
			s.Forward, forwarded = g.forward.Step, g.isForwarded
		}
	}
	p.role.SetUpSteps(&s, forwarded)
	return s
}
