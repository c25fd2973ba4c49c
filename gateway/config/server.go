package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/internal/yamlfile"
)

// serverFile is config/server.yaml as written. Decoding it sets the settings that its pointers lead to.
type serverFile struct {
	// address to listen on; `0.0.0.0` for all of them
	Host *string
	// port to listen on
	Port *int
	// address that clients use, if there is a proxy: links in mail begin with it. With `https://`, answers carry
	// `Strict-Transport-Security`
	// Default: where it listens
	URL *string
	// addresses and ranges (`10.0.0.0/8`) of proxies, whose headers tell the client's address, and which may have any
	// share of the connections
	// Default: none
	TrustedProxies []netPrefix `yaml:"trustedProxies"`
	// compress answers of 1 KiB or more (zstd or gzip) for clients that accept it, without zstd for clients that are
	// called `node`; uploaded files are sent as they are
	Compress    *bool
	CORS        corsFile
	Limits      limitsFile
	Timeouts    timeoutsFile
	Log         logFile
	Metrics     metricsFile
	TLS         tlsFile `yaml:"tls"`
	Tracing     tracingFile
	Replica     replicaFile
	Cluster     clusterFile
	Idempotency idempotencyFile
	Desk        deskFile
}

type deskFile struct {
	// whether the [desk](desk.md), the page to write content in, is served
	Enabled *bool
	// path of the desk
	Path *string
}

type idempotencyFile struct {
	// how long the answers to requests with an [Idempotency-Key](idempotency.md) are kept; `0` refuses such requests
	Keep *days
	// answers that are kept; the oldest go first
	MaxKeys *int `yaml:"maxKeys"`
	// all answers that are kept; the oldest go first
	MaxSize *ByteSize `yaml:"maxSize"`
	// one answer; a write with a longer one is refused with 400, and nothing is written
	MaxAnswer *ByteSize `yaml:"maxAnswer"`
}

type replicaFile struct {
	// address of the server that this one is a [replica](replicas.md) of, such as `https://cms.example.com`
	// Default: none
	URL *string
	// API token of that server with the permission `lectern::replica.follow`
	// Default: none
	Token *string
	// what becomes of writes: `refuse` them, or `forward` them to that server
	Writes string
	// uids of the content-types that the replica has, one or a list: see [partial
	// replicas](replicas.md#partial-replicas)
	// Default: all
	Types *wordList
	// codes of the locales that it has, one or a list
	// Default: all
	Locales *wordList
	// `true`: it has published versions only, and no drafts
	Published *bool
}

type clusterFile struct {
	// name of this server as a [node of a cluster](cluster.md): lower-case letters, digits and hyphens. The flag
	// `--cluster NAME@HOST:PORT` takes precedence over this and `address`
	// Default: none
	Name *string
	// `HOST:PORT` at which the other nodes reach this one
	// Default: none
	Address *string
	// `HOST:PORT` of other nodes, one or a list. A node that is new to the cluster asks them to add it; `--join` takes
	// precedence
	// Default: none
	Join *wordList
	// how many new nodes must have found each other by `join` before one of them begins the cluster; `0`: it exists
	// already, or a node without `join` begins it. `--bootstrap-expect` takes precedence
	// Default: `0`
	Expect *int
	// `false`: the node takes part in no majority, and only reads
	Vote bool
	// directory with the files that `lectern cluster init` made for this node, in the project
	// Default: `cluster/` in the data directory
	Certificates *string
}

type corsFile struct {
	// origins whose pages may read answers: one or a list
	// Default: `"*"`
	Origin *wordList
	// in answers to preflights
	// Default: `GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS`
	Methods *wordList
	// in answers to preflights
	// Default: `Content-Type,Authorization,Origin,Accept`
	Headers *wordList
	// headers of answers that scripts in pages of other origins may read, beside those that any script may read
	// Default: `Accept-Encoding,Allow,Content-Range,ETag,Idempotency-Replayed,Lectern-Forwarded,Lectern-Replica-Age,Lectern-Revision,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id`
	Expose *wordList
	// how long a browser may keep a preflight's answer
	// Default: a year
	MaxAge *time.Duration `yaml:"maxAge"`
}

