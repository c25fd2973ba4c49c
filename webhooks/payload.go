package webhooks

import (
	"context"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A payload is the body of a request and what its headers say about it.
type payload struct {
	id   string
	name string // of the event
	body []byte
}

// payload returns the payload of an event for a hook. The document is as the event left it, or as it was before the
// event removed it; what it leads to is as it is now, and left out if it was deleted. It is null if the log does not
// have it any more.
func (c *Content) payload(ctx context.Context, h *Hook, e *Event) (p payload, err error) {
	document := []byte("null")
	err = c.Store.View(func(s *store.Snapshot) error {
		s.Within(ctx, 0)
		r, err := c.version(s, e)
		if err != nil || !r.Exists() {
			return err
		}
		document, err = c.Document(ctx, nil, s, r, !e.isMedia() && e.Name != EntryDelete)
		return err
	})
	if err != nil {
		return p, err
	}
	p = payload{id: e.id(h.Name), name: e.Name}
	if h.Format == Strapi {
		p.body = c.strapiBody(e, document)
	} else {
		p.body = standardBody(e, document)
	}
	return p, nil
}

// standardBody returns {type, timestamp, data}, as Standard Webhooks recommends.
func standardBody(e *Event, document []byte) []byte {
	b := appendMember([]byte(`{`), "type", e.Name)
	b = appendMember(b, "timestamp", e.Time.UTC().Format(contenttypes.TimeFormat))
	b = append(b, `,"data":{`...)
	if e.Name == logReset {
		return append(b, "}}"...)
	}
	b = appendMember(b, "contentType", e.Type)
	b = appendMember(b, "documentId", e.Document)
	b = append(b, `,"locale":`...)
	if e.Locale == "" {
		b = append(b, "null"...)
	} else {
		b = jsontree.AppendString(b, e.Locale)
	}
	b = appendMember(b, "status", e.Status.String())
	b = appendMember(b, "seq", store.Position{Epoch: e.Epoch, Sequence: e.Sequence}.String())
	b = append(append(b, `,"document":`...), document...)
	return append(b, "}}"...)
}

// strapiBody returns the body that the reference sends: {event, createdAt, model, uid, entry}, or {event, createdAt,
// media} for a file.
func (c *Content) strapiBody(e *Event, document []byte) []byte {
	if string(document) == "null" {
		document = appendMember([]byte(`{`), "documentId", e.Document)
		if e.Locale != "" {
			document = appendMember(document, "locale", e.Locale)
		}
		document = append(document, '}')
	}
	b := appendMember([]byte(`{`), "event", e.Name)
	b = appendMember(b, "createdAt", e.Time.UTC().Format(contenttypes.TimeFormat))
	if e.isMedia() {
		b = append(b, `,"media":`...)
	} else {
		b = appendMember(b, "model", modelName(c.Model.Type(e.Type), e.Type))
		b = appendMember(b, "uid", e.Type)
		b = append(b, `,"entry":`...)
	}
	return append(append(b, document...), '}')
}

// modelName returns the name of a type in payloads of the reference. t is nil if the type is not defined any more.
func modelName(t *contenttypes.ContentType, uid string) string {
	if t != nil {
		return t.Singular
	}
	return uid[strings.LastIndexByte(uid, '.')+1:]
}

// appendMember appends a member with a text to a JSON object.
func appendMember(b []byte, key, text string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(jsontree.AppendString(b, key), ':')
	return jsontree.AppendString(b, text)
}

// testPayload returns the payload that tries whether a hook works.
func testPayload(h *Hook, id string, now time.Time) payload {
	at := now.UTC().Format(contenttypes.TimeFormat)
	if h.Format == Strapi {
		b := appendMember([]byte(`{`), "event", "trigger-test")
		return payload{id, "trigger-test", append(appendMember(b, "createdAt", at), '}')}
	}
	b := appendMember(appendMember([]byte(`{`), "type", "webhooks.test"), "timestamp", at)
	return payload{id, "webhooks.test", append(b, `,"data":{}}`...)}
}
