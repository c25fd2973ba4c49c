package server

import (
	"fmt"
	"net/http"
)

// A Probe answers orchestrators and monitors, which ask whether the server works, by whatever method. It needs no
// place, so that it answers on a busy server.
type Probe struct {
	Path    string
	Handler http.Handler
}

// A probe is a Probe that is served.
type probe struct {
	path pattern
	http.Handler
}

// addProbes adds the routes of the probes.
func (h *handlers) addProbes() error {
	for _, p := range h.api.Probes {
		path, err := parsePattern(p.Path)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p.Path, err)
		}
		h.router.NewRoute().MatcherFunc(path.match).Handler(&probe{path, p.Handler})
	}
	return nil
}
