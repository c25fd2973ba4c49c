package config

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
	"lectern/webhooks"
)

// webhooksFile is config/webhooks.yaml as written.
type webhooksFile struct {
	Webhooks []webhookFile
}

type webhookFile struct {
	// name of the webhook: lower-case letters, digits and `-`. What was delivered is remembered by it
	Name string `yaml:",required"`
	// address that is sent a request for each event
	URL string `yaml:",required"`
	// events that are sent: `entry.create`, `entry.update`, `entry.delete`, `entry.publish`, `entry.unpublish`,
	// `media.create`, `media.update`, `media.delete`
	// Default: all
	Events []string
	// uids of the content-types whose events are sent
	// Default: all but users
	Types []string
	// secret that signs requests: `whsec_` and 24 to 64 bytes in base64; a list while you replace one
	// Default: requests are not signed
	Secret wordList
	// headers of each request, such as a credential
	// Default: none
	Headers map[string]string
	// form of the requests: `standard` (Standard Webhooks) or `strapi`
	// Default: `standard`
	Format string
	// `false` sends nothing and forgets what was not delivered
	// Default: `true`
	Enabled *bool
	// addresses and ranges (`10.0.0.0/8`) that are not public and to which requests may still go
	// Default: none
	AllowPrivate []netPrefix `yaml:"allowPrivate"`
}

var webhookName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// readWebhooks reads config/webhooks.yaml. m is nil if the content types have problems.
func (s *Settings) readWebhooks(n *yamlfile.Node, m *contenttypes.Model) yamlfile.Problems {
	var f webhooksFile
	unfit := n.Decode(&f)
	var problems yamlfile.Problems
	for i, w := range f.Webhooks {
		at := n.At("webhooks").Items[i]
		if slices.ContainsFunc(s.Webhooks, func(x webhooks.Hook) bool { return x.Name == w.Name }) {
			problems.Add(at.At("name"), "name is that of a webhook above; give each its own")
		}
		h, found := w.hook(at, m)
		s.Webhooks = append(s.Webhooks, h)
		problems = append(problems, found...)
	}
	if len(f.Webhooks) > 0 && s.Server.Log.Keep == 0 {
		problems.Add(n.At("webhooks"),
			"webhooks are sent from the log of changes, which log.keep: 0 in config/server.yaml switches off; "+
				"leave log.keep out")
	}
	return together(unfit, problems)
}

// hook returns the Hook that w describes, and its problems.
func (w *webhookFile) hook(at *yamlfile.Node, m *contenttypes.Model) (h webhooks.Hook, problems yamlfile.Problems) {
	h = webhooks.Hook{Name: w.Name, URL: w.URL, Events: w.Events, Types: w.Types, Headers: w.Headers,
		Format: webhooks.Format(w.Format)}
	h.Disabled = w.Enabled != nil && !*w.Enabled
	for _, p := range w.AllowPrivate {
		h.AllowPrivate = append(h.AllowPrivate, netip.Prefix(p))
	}
	if !webhookName.MatchString(w.Name) {
		problems.Add(at.At("name"),
			"name must be lower-case letters, digits and -, at most 63, such as search-index, not %q", w.Name)
	}
	if u, err := url.Parse(w.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.Fragment != "" {
		problems.Add(at.At("url"),
			"url must be an address such as https://www.example.org/hook") // without its value: it may hold a credential
	}
	if h.Format == "" {
		h.Format = webhooks.Standard
	}
	if h.Format != webhooks.Standard && h.Format != webhooks.Strapi {
		problems.Add(at.At("format"), "format must be standard or strapi, not %q", w.Format)
	}
	for i, text := range w.Secret {
		secret, err := webhooks.ParseSecret(text)
		if err != nil {
			problems.Add(itemOf(at.At("secret"), i), "%v", err)
		}
		h.Secrets = append(h.Secrets, secret)
	}
	if len(h.Events) == 0 {
		h.Events = webhooks.Events()
	}
	problems = append(problems, w.checkEvents(at)...)
	problems = append(problems, w.checkTypes(at, m)...)
	return h, append(problems, w.checkHeaders(at)...)
}

// itemOf returns item i of a list, or n itself if it is no list.
func itemOf(n *yamlfile.Node, i int) *yamlfile.Node {
	if i < len(n.Items) {
		return n.Items[i]
	}
	return n
}

func (w *webhookFile) checkEvents(at *yamlfile.Node) (problems yamlfile.Problems) {
	for i, event := range w.Events {
		if !slices.Contains(webhooks.Events(), event) {
			problems.Add(itemOf(at.At("events"), i), "there is no event %q; there are %s", event,
				strings.Join(webhooks.Events(), ", "))
		}
	}
	return problems
}

func (w *webhookFile) checkTypes(at *yamlfile.Node, m *contenttypes.Model) (problems yamlfile.Problems) {
	for i, uid := range w.Types {
		if m == nil {
			break
		}
		if t := m.Type(uid); t == nil || !webhooks.CanSend(t) {
			problems.Add(itemOf(at.At("types"), i),
				"there is no content-type %q with events; write its uid, such as api::article.article", uid)
		}
	}
	return problems
}

// ownHeaders are the headers that the server sets itself.
var ownHeaders = []string{"Content-Length", "Transfer-Encoding", "Connection", "Content-Type", "Webhook-Id",
	"Webhook-Timestamp", "Webhook-Signature", "X-Strapi-Event"}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }

func (w *webhookFile) checkHeaders(at *yamlfile.Node) (problems yamlfile.Problems) {
	for _, e := range at.At("headers").Entries {
		wrong := func(format string, args ...any) {
			problems = append(problems, at.EntryProblem(e, format, args...))
		}
		switch {
		case slices.Contains(ownHeaders, http.CanonicalHeaderKey(e.Key)):
			wrong("the server sets the header %s itself; leave it out", e.Key)
		case !headerName.MatchString(e.Key):
			wrong("%q is no name of a header", e.Key)
		case strings.ContainsFunc(w.Headers[e.Key], isControl):
			wrong("the value of the header %s has characters that a header cannot have", e.Key)
		}
	}
	return problems
}
