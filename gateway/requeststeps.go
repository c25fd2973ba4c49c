package gateway

import (
	"lectern/gateway/internal/server"
)

// steps returns what stands between requests and the handlers of a generation; of the project while it is opened, if g
// is nil.
func (p *Project) steps(g *generation) (s server.Steps) {
	if g == nil {
		p.role.SetUpSteps(&s, nil)
		return s
	}
	s.Once = g.idempotency().serve
	if g.forward == nil {
		p.role.SetUpSteps(&s, nil)
		return s
	}
	s.Forward = g.forward.Step
	p.role.SetUpSteps(&s, g.isForwarded)
	return s
}
