package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"lectern/auth"
	"lectern/desk"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replica"
	"lectern/gateway/internal/server"
	"lectern/gateway/internal/status"
	"lectern/gateway/tracing"
	"lectern/internal/shell"
)

// Ready describes a server that is ready to answer requests.
type Ready struct {
	Base string `json:"base"` // its address without a slash at the end
	// Tokens are the keys of an ephemeral server by name: full, readonly and those of permissions.yaml.
	Tokens map[string]string `json:"tokens,omitempty"`
	// Desk is a link that logs a browser in as an owner, once, within ten minutes; "" in production, and without a
	// desk.
	Desk string `json:"-"`
}

// Serve opens the project in dir and serves it until ctx ends. It listens before it opens the store: while it converts
// content to changed definitions, probes are answered, and all other requests get 503.
func Serve(ctx context.Context, dir string, o Options) (err error) {
	if !o.Ephemeral {
		if o, err = o.following(dir); err != nil {
			return err
		}
		if o, err = o.clustering(dir); err != nil {
			return err
		}
	}
	if o.Follow != nil && o.Cluster != nil {
		return errors.New("a server cannot be both a replica and a node of a cluster: " +
			"remove replica or cluster from config/server.yaml, or leave out --cluster")
	}
	if o.Follow != nil {
		if err := replica.Prepare(ctx, o.logging(dir).replicaOptions(dir)); err != nil {
			return err
		}
	}
	if o.Cluster != nil {
		return serveNode(ctx, dir, o)
	}
	p := newProject(dir, o)
	if p.role, err = p.findRole(); err != nil {
		return err
	}
	d, err := p.read()
	if err != nil {
		return err
	}
	if p.Refused != nil {
		return p.Refused
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.prepare(ctx, d); err != nil {
		return err
	}
	return p.serve(ctx, func() error { return p.open(d) })
}

// Run serves the project until ctx ends. It then answers requests for timeouts.drain while /_ready tells orchestrators
// to send no more, lets requests under way finish for timeouts.shutdown, and returns; the caller closes the project.
func (p *Project) Run(ctx context.Context) error {
	if p.Refused != nil {
		return p.Refused
	}
	return p.serve(ctx, func() error { return nil })
}

// serve listens, calls open to open the project, and serves it until ctx ends.
func (p *Project) serve(ctx context.Context, open func() error) error {
	p.limitHeap()
	p.unready.Store(&starting)
	tracer, err := p.newTracer()
	if err != nil {
		return err
	}
	defer tracer.Shutdown()
	server, ln, redirects, err := p.listen(tracer)
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	var answering sync.WaitGroup
	var failed, failedToRedirect error
	answering.Go(func() { defer stop(); failed = server.Serve(serving, ln) })
	if redirects != nil {
		answering.Go(func() { defer stop(); failedToRedirect = redirects.run(serving) })
	}
	if err = open(); err == nil {
		err = p.serveOpen(ctx, serving, stop, server)
	}
	stop()
	answering.Wait()
	return errors.Join(failed, failedToRedirect, err)
}

// serveOpen has the server answer requests for the open project, and does all else that a served project does, until
// ctx or serving ends. It ends serving by stop.
func (p *Project) serveOpen(ctx, serving context.Context, stop func(), server *server.Server) error {
	defer stop()
	ready := Ready{Base: *p.listens.Load()}
	control := p.control(server, ready.Base)
	err := control.Listen()
	if err != nil {
		return err
	}
	defer control.Close()
	if p.options.Ephemeral {
		if ready.Tokens, err = p.ephemeralTokens(ctx); err != nil {
			return err
		}
	}
	g := p.generation.Load()
	if err := g.serveBy(server); err != nil {
		return err
	}
	metrics, err := p.listenMetrics()
	if err != nil {
		return err
	}
	if p.role.FilesDecide() {
		if err := g.revokeUndeclared(); err != nil {
			return err
		}
	}
	p.unready.Store(nil)
	stopping := make(chan struct{})
	p.stops.Store(&stopping)
	var parts sync.WaitGroup
	var controlFailed, metricsFailed error
	parts.Go(func() { defer stop(); controlFailed = control.Serve(serving) })
	if metrics != nil {
		parts.Go(func() { defer stop(); metricsFailed = metrics.run(serving) })
	}
	p.startParts(serving, server, &parts)
	p.announce(ready)
	select {
	case <-serving.Done(): // a part of the server has failed
	case <-ctx.Done():
		p.unready.Store(&draining)
		p.log.Info("stopping")
		p.drain(serving)
		p.role.Retire(serving)
	}
	close(stopping)
	stop()
	parts.Wait()
	return errors.Join(controlFailed, metricsFailed)
}

// startParts starts what runs beside the requests until ctx ends. A node of a cluster goes on until it is closed.
func (p *Project) startParts(ctx context.Context, server *server.Server, parts *sync.WaitGroup) {
	parts.Go(func() { p.recoverMedia(ctx) })
	parts.Go(func() { p.subscribers.Run(ctx) })
	parts.Go(func() { p.returnMemory(ctx) })
	parts.Go(func() { p.history.Run(ctx) })
	p.role.Start(ctx, parts)
	p.reports.queue(p.generation.Load().content())
	parts.Go(func() { p.reports.run(ctx) })
	if watch := p.watch(); watch != nil {
		parts.Go(func() { watch.Run(ctx) })
	}
}

// stopping returns a channel that is closed when the server stops, for answers that would not end of themselves.
func (p *Project) stopping() <-chan struct{} {
	if stops := p.stops.Load(); stops != nil {
		return *stops
	}
	return nil // nothing serves the project
}

// listen listens at the project's address and at tls.redirect. It returns a server for the former, which answers probes
// alone until it gets a Runtime, and one for the latter, which is nil if there is no such address.
func (p *Project) listen(tracer *tracing.Tracer) (*server.Server, net.Listener, *sideServer, error) {
	config := p.serverConfig()
	config.Tracer = tracer
	tls, redirect, err := p.tlsConfig()
	if err != nil {
		return nil, nil, nil, err
	}
	config.TLS = tls
	server, err := server.New(config, server.API{Probes: p.probes(nil), Steps: p.steps(nil), Starting: true})
	if err != nil {
		return nil, nil, nil, err
	}
	address := p.generation.Load().address()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, nil, cannotListen(address, err)
	}
	redirects, err := p.listenToRedirect(redirect)
	if err != nil {
		return nil, nil, nil, errors.Join(err, ln.Close())
	}
	p.server.Store(server)
	base := p.scheme() + "://" + clientAddress(ln.Addr().String())
	p.listens.Store(&base)
	p.log.Info("listening", "base", base)
	return server, ln, redirects, nil
}

