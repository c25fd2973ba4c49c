package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"lectern/auth"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
)

// Ready says where a server answers.
type Ready struct {
	Base string `json:"base"` // its address without a slash at the end
	// Tokens are the keys of an ephemeral server by name: full, readonly and those of permissions.yaml.
	Tokens map[string]string `json:"tokens,omitempty"`
}

// Run serves the project until ctx ends. Then it lets requests under way finish, as long as timeouts.shutdown says, and
// returns; the caller closes the project.
func (p *Project) Run(ctx context.Context) error {
	runtime, err := p.runtime()
	if err != nil {
		return err
	}
	server, err := NewServer(p.serverConfig(), runtime)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", p.address())
	if err != nil {
		return fmt.Errorf("listen: %w; take another address with --addr or in config/server.yaml", err)
	}
	defer ln.Close()
	ready := Ready{Base: "http://" + clientAddress(ln.Addr())}
	control, err := p.listenControl(ready.Base)
	if err != nil {
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
	parts.Go(func() { defer stop(); failed[1] = control.serve(ctx) })
	parts.Go(func() { p.recoverMedia(ctx) })
	p.announce(ready)
	<-ctx.Done()
	p.log.Info("stopping")
	parts.Wait()
	return errors.Join(failed[:]...)
}

func (p *Project) announce(ready Ready) {
	if p.options.Ready != nil {
		p.options.Ready(ready)
	}
	types, _ := p.Size()
	p.log.Info("serving", "base", ready.Base, "types", types, "data", p.data.path)
	for _, d := range p.Settings.Tokens {
		if !p.options.Ephemeral && !p.tokens.Has(d.Name) {
			p.log.Info("permissions.yaml declares a token that was not made yet", "token", d.Name, "make", "lectern token create "+d.Name)
		}
	}
}

// runtime builds what the server answers with.
func (p *Project) runtime() (Runtime, error) {
	s := p.Settings.REST
	authenticator := &auth.Authenticator{Users: p.users, Roles: auth.CompileRoles(p.Settings.Roles), Tokens: p.tokens}
	parser := params.New(p.Model, p.Settings.I18n.DefaultLocale, params.Limits{
		DefaultLimit: s.DefaultLimit, MaxLimit: s.MaxLimit, WithCount: s.WithCount,
	})
	api := rest.New(p.Model, p.store, p.docs, parser)
	limiter := auth.NewLimiter(p.Settings.Users.RateLimit, nil)
	graphql, err := p.graphqlRoutes(authenticator, parser, limiter)
	if err != nil {
		return Runtime{}, err
	}
	return Runtime{
		Prefix:       s.Prefix,
		REST:         api,
		Authenticate: authenticator.Authenticate,
		Routes:       slices.Concat(p.routes, p.localesRoute(), p.uploadRoutes(api, parser), p.userRoutes(authenticator, api, parser, limiter), graphql),
	}, nil
}

func (p *Project) serverConfig() Config {
	s := p.Settings.Server
	return Config{Limits: s.Limits, CORS: s.CORS, Compress: s.Compress, Log: p.log}
}

func (p *Project) address() string {
	if p.options.Addr != "" {
		return p.options.Addr
	}
	return net.JoinHostPort(p.Settings.Server.Host, strconv.Itoa(p.Settings.Server.Port))
}

// clientAddress is where a client on this machine reaches a listener.
func clientAddress(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// ephemeralTokens makes the tokens of an ephemeral server and returns their keys.
func (p *Project) ephemeralTokens(ctx context.Context) (map[string]string, error) {
	keys := map[string]string{}
	declared := append([]auth.Declaration{{Name: "full", Kind: auth.FullAccess}, {Name: "readonly", Kind: auth.ReadOnly}}, p.Settings.Tokens...)
	for _, d := range declared {
		if p.tokens.Has(d.Name) {
			return nil, fmt.Errorf("permissions.yaml declares a token %s, which an ephemeral server makes itself; give it another name", d.Name)
		}
		_, key, err := p.tokens.Create(ctx, d)
		if err != nil {
			return nil, err
		}
		keys[d.Name] = key
	}
	return keys, nil
}