type logFile struct {
	// `debug`, `info`, `warn`, `error`
	Level string
	// `text` or `json`
	// Default: `text` in development, `json` in production
	Format *string
	// `true`: each request is a line at level `info`: see [the access log](observability.md#the-access-log)
	// Default: in production only
	Requests **bool
	// share of the successful requests that the log has, from 0 to 1; it has all requests that failed
	Sample *float64
	// how long the store keeps its [log of changes](observability.md#the-log-of-changes), such as `30d` or `12h`; `0`
	// keeps none
	Keep *days
	// most that the log of changes may take; when it is larger, the oldest changes go first
	MaxSize *ByteSize `yaml:"maxSize"`
}

type metricsFile struct {
	// address of [metrics](metrics.md) for Prometheus, such as `127.0.0.1:9464`; without it they are at `/_metrics` on
	// the port of the API
	// Default: none
	Listen *string
	// bearer token that a scrape needs, at least 16 characters: `${METRICS_TOKEN}`. You must set it if there is no
	// `metrics.listen`. Without either, metrics are off
	// Default: none
	Token *string
}

type tracingFile struct {
	// URL of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; without it nothing
	// is traced: see [traces](observability.md#traces)
	// Default: none
	Endpoint *string
	// headers sent to the collector, such as a credential
	// Default: none
	Headers *map[string]string
	// share of the requests that is traced, from 0 to 1
	Sample *float64
	// whether a request continues the trace that its header `traceparent` names, and is recorded when its sender says
	// so
	TrustParent *bool `yaml:"trustParent"`
}

// file returns a serverFile whose pointers lead to s. Its other values are defaults.
func (s *Server) file() serverFile {
	l := &s.Limits
	return serverFile{
		Host: &s.Host, Port: &s.Port, URL: &s.URL, Compress: &s.Compress,
		CORS: corsFile{Origin: (*wordList)(&s.CORS.Origins), Methods: (*wordList)(&s.CORS.Methods),
			Headers: (*wordList)(&s.CORS.Headers), Expose: (*wordList)(&s.CORS.Expose)},
		Limits: limitsFile{
			JSON: (*ByteSize)(&l.JSONBytes), Form: (*ByteSize)(&l.FormBytes), Headers: (*ByteSize)(&l.HeaderBytes),
			Memory: (*ByteSize)(&l.Memory), Answer: (*ByteSize)(&l.AnswerBytes), AnswerRate: (*ByteSize)(&l.AnswerRate),
			CopyRate: (*ByteSize)(&l.CopyRate),
			BodyRate: (*ByteSize)(&l.BodyRate), Links: &l.Links, Components: &l.Components, Operations: &l.Operations,
			Concurrent: &l.Concurrent, ConcurrentPerAddress: &l.ConcurrentPerAddress,
			Connections: &l.Connections, ConnectionsPerAddress: &l.ConnectionsPerAddress,
			Listeners: &l.Listeners, ListenersPerAddress: &l.ListenersPerAddress, Streams: &l.Streams,
			StreamsPerAddress:                &l.StreamsPerAddress,
			SubscriptionConditions:           &l.SubscriptionConditions,
			SubscriptionConditionsPerAddress: &l.SubscriptionConditionsPerAddress,
		},
		Timeouts: timeoutsFile{&l.ReadHeader, &l.Read, &l.Write, &l.Idle, &l.Handle, &l.Drain, &l.Shutdown, &l.Stream},
		Log: logFile{Level: "info", Format: &s.Log.Format, Requests: &s.Log.Requests, Sample: &s.Log.Sample,
			Keep: (*days)(&s.Log.Keep), MaxSize: (*ByteSize)(&s.Log.MaxSize)},
		Metrics: metricsFile{&s.Metrics.Listen, &s.Metrics.Token},
		Tracing: tracingFile{&s.Tracing.Endpoint, &s.Tracing.Headers, &s.Tracing.Sample, &s.Tracing.TrustParent},
		Replica: replicaFile{&s.Replica.URL, &s.Replica.Token, "refuse",
			(*wordList)(&s.Replica.Part.Types), (*wordList)(&s.Replica.Part.Locales), &s.Replica.Part.Published},
		Cluster: clusterFile{&s.Cluster.Name, &s.Cluster.Address, (*wordList)(&s.Cluster.Join), &s.Cluster.Expect,
			true, &s.Cluster.Certificates},
		Idempotency: idempotencyFile{(*days)(&s.Idempotency.Keep), &s.Idempotency.MaxKeys,
			(*ByteSize)(&s.Idempotency.MaxSize), (*ByteSize)(&s.Idempotency.MaxAnswer)},
		Desk: deskFile{&s.Desk.Enabled, &s.Desk.Path},
	}
}

