package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/internal/shell"
)

// Ready describes a server that is ready to answer requests.
type Ready struct {
	Base string `json:"base"` // its address without a slash at the end
	// Tokens are the keys of an ephemeral server by name: full, readonly and those of permissions.yaml.
	Tokens map[string]string `json:"tokens,omitempty"`
}

// Run serves the project until ctx ends. It then lets requests under way finish for timeouts.shutdown and returns; the caller closes
// the project.
func (p *Project) Run(ctx context.Context) error {
	p.limitHeap()
	runtime, err := p.generation.Load().runtime()
	if err != nil {
		return err
	}
	server, err := NewServer(p.serverConfig(), runtime)
	if err != nil {
		return err
	}
	address := p.generation.Load().address()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return cannotListen(address, err)
	}
	defer ln.Close()
	p.server.Store(server)
	ready := Ready{Base: "http://" + clientAddress(ln.Addr().String())}
	p.listens.Store(&ready.Base)
	control := p.control(server, ready.Base)
	if err := control.Listen(); err != nil {
		return err
	}
	defer control.Close()
	if p.options.Ephemeral {
		if ready.Tokens, err = p.ephemeralTokens(ctx); err != nil {
			return err
		}
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	var failed [2]error
	parts.Go(func() { defer stop(); failed[0] = server.Serve(ctx, ln) })
	parts.Go(func() { defer stop(); failed[1] = control.Serve(ctx) })
	parts.Go(func() { p.recoverMedia(ctx) })
	parts.Go(func() { p.returnMemory(ctx) })
	p.serves(p.generation.Load())
	parts.Go(func() { p.reportServed(ctx) })
	if watch := p.watch(server); watch != nil {
		parts.Go(func() { watch.run(ctx) })
	}
	p.announce(ready)
	<-ctx.Done()
	p.log.Info("stopping")
	parts.Wait()
	return errors.Join(failed[:]...)
}

// control returns the control socket of a server.
func (p *Project) control(server *Server, base string) *admin.Control {
	return &admin.Control{
		Project: p.Local, Base: base, Memory: p.memory, Load: func() any { return server.Stats() },
		Settle: p.settle, AnswerRate: server.limits.AnswerRate, Log: p.log,
	}
}

func (p *Project) announce(ready Ready) {
	if p.options.Ready != nil {
		p.options.Ready(ready)
	}
	e := p.generation.Load()
	types, _ := e.Size()
	p.log.Info("serving", "base", ready.Base, "types", types, "data", p.Data.Path)
	if types == 0 {
		p.log.Warn("the project has no content-types yet; each is a file in content-types/")
	}
	for _, d := range e.Settings.Tokens {
		if !p.options.Ephemeral && !e.tokens.Has(d.Name) {
			p.log.Info("permissions.yaml declares a token that was not made yet", "token", d.Name, "make", p.directory.Command("token create")+" "+shell.Path(d.Name))
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

func (p *Project) serverConfig() Config {
	s := p.Definition().Settings.Server
	https := strings.HasPrefix(s.URL, "https://")
	return Config{
		Limits: s.Limits, Memory: p.memory, CORS: s.CORS, HTTPS: https, Compress: s.Compress, TrustedProxies: s.TrustedProxies,
		Log: p.log, AccessLog: newAccessLog(s.Log, p.options.Production),
	}
}

// address returns the address to listen at.
func (e *generation) address() string {
	s := e.Settings.Server
	port := s.Port
	if e.project.options.Port != nil {
		port = *e.project.options.Port
	}
	return cmp.Or(e.project.options.Addr, net.JoinHostPort(s.Host, strconv.Itoa(port)))
}

// base returns the base URL of links in mail, without a trailing slash: the configured URL, or the address at which the server listens.
func (e *generation) base() string {
	if url := e.Settings.Server.URL; url != "" {
		return url
	}
	if at := e.project.listens.Load(); at != nil {
		return *at
	}
	return "http://" + clientAddress(e.address())
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
	e, keys := p.generation.Load(), map[string]string{}
	declared := append([]auth.Declaration{{Name: "full", Kind: auth.FullAccess}, {Name: "readonly", Kind: auth.ReadOnly}}, e.Settings.Tokens...)
	for _, d := range declared {
		if e.tokens.Has(d.Name) {
			return nil, fmt.Errorf("permissions.yaml declares a token %s, which an ephemeral server makes itself; give it another name", d.Name)
		}
		_, key, err := e.tokens.Create(ctx, d)
		if err != nil {
			return nil, err
		}
		keys[d.Name] = key
	}
	return keys, nil
}
