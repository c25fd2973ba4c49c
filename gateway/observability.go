package gateway

import (
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/gateway/tracing"
)

// newTracer returns the tracer that config/server.yaml asks for, or nil.
func (p *Project) newTracer() (*tracing.Tracer, error) {
	s := p.Definition().Settings.Server.Tracing
	if s.Endpoint == "" {
		return nil, nil
	}
	return tracing.New(tracing.Options{
		Endpoint: s.Endpoint, Headers: s.Headers, Sample: s.Sample, TrustParent: s.TrustParent, Version: p.Version,
		Failed: func(err error) { p.log.Warn("traces are lost", "error", err) },
	})
}

// newAccessLog returns the access log of a server with these settings.
func newAccessLog(l config.Log, production bool) server.AccessLog {
	on := production
	if l.Requests != nil {
		on = *l.Requests
	}
	return server.AccessLog{On: on, Sample: l.Sample}
}