// readServer reads config/server.yaml.
func (s *Server) readServer(n *yamlfile.Node) yamlfile.Problems {
	f := s.file()
	f.CORS.Origin, f.CORS.Methods, f.CORS.Headers = (*wordList)(&s.CORS.Origins), (*wordList)(&s.CORS.Methods),
		(*wordList)(&s.CORS.Headers)
	f.CORS.Expose = (*wordList)(&s.CORS.Expose)
	f.Log.Level, f.Log.Format, f.Log.Requests, f.Log.Sample = "info", &s.Log.Format, &s.Log.Requests, &s.Log.Sample
	f.Log.Keep, f.Log.MaxSize = (*days)(&s.Log.Keep), (*ByteSize)(&s.Log.MaxSize)
	f.Metrics.Listen, f.Metrics.Token = &s.Metrics.Listen, &s.Metrics.Token
	f.TLS = tlsFileOf(&s.TLS)
	unfit := n.Decode(&f)

	var problems yamlfile.Problems
	if s.Port < 1 || s.Port > 65535 {
		problems.Add(n.At("port"), "port must be from 1 to 65535, not %d", s.Port)
	}
	base := strings.TrimRight(s.URL, "/")
	if base != "" && !isHTTP(base) {
		problems.Add(n.At("url"),
			"url must be the address that clients use, such as https://content.example.org, not %q", s.URL)
	}
	s.URL = base
	for _, p := range f.TrustedProxies {
		if p := netip.Prefix(p); p.IsValid() {
			s.TrustedProxies = append(s.TrustedProxies, p)
		}
	}
	if f.CORS.MaxAge != nil {
		s.CORS.MaxAge = int(*f.CORS.MaxAge / time.Second)
	}
	for _, o := range s.CORS.Origins {
		if o != "*" && (!isHTTP(o) || strings.Count(o, "/") > 2) {
			problems.Add(n.At("cors", "origin"),
				"an origin is * or a scheme, host and port without a path, such as https://www.example.org, not %q", o)
		}
	}
	problems = append(problems, s.Limits.check(n)...)
	problems = append(problems, s.Tracing.check(n)...)
	problems = append(problems, s.Replica.check(n, f.Replica.Writes)...)
	problems = append(problems, s.Cluster.check(n, f.Cluster.Vote)...)
	if s.Cluster.Name != "" && s.Replica.URL != "" {
		problems.Add(n.At("cluster"),
			"a server cannot be both a replica and a node of a cluster: remove replica or cluster")
	}
	if s.Cluster.Name != "" && s.Log.Keep == 0 {
		problems.Add(n.At("log", "keep"),
			"keep must not be 0 on a node of a cluster: the nodes agree to entries of this log")
	}
	problems = append(problems, s.Log.check(n, f.Log.Level)...)
	problems = append(problems, s.Metrics.check(n)...)
	problems = append(problems, s.Idempotency.check(n)...)
	problems = append(problems, s.TLS.check(n)...)
	problems = append(problems, s.Desk.check(n)...)
	return together(unfit, problems)
}

