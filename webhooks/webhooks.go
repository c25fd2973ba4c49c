// Package webhooks tells other servers what happened to content: it reads the log of the store, and sends each event to
// the hooks that ask for it, as an HTTP request.
//
// It promises:
//
//   - At least once. An event counts as delivered when its receiver has answered 2xx. How far a hook has come is kept
//     in the store. After a crash, events that were delivered after the oldest one that was still waiting or under way
//     may be sent again, with the same ids: mostly those of the last second, and with a slow receiver those of the last
//     20 seconds or more.
//   - In order for each document. The events of a document are sent one after the other. One that fails holds back the
//     later events of its document, and nothing else.
//   - For three days. A failed event is tried again after pauses that grow up to six hours. It then becomes a dead
//     letter, which is kept and can be replayed.
//   - Only to public addresses, unless a hook names others (see guard.go).
//
// A Dispatcher runs one sender for each hook. Reading the source: sender.go holds the loop of a sender, and queue.go
// the order in which it sends. log.go reads events from the log, payload.go makes requests of them, attempt.go sends
// one. state.go keeps in the store what must survive a restart.
//
// # How it works
//
// Each sender is one goroutine. It reads the log, puts the events that its hook wants into a queue, and sends them.
//
//   - Progress. The position of a sender is a sequence of the log: all up to it is settled. It does not wait for
//     documents whose events fail, because that would repeat three days of events after a restart; their events are
//     kept beside it. All this lies in notes of the store, which are durable and part of backups, but no content, so
//     that they add nothing to the log that they follow. A sender writes the notes that have changed, a second after a
//     delivery at the latest.
//   - Payloads are made for each attempt. The version is the row in the entry of the log, so an event that is sent late
//     shows what happened then.
//   - Addresses. The guard looks at the address of each connection after names were resolved, so no name leads to
//     another address than the one that was checked.
package webhooks

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// A Hook is an address that gets events.
type Hook struct {
	Name   string
	URL    string
	Events []string // names of events; never empty
	Types  []string // uids of content-types; empty: all but users
	// Secrets sign each request, the first one first; none: requests are not signed.
	Secrets      []Secret
	Headers      map[string]string // added to each request
	Format       Format
	Disabled     bool
	AllowPrivate []netip.Prefix // addresses to which requests may be sent although they are not public
}

// A Format is the form of the requests of a hook.
type Format string

const (
	// Standard has the payload and signatures of Standard Webhooks.
	Standard Format = "standard"
	// Strapi has the payload and the header of the reference.
	Strapi Format = "strapi"
)

// The names of events.
const (
	EntryCreate    = "entry.create"
	EntryUpdate    = "entry.update"
	EntryDelete    = "entry.delete"
	EntryPublish   = "entry.publish"
	EntryUnpublish = "entry.unpublish"
	MediaCreate    = "media.create"
	MediaUpdate    = "media.update"
	MediaDelete    = "media.delete"

	// logReset is sent to hooks in the format Standard when the log has lost entries that were not delivered.
	logReset = "log.reset"
)

// Events returns the names of the events that a hook can ask for.
func Events() []string {
	return []string{EntryCreate, EntryUpdate, EntryDelete, EntryPublish, EntryUnpublish, MediaCreate, MediaUpdate,
		MediaDelete}
}

// CanSend reports whether the documents of a type may have events: those of the project's own types, files and users.
func CanSend(t *contenttypes.ContentType) bool {
	return !t.BuiltIn || t.UID == contenttypes.FileUID || t.UID == contenttypes.UserUID
}

// wants reports whether the hook asks for an event. Events of users are sent to hooks alone that name their type.
func (h *Hook) wants(e *Event) bool {
	if len(h.Types) == 0 {
		return slices.Contains(h.Events, e.Name) && e.Type != contenttypes.UserUID
	}
	return slices.Contains(h.Events, e.Name) && slices.Contains(h.Types, e.Type)
}

// minSecret is how long a text at least is that may be a credential.
const minSecret = 8

// withoutSecrets returns a text without what may be a credential of the hook: receivers like to repeat the path of a
// request, which is all that protects many of them.
func (h *Hook) withoutSecrets(text string) string {
	secrets := slices.Collect(maps.Values(h.Headers))
	if u, err := url.Parse(h.URL); err == nil {
		secrets = append(secrets, u.EscapedPath(), u.Path, u.RawQuery)
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // whole ones first
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// Address returns the address of the hook without what may be a credential: the path is one for many receivers.
func (s *Status) Address() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	address := u.Scheme + "://" + u.Host + "/"
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		address += "…"
	}
	return address
}

// shownURL returns the URL without what may be a credential: user, password, and the values of the query.
func (h *Hook) shownURL() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return ""
	}
	if u.User = nil; u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath() + strings.TrimSuffix("?"+u.RawQuery, "?")
}
