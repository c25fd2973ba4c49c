package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/internal/yamlfile"
)

// serverFile is config/server.yaml as written.
type serverFile struct {
	Host           string
	Port           int
	URL            string
	TrustedProxies []netPrefix `yaml:"trustedProxies"`
	Compress       bool
	CORS           struct {
		Origin  wordList
		Methods wordList
		Headers wordList
		MaxAge  time.Duration `yaml:"maxAge"`
	}
	Limits struct {
		JSON       ByteSize
		Form       ByteSize
		Headers    ByteSize
		Memory     ByteSize
		Answer     ByteSize
		AnswerRate ByteSize `yaml:"answerRate"`
		BodyRate   ByteSize `yaml:"bodyRate"`
		Links      int
		Components int

		Concurrent            int
		ConcurrentPerAddress  int `yaml:"concurrentPerAddress"`
		Connections           int
		ConnectionsPerAddress int `yaml:"connectionsPerAddress"`
	}
	Timeouts struct {
		Header   time.Duration
		Read     time.Duration
		Write    time.Duration
		Idle     time.Duration
		Request  time.Duration
		Shutdown time.Duration
	}
	Log struct {
		Level  string
		Format string
	}
}

// readServer reads config/server.yaml.
func (s *Server) readServer(n *yamlfile.Node) yamlfile.Problems {
	f := serverFile{Host: s.Host, Port: s.Port, Compress: s.Compress}
	f.Log.Level = "info"
	l := &s.Limits
	f.Limits.JSON, f.Limits.Form, f.Limits.Headers = ByteSize(l.JSONBytes), ByteSize(l.FormBytes), ByteSize(l.HeaderBytes)
	f.Limits.Links, f.Limits.Components, f.Limits.BodyRate = l.Links, l.Components, ByteSize(l.BodyRate)
	f.Limits.Concurrent, f.Limits.ConcurrentPerAddress = l.Concurrent, l.ConcurrentPerAddress
	f.Limits.Connections, f.Limits.ConnectionsPerAddress = l.Connections, l.ConnectionsPerAddress
	f.Limits.Memory, f.Limits.Answer, f.Limits.AnswerRate = ByteSize(l.Memory), ByteSize(l.AnswerBytes), ByteSize(l.AnswerRate)
	f.Timeouts.Header, f.Timeouts.Read, f.Timeouts.Write = l.ReadHeader, l.Read, l.Write
	f.Timeouts.Idle, f.Timeouts.Request, f.Timeouts.Shutdown = l.Idle, l.Handle, l.Shutdown

	unfit := n.Decode(&f)
	var problems yamlfile.Problems
	wrong := func(at *yamlfile.Node, format string, args ...any) {
		problems = append(problems, at.Problem(format, args...))
	}

	s.Host, s.Port, s.Compress = f.Host, f.Port, f.Compress
	if f.Port < 1 || f.Port > 65535 {
		wrong(n.At("port"), "port must be from 1 to 65535, not %d", f.Port)
	}
	s.URL = strings.TrimRight(f.URL, "/")
	if s.URL != "" && !isHTTP(s.URL) {
		wrong(n.At("url"), "url must be the address that clients use, such as https://content.example.org, not %q", f.URL)
	}
	for _, p := range f.TrustedProxies {
		if p := netip.Prefix(p); p.IsValid() {
			s.TrustedProxies = append(s.TrustedProxies, p)
		}
	}

	s.CORS = CORS{Origins: f.CORS.Origin, Methods: f.CORS.Methods, Headers: f.CORS.Headers, MaxAge: int(f.CORS.MaxAge / time.Second)}
	for _, o := range s.CORS.Origins {
		if o != "*" && (!isHTTP(o) || strings.Count(o, "/") > 2) {
			wrong(n.At("cors", "origin"), "an origin is * or a scheme, host and port without a path, such as https://www.example.org, not %q", o)
		}
	}

	l.JSONBytes, l.FormBytes, l.HeaderBytes = int64(f.Limits.JSON), int64(f.Limits.Form), int(f.Limits.Headers)
	l.Links, l.Components, l.BodyRate = f.Limits.Links, f.Limits.Components, int64(f.Limits.BodyRate)
	l.Concurrent, l.ConcurrentPerAddress = f.Limits.Concurrent, f.Limits.ConcurrentPerAddress
	l.Connections, l.ConnectionsPerAddress = f.Limits.Connections, f.Limits.ConnectionsPerAddress
	l.Memory, l.AnswerBytes, l.AnswerRate = int64(f.Limits.Memory), int64(f.Limits.Answer), int64(f.Limits.AnswerRate)
	if l.Memory != 0 && l.Memory < minAnswers*l.AnswerBytes {
		wrong(n.At("limits", "memory"), "memory must be at least twice limits.answer (%s): it is what all requests take together; leave it out for a quarter of the machine's",
			f.Limits.Answer)
	}
	for key, size := range map[string]ByteSize{"json": f.Limits.JSON, "form": f.Limits.Form, "headers": f.Limits.Headers,
		"answer": f.Limits.Answer, "answerRate": f.Limits.AnswerRate} {
		if size < 1<<10 || size > 1<<30 {
			wrong(n.At("limits", key), "%s must be from 1kb to 1gb", key)
		}
	}
	for key, most := range map[string]int{"links": l.Links, "components": l.Components} {
		if most < 1 {
			wrong(n.At("limits", key), "%s must be 1 or more: it is how many of them one write may have", key)
		}
	}

	l.checkClients(n, wrong)

	l.ReadHeader, l.Read, l.Write = f.Timeouts.Header, f.Timeouts.Read, f.Timeouts.Write
	l.Idle, l.Handle, l.Shutdown = f.Timeouts.Idle, f.Timeouts.Request, f.Timeouts.Shutdown
	for key, d := range map[string]time.Duration{"header": l.ReadHeader, "read": l.Read, "write": l.Write, "idle": l.Idle,
		"request": l.Handle, "shutdown": l.Shutdown} {
		if d <= 0 {
			wrong(n.At("timeouts", key), "%s must be more than nothing, such as 30s", key)
		}
	}

	if err := s.LogLevel.UnmarshalText([]byte(f.Log.Level)); err != nil {
		wrong(n.At("log", "level"), "level must be debug, info, warn or error, not %q", f.Log.Level)
	}
	s.LogFormat = f.Log.Format
	if !slices.Contains([]string{"", "text", "json"}, f.Log.Format) {
		wrong(n.At("log", "format"), "format must be text or json, not %q", f.Log.Format)
	}
	return together(unfit, problems)
}