// drain waits for timeouts.drain, during which the server still answers requests. It returns early if ctx ends.
func (p *Project) drain(ctx context.Context) {
	wait := time.NewTimer(p.Definition().Settings.Server.Limits.Drain)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// control returns the control socket of a server.
func (p *Project) control(server *server.Server, base string) *admin.Control {
	c := &admin.Control{
		Project: p.Local, Base: base, Memory: p.memory, Load: func() any { return server.Stats() },
		Readiness: p.readiness, DeskLink: p.deskLink, Replica: p.role.ReplicaState, Replicas: p.replicas.List,
		Status: p.status, Explain: p.Explain,
		Settle: p.settle, AnswerRate: p.Definition().Settings.Server.Limits.WithDefaults().AnswerRate, Log: p.log,
	}
	p.role.SetUpControl(c)
	p.cluster = c.Cluster
	return c
}

func (p *Project) announce(ready Ready) {
	if link, err := p.deskLink(""); err == nil && !p.options.Production && !desk.IsMissing() {
		ready.Desk = link
	}
	if p.options.Ready != nil {
		p.options.Ready(ready)
	}
	g := p.generation.Load()
	types, _ := g.Size()
	p.log.Info("serving", "base", ready.Base, "types", types, "data", p.Data.Path)
	if types == 0 {
		p.log.Warn("the project has no content-types yet; each is a file in content-types/")
	}
	if text := g.unstatedDrafts(); text != "" && p.options.Production && p.role.FilesDecide() {
		p.log.Warn(text)
	}
	if p.options.Production && !p.options.Ephemeral && g.users != nil && g.registrationIsUnsettled() {
		if open, err := g.users.AnybodyMayRegister(); err == nil && open {
			p.log.Warn(anybodyRegisters)
		}
	}
	if p.options.Ephemeral || !p.role.FilesDecide() { // nobody makes tokens there
		return
	}
	for _, d := range g.Settings.Tokens {
		if !g.tokens.Has(d.Name) {
			p.log.Info("permissions.yaml declares a token that was not made yet", "token", d.Name, "make",
				p.directory.Command("token create")+" "+shell.Path(d.Name))
		}
	}
	for _, tok := range g.tokens.List() {
		if !tok.Declared && !tok.Removed() {
			p.log.Warn("an API token that permissions.yaml does not declare works until it is revoked", "token",
				tok.Name,
				"revoke", p.directory.Command("token revoke")+" "+shell.Path(tok.Name))
		}
	}
}

// cannotListen returns an error with the system's reason for not listening at an address and what to do about it.
func cannotListen(address string, err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		err = errno
	}
	advice := "take another address with --addr or --port, or in config/server.yaml"
	if errors.Is(err, syscall.EADDRINUSE) {
		advice = "stop the program that listens there, or " + advice
	}
	return fmt.Errorf("cannot listen at %s: %w; %s", address, err, advice)
}

