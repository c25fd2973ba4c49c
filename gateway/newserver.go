package gateway

import "lectern/gateway/internal/server"

// A Server serves a Runtime over HTTP, for programs and tests that have no project.
type (
	Server    = server.Server
	Config    = server.Config
	AccessLog = server.AccessLog
	Notable   = server.Notable
)

// A HandlerFunc is an http.Handler for mounts whose error becomes the answer: an *apierror.Error as it is, and any
// other error is logged and answered with 500 without its text.
type HandlerFunc = server.HandlerFunc

// NewServer returns a server of rt.
func NewServer(c Config, rt Runtime) (*Server, error) {
	if rt.probes == nil {
		rt.probes = conditionProbes(nil, nil, nil)
	}
	api, err := rt.api()
	if err != nil {
		return nil, err
	}
	return server.New(c, api)
}