// checkClients reports invalid limits on clients: on requests, connections and the rate of bodies.
func (l *Limits) checkClients(n *yamlfile.Node, wrong func(at *yamlfile.Node, format string, args ...any)) {
	for _, c := range []struct {
		key   string
		count int
		what  string
	}{
		{"concurrent", l.Concurrent, "requests are answered at a time"},
		{"connections", l.Connections, "connections there may be at a time"},
		{"bodyRate", int(l.BodyRate), "bytes of a body must come each second"},
	} {
		if c.count < 1 {
			wrong(n.At("limits", c.key), "%s must be 1 or more: it is how many %s", c.key, c.what)
		}
	}
	for _, c := range []struct {
		key, of    string
		share, all int
	}{
		{"concurrentPerAddress", "concurrent", l.ConcurrentPerAddress, l.Concurrent},
		{"connectionsPerAddress", "connections", l.ConnectionsPerAddress, l.Connections},
	} {
		if c.share < 0 || c.share > c.all {
			wrong(n.At("limits", c.key), "%s must be from 1 to limits.%s (%d), of which it is the share of one address", c.key, c.of, c.all)
		}
	}
}

// isHTTP reports whether s is an http or https URL without credentials, query and fragment.
func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
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
}{{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30}, {"b", 1}, {"", 1}}

// String returns the size in the largest unit of which it is a whole number.
func (b ByteSize) String() string {
	text := strconv.FormatInt(int64(b), 10)
	for _, u := range byteUnits { // the largest of which it is a whole number is the last
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
	return yamlfile.Problems{n.Problem("a trusted proxy is an address or a range, such as 10.0.0.1 or 10.0.0.0/8, not %q", n.Text)}
}

// CORS is which pages of other origins may read answers.
type CORS struct {
	Origins []string // "*" is any; empty: any
	Methods []string // in the answer to a preflight; empty: all
	Headers []string // in the answer to a preflight; empty: Content-Type, Authorization, Origin, Accept
	MaxAge  int      // seconds that a browser may keep the answer to a preflight; 0: a year
}

// AnyOrigin reports whether pages of all origins may read answers.
func (c *CORS) AnyOrigin() bool { return len(c.Origins) == 0 || slices.Contains(c.Origins, "*") }