// check sets the level, and reports settings of the log that are out of range.
func (l *Log) check(n *yamlfile.Node, level string) (problems yamlfile.Problems) {
	if err := l.Level.UnmarshalText([]byte(level)); err != nil {
		problems.Add(n.At("log", "level"), "level must be debug, info, warn or error, not %q", level)
	}
	if !slices.Contains([]string{"", "text", "json"}, l.Format) {
		problems.Add(n.At("log", "format"), "format must be text or json, not %q", l.Format)
	}
	if !(l.Sample >= 0 && l.Sample <= 1) {
		problems.Add(n.At("log", "sample"),
			"sample must be from 0 to 1: it is the share of successful requests that is logged")
	}
	if l.Keep != 0 && l.Keep < time.Minute {
		problems.Add(n.At("log", "keep"), "keep must be a minute or longer, such as 30d; 0 keeps no log of changes")
	}
	if l.MaxSize < minLogSize {
		problems.Add(n.At("log", "maxSize"),
			"maxSize must be 1mb or more, such as 1gb; keep: 0 switches the log of changes off")
	}
	return problems
}

// check reports settings of idempotency that are out of range.
func (i *Idempotency) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	if i.Keep != 0 && i.Keep < time.Minute {
		problems.Add(n.At("idempotency", "keep"),
			"keep must be a minute or longer, such as 24h; 0 refuses requests with an Idempotency-Key")
	}
	if i.MaxKeys < 1 {
		problems.Add(n.At("idempotency", "maxKeys"), "maxKeys must be 1 or more: it is how many answers are kept")
	}
	if i.MaxAnswer < 1<<10 {
		problems.Add(n.At("idempotency", "maxAnswer"), "maxAnswer must be 1kb or more")
	}
	if i.MaxSize < 2*i.MaxAnswer {
		problems.Add(n.At("idempotency", "maxSize"), "maxSize must be at least twice maxAnswer (%s), such as 64mb",
			ByteSize(i.MaxAnswer))
	}
	return problems
}

// check reports a path that cannot be one.
func (d *Desk) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	d.Path = strings.TrimRight(d.Path, "/")
	if !deskPath.MatchString(d.Path) {
		problems.Add(n.At("desk", "path"), "path must be a path of letters, digits, hyphens and slashes, such as /desk, not %q", d.Path)
	}
	return problems
}

