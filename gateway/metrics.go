package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/graphqlhttp"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/budget"
	"lectern/internal/lru"
	"lectern/shadowcrud/graphql/execution"
	"lectern/store"
)

// authorized returns a handler that passes requests with a bearer token to h, and answers others with 401.
func authorized(token string, h http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	refused := &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError",
		Message: "Missing or invalid credentials", Reason: apierror.Credential}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := auth.Bearer(r.Header.Get("Authorization"))
		got := sha256.Sum256([]byte(sent)) // of equal length, whatever was sent
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			server.WriteError(w, r, refused)
			return
		}
		w.Header()["Cache-Control"] = server.NoStore
		h.ServeHTTP(w, r)
	})
}

// observed holds what the metrics of a project are read from beside the current generation.
type observed struct {
	metrics                *metrics.Metrics // nil if a test counts nothing
	engine                 atomic.Pointer[execution.Engine]
	persisted              atomic.Pointer[graphqlhttp.Persisted]
	reloads, failedReloads atomic.Int64
}

// counting is false while tests measure what counting costs.
var counting = true

// newMetrics returns the metrics of the project. They count for GET /api/_status even if nobody scrapes them.
func (p *Project) newMetrics(c config.Metrics) *metrics.Metrics {
	if c == (config.Metrics{}) && !counting {
		return nil
	}
	return metrics.New(p.options.Version, p.reading)
}

// committed returns the function that counts commits.
func (p *Project) committed() func(store.Commit) {
	if p.observed.metrics == nil {
		return nil
	}
	return p.observed.metrics.Committed
}

// reading returns what the parts of the project have counted until now.
func (p *Project) reading() metrics.Reading {
	g := p.generation.Load()
	r := metrics.Reading{
		Store: g.store.Stats(), State: g.store.Health().State,
		Places: map[string]metrics.Places{
			"passwords":  {Stats: p.passwords.Stats().Stats, Limit: p.passwords.Limits().Places},
			"listeners":  {Stats: p.subscribers.Waiting.Stats(), Limit: p.subscribers.Waiting.Limits().Places},
			"conditions": {Stats: p.subscribers.Conditions.Stats(), Limit: p.subscribers.Conditions.Limits().Places},
			"processors": {Stats: p.processors.Stats(), Limit: p.processors.Limits().Places},
		},
		Budgets:         map[string]budget.Stats{"requests": p.memory.Stats()},
		Caches:          map[string]lru.Stats{},
		UploadsWritable: true,
		Reloads:         p.observed.reloads.Load(), FailedReloads: p.observed.failedReloads.Load(),
		LastBackup: p.LastBackup(),
	}
	var err error
	if r.Usage, err = g.store.Usage(); err != nil { // the state of the store tells operators what is wrong
		p.log.Debug("the usage of the store cannot be read", "error", err)
	}
	if s := p.server.Load(); s != nil {
		stats := s.Stats()
		maps.Copy(r.Places, s.Places())
		r.RefusedConnections, r.AcceptErrors = stats.RefusedConnections, stats.AcceptErrors
		r.Budgets["bodies"] = stats.Bodies
	}
	if engine := p.observed.engine.Load(); engine != nil {
		r.Caches["plans"] = engine.CachedPlans()
	}
	if persisted := p.observed.persisted.Load(); persisted != nil {
		r.Caches["persisted"] = persisted.Stats()
	}
	r.Webhooks = p.webhookStatus()
	p.role.Read(&r)
	for _, f := range p.replicas.List() {
		r.Replicas++
		r.ReplicasBehind = max(r.ReplicasBehind, f.Behind)
	}
	if g.media != nil {
		r.Uploads, r.UploadsWritable = g.media.Stats(), g.media.Health() == nil
	}
	if g.users != nil {
		r.Mails = g.users.Mails()
	}
	return r
}

// listenMetrics listens at the address of metrics; the result is nil if they have none.
func (p *Project) listenMetrics() (*sideServer, error) {
	s := p.Definition().Settings.Server.Metrics
	if s.Listen == "" {
		return nil, nil
	}
	scrape := p.observed.metrics.Handler()
	if s.Token != "" {
		scrape = authorized(s.Token, scrape)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", scrape)
	server, err := listenBeside(s.Listen, &http.Server{Handler: mux, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute})
	if err == nil {
		p.log.Info("serving metrics", "url", "http://"+clientAddress(server.listener.Addr().String())+"/metrics")
	}
	return server, err
}