func (p *Project) serverConfig() server.Config {
	s := p.Definition().Settings.Server
	c := server.Config{
		Limits: s.Limits, Memory: p.memory, CORS: s.CORS, HTTPS: p.isHTTPS(), Compress: s.Compress,
		TrustedProxies: s.TrustedProxies,
		Log:            p.log, AccessLog: newAccessLog(s.Log, p.options.Production), Metrics: p.observed.metrics,
		SlowAfter: status.SlowAfter, After: p.clock.After,
	}
	if counting {
		c.Notable = p.noted
	}
	return c
}

// mainPortToken returns the token of metrics on the port of the API; "" if they are off or have an address of their
// own.
func mainPortToken(c config.Metrics) string {
	if c.Listen != "" {
		return ""
	}
	return c.Token
}

// address returns the address to listen at.
func (g *generation) address() string {
	s := g.Settings.Server
	port := s.Port
	if g.project.options.Port != nil {
		port = *g.project.options.Port
	}
	return cmp.Or(g.project.options.Addr, net.JoinHostPort(s.Host, strconv.Itoa(port)))
}

// base returns the base URL of links in mail, without a trailing slash: the configured URL, or the address at which the
// server listens.
func (g *generation) base() string {
	if url := g.Settings.Server.URL; url != "" {
		return url
	}
	if at := g.project.listens.Load(); at != nil {
		return *at
	}
	return g.project.scheme() + "://" + clientAddress(g.address())
}

// clientAddress returns the address at which a client on this machine reaches a server that listens at address.
func clientAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// ephemeralTokens creates the tokens of an ephemeral server and returns their keys by name.
func (p *Project) ephemeralTokens(ctx context.Context) (map[string]string, error) {
	g, keys := p.generation.Load(), map[string]string{}
	declared := append([]auth.Declaration{{Name: "full", Kind: auth.FullAccess},
		{Name: "readonly", Kind: auth.ReadOnly}}, g.Settings.Tokens...)
	for _, d := range declared {
		if g.tokens.Has(d.Name) {
			return nil, fmt.Errorf(
				"permissions.yaml declares a token %s, which an ephemeral server makes itself; give it another name",
				d.Name)
		}
		_, key, err := g.tokens.Create(ctx, d)
		if err != nil {
			return nil, err
		}
		keys[d.Name] = key
	}
	return keys, nil
}