var deskPath = regexp.MustCompile(`^(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// minLogSize is how many bytes the log of changes may take at least.
const minLogSize = 1 << 20

// minMetricsToken is how many characters the token of metrics has at least.
const minMetricsToken = 16

// check reports settings of metrics that cannot work.
func (m *Metrics) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	if n.Get("metrics").IsNull() {
		return nil
	}
	if m.Listen == "" && m.Token == "" {
		problems.Add(n.At("metrics"),
			"metrics need an address of their own (listen: 127.0.0.1:9464), or a token (token: ${METRICS_TOKEN}); "+
				"leave metrics out to switch them off")
	}
	if _, port, err := net.SplitHostPort(m.Listen); m.Listen != "" && (err != nil || port == "") {
		problems.Add(n.At("metrics", "listen"), "listen must be an address and a port, such as 127.0.0.1:9464, not %q",
			m.Listen)
	}
	if m.Token != "" && len(m.Token) < minMetricsToken {
		problems.Add(n.At("metrics", "token"), "the token must have at least %d characters", minMetricsToken)
	}
	return problems
}

// check reports settings of tracing that are out of range.
func (t *Tracing) check(n *yamlfile.Node) (problems yamlfile.Problems) {
	if t.Endpoint != "" && !isHTTP(t.Endpoint) {
		problems.Add(n.At("tracing", "endpoint"),
			"endpoint must be the URL of an OpenTelemetry collector, such as http://127.0.0.1:4318, "+
				"without credentials; those go into headers")
	}
	if !(t.Sample >= 0 && t.Sample <= 1) {
		problems.Add(n.At("tracing", "sample"),
			"sample must be from 0 to 1: it is the share of requests that is traced")
	}
	return problems
}

// check sets Forward, and reports settings of a replica that are incomplete.
func (r *Replica) check(n *yamlfile.Node, writes string) (problems yamlfile.Problems) {
	if writes != "refuse" && writes != "forward" {
		problems.Add(n.At("replica", "writes"), "writes must be refuse or forward, not %q", writes)
	}
	r.Forward = writes == "forward"
	switch {
	case r.URL == "" && (r.Token != "" || r.Forward || !r.Part.All()):
		problems.Add(n.At("replica"), "replica needs url, the address of the server to follow")
	case r.URL != "" && !isHTTP(r.URL):
		problems.Add(n.At("replica", "url"),
			"url must be the address of a server, such as https://cms.example.com, without credentials")
	case r.URL != "" && r.Token == "":
		problems.Add(n.At("replica"),
			"replica needs token, an API token of the server at url with the permission lectern::replica.follow, "+
				"such as ${LECTERN_REPLICA_TOKEN}")
	}
	return problems
}

// isHTTP reports whether s is an http or https URL without credentials, query and fragment.
func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == ""
}

// A wordList is written as a text or as a list of texts.
type wordList []string

func (w *wordList) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	if n.Kind == yamlfile.Text {
		*w = wordList{n.Text}
		return nil
	}
	if n.Kind != yamlfile.List {
		return yamlfile.Problems{n.Problem("this must be a text or a list of texts")}
	}
	var list []string
	problems := n.Decode(&list)
	*w = list
	return problems
}

// A ByteSize is a number of bytes, written as 1048576, 56kb or 10mb.
type ByteSize int64

var byteUnits = []struct {
	suffix string
	factor int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"b", 1},
	{"", 1}}

// String returns the size in the largest unit that divides it.
func (b ByteSize) String() string {
	text := strconv.FormatInt(int64(b), 10)
	for _, u := range byteUnits { // from small to large, so that the last that divides b remains
		if n := int64(b); u.factor > 1 && n >= u.factor && n%u.factor == 0 {
			text = strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return text
}

func (b *ByteSize) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	text := strings.ToLower(strings.TrimSpace(n.Text))
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok || n.Kind >= yamlfile.List {
			continue
		}
		if i, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 32); err == nil && i >= 0 {
			*b = ByteSize(i * u.factor)
			return nil
		}
	}
	return yamlfile.Problems{n.Problem("a size is a number of bytes, such as 1048576, 56kb or 10mb")}
}

// days is a duration that may be written in days: 30d.
type days time.Duration

func (d days) String() string {
	if day := 24 * time.Hour; time.Duration(d)%day == 0 {
		return strconv.Itoa(int(time.Duration(d)/day)) + "d"
	}
	return time.Duration(d).String()
}

func (d *days) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	duration, ok := ParseLifespan(strings.TrimSpace(n.Text))
	if !ok && strings.TrimRight(strings.TrimSpace(n.Text), "sd") != "0" || n.Kind >= yamlfile.List {
		return yamlfile.Problems{n.Problem("this must be a time such as 30d or 12h, or 0")}
	}
	*d = days(duration)
	return nil
}

// A netPrefix is written as a range of addresses or as one address.
type netPrefix netip.Prefix

func (p *netPrefix) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	if prefix, err := netip.ParsePrefix(n.Text); err == nil {
		*p = netPrefix(prefix.Masked())
		return nil
	}
	if addr, err := netip.ParseAddr(n.Text); err == nil {
		*p = netPrefix(netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	return yamlfile.Problems{n.Problem("this is an address or a range, such as 10.0.0.1 or 10.0.0.0/8, not %q", n.Text)}
}

// CORS holds the settings for pages of other origins that read answers.
type CORS struct {
	Origins []string // the origins whose pages may read answers; "*" or none: every origin
	Methods []string // in the answer to a preflight; empty: all
	Headers []string // in the answer to a preflight; empty: Content-Type, Authorization, Origin, Accept
	Expose  []string // the headers that pages of other origins may read; empty: those of Lectern that tell a client something
	MaxAge  int      // seconds for which browsers may cache the answer to a preflight; 0: a year
}

// AnyOrigin reports whether pages of all origins may read answers.
func (c *CORS) AnyOrigin() bool { return len(c.Origins) == 0 || slices.Contains(c.Origins, "*") }
