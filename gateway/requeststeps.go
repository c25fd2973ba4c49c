package gateway

import (
	"net/http"
	"strconv"
	"time"

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
	if g.forward != nil {
		s.Forward = g.forward.forward
	}
	p.role.SetUpSteps(&s, g.forward)
	return s
}

// setAge tells in an answer how old the content of a replica or node is, unless that is not known, and age negative.
func setAge(h http.Header, age time.Duration) {
	if age >= 0 {
		h[replicaAgeHeader] = []string{strconv.FormatInt(int64(age/time.Second), 10)}
	}
}
