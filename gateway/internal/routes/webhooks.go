package routes

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/webhooks"
)

// WebhooksPath is the path of webhooks, below the prefix of the API.
const WebhooksPath = "/_webhooks"

// WebhookOptions are what the routes of webhooks need.
type WebhookOptions struct {
	Prefix string // of the content API
	Hooks  *webhooks.Dispatcher
	Limits server.Limits
	// Refused returns the answer of a server whose webhooks another one sends; nil if it sends them itself.
	Refused func() error
}

// Webhooks returns the routes at which callers see how webhooks are doing, test them, and have events sent again. No
// answer has a credential of a webhook.
func Webhooks(o WebhookOptions) []server.Route {
	at := o.Prefix + WebhooksPath
	const find, replay = "lectern::webhook.find", "lectern::webhook.replay"
	return []server.Route{
		{Method: http.MethodGet, Path: at, Action: find, Handle: o.here(o.list)},
		{Method: http.MethodGet, Path: at + "/{name}/deliveries", Action: find, Handle: o.here(o.deliveries)},
		{Method: http.MethodPost, Path: at + "/{name}/actions/test", Action: replay, Handle: o.sending(o.test)},
		{Method: http.MethodPost, Path: at + "/{name}/actions/replay", Action: replay, Handle: o.sending(o.replay)},
	}
}

// IsOfWebhooks reports whether a path is that of one of the routes of webhooks.
func IsOfWebhooks(path, prefix string) bool {
	at := len(prefix) + len(WebhooksPath)
	return len(path) >= at && strings.EqualFold(path[len(prefix):at], WebhooksPath) &&
		strings.EqualFold(path[:len(prefix)], prefix) && (len(path) == at || path[at] == '/')
}

// here returns a handler that answers at the server alone that sends the webhooks.
func (o *WebhookOptions) here(handle server.Handler) server.Handler {
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
		if err := o.Refused(); err != nil {
			return err
		}
		return handle(w, r, who)
	}
}

// send answers with data.
func (o *WebhookOptions) send(w http.ResponseWriter, r *http.Request, data any) error {
	return o.Limits.SendJSON(w, r, http.StatusOK, server.DataBody(data))
}

// failure returns the answer to a client whose request a Dispatcher has not carried out.
func failure(err error) error {
	var refusal *webhooks.Refusal
	switch {
	case !errors.As(err, &refusal):
		return err
	case refusal.Missing:
		return apierror.NotFound()
	}
	return apierror.Validation(refusal.Message)
}

// GET /api/_webhooks: how each webhook is doing, in the order of the configuration.
func (o *WebhookOptions) list(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	all, err := o.Hooks.List(r.Context())
	if err != nil {
		return failure(err)
	}
	list := []any{}
	for i := range all {
		list = append(list, describeWebhook(&all[i]))
	}
	return o.send(w, r, list)
}

func describeWebhook(h *webhooks.Status) *jsontree.Object {
	state := "on"
	switch {
	case h.Disabled:
		state = "disabled"
	case h.Stopped != "":
		state = "stopped"
	case h.Down:
		state = "down"
	}
	var types any // all but users
	if len(h.Types) > 0 {
		types = jsontree.ListOf(h.Types)
	}
	return jsontree.ObjectOf("name", h.Name, "url", h.Address(), "format", string(h.Format), "events",
		jsontree.ListOf(h.Events), "types", types, "state", state, "reason", textOr(h.Stopped), "waiting",
		number(h.Waiting), "unread", number(h.Unread), "oldest", timeOr(h.Oldest), "dead", number(h.Dead), "delivered",
		number(h.Counters.Delivered), "failed", number(h.Counters.Failed), "lostEntries",
		number(h.Counters.LostEntries))
}

// GET /api/_webhooks/{name}/deliveries: the last attempts, what is tried again, and the dead letters; the last ones
// first.
func (o *WebhookOptions) deliveries(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	log, err := o.Hooks.Log(r.Context(), mux.Vars(r)["name"])
	if err != nil {
		return failure(err)
	}
	open := map[string]string{} // the states of events that are not delivered, by id
	pending, dead := []any{}, []any{}
	for _, e := range slices.Backward(log.Waiting) {
		open[e.ID] = "pending"
		pending = append(pending, describeEvent(e.Event, e.ID, "attempts", number(e.Attempts), "nextAt", timeOr(e.Next),
			"later", number(e.Behind), "error", textOr(e.Reason)))
	}
	for _, e := range slices.Backward(log.Dead) {
		open[e.ID] = "dead"
		dead = append(dead, describeEvent(e.Event, e.ID, "attempts", number(e.Attempts), "givenUpAt",
			timeOr(e.GivenUp), "error", textOr(e.Reason)))
	}
	attempts := []any{}
	for _, d := range slices.Backward(log.Deliveries) {
		state := "delivered"
		if d.Error != "" {
			state = "failed"
			if later := open[d.ID]; later != "" {
				state = later
			}
		}
		delete(open, d.ID) // only the last attempt says what comes next
		var answered any
		if d.Status != 0 {
			answered = number(d.Status)
		}
		attempts = append(attempts, describeEvent(d.Event, d.ID, "at", timeOr(d.At), "attempt", number(d.Attempt),
			"state", state, "answered", answered, "duration", number(d.Took.Milliseconds()), "error", textOr(d.Error)))
	}
	return o.send(w, r, jsontree.ObjectOf("attempts", attempts, "pending", pending, "dead", dead))
}

// describeEvent describes an event, with more about it.
func describeEvent(e *webhooks.Event, id string, more ...any) *jsontree.Object {
	var status any
	if e.Type != "" {
		status = e.Status.String()
	}
	o := jsontree.ObjectOf("id", id, "event", e.Name, "contentType", textOr(e.Type), "documentId", textOr(e.Document),
		"locale", textOr(e.Locale), "status", status, "happenedAt", timeOr(e.Time))
	for i := 0; i < len(more); i += 2 {
		o.Set(more[i].(string), more[i+1])
	}
	return o
}

// sending returns the handler of a route that has something sent, as the object "data" of the body says.
func (o *WebhookOptions) sending(
	do func(ctx context.Context, name string, data *jsontree.Object) (any, error)) server.Handler {
	return o.here(func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
		body, err := readData(&o.Limits, w, r)
		if err != nil {
			return err
		}
		data, err := do(r.Context(), mux.Vars(r)["name"], body)
		if err != nil {
			return failure(err)
		}
		return o.send(w, r, data)
	})
}

// readData reads the object "data" of a body; an empty one if there is none.
func readData(limits *server.Limits, w http.ResponseWriter, r *http.Request) (*jsontree.Object, error) {
	sent, err := limits.ReadBody(w, r)
	if err != nil || sent == nil {
		return jsontree.NewObject(), err
	}
	outer, ok := sent.(*jsontree.Object)
	if !ok {
		return nil, apierror.Validation("the body is an object")
	}
	data, ok := outer.Get("data")
	if !ok && len(outer.Keys) == 0 {
		return jsontree.NewObject(), nil
	}
	inner, ok := data.(*jsontree.Object)
	if !ok || len(outer.Keys) > 1 {
		return nil, apierror.Validation(`the body has an object "data", and nothing else`)
	}
	return inner, nil
}

// only returns an error if data has a key that is not known.
func only(data *jsontree.Object, known ...string) error {
	for _, key := range data.Keys {
		if !slices.Contains(known, key) {
			return apierror.Validation("there is no " + strconv.Quote(key) + " in data")
		}
	}
	return nil
}

// POST /api/_webhooks/{name}/actions/test: sends a test request, and says how it was answered.
func (o *WebhookOptions) test(ctx context.Context, name string, data *jsontree.Object) (any, error) {
	if err := only(data); err != nil {
		return nil, err
	}
	t, err := o.Hooks.Test(ctx, name)
	if err != nil {
		return nil, err
	}
	var answered any
	if t.Status != 0 {
		answered = number(t.Status)
	}
	return jsontree.ObjectOf("answered", answered, "duration", number(t.Took.Milliseconds()), "error", textOr(t.Error)), nil
}

// POST /api/_webhooks/{name}/actions/replay: has the dead letters sent again, all events since a time, or the event
// with an id.
func (o *WebhookOptions) replay(ctx context.Context, name string, data *jsontree.Object) (any, error) {
	if err := only(data, "since", "id"); err != nil {
		return nil, err
	}
	since, id, err := replayed(data)
	if err != nil {
		return nil, err
	}
	if id != "" {
		if err := o.Hooks.Resend(ctx, name, id); err != nil {
			return nil, err
		}
		return jsontree.ObjectOf("events", number(1)), nil
	}
	r, err := o.Hooks.Replay(ctx, name, since)
	if err != nil {
		return nil, err
	}
	return jsontree.ObjectOf("deadLetters", number(r.DeadLetters), "entries", number(r.Entries), "missing", r.Missing), nil
}

// replayed reads what is to be sent again.
func replayed(data *jsontree.Object) (since time.Time, id string, err error) {
	if v := data.Value("since"); v != nil {
		text, _ := v.(string)
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return since, "", apierror.Validation("since is a time with its zone, such as 2030-01-01T09:00:00Z")
		}
	}
	if v := data.Value("id"); v != nil {
		if id, _ = v.(string); id == "" || !since.IsZero() {
			return since, "", apierror.Validation("id is the id of an event, and comes without since")
		}
	}
	return since, id, nil
}

func number[N int | int64 | uint64](n N) jsontree.Number {
	return jsontree.Number(strconv.FormatInt(int64(n), 10))
}

// textOr returns a text, or null if it is empty.
func textOr(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// timeOr returns a time as the API writes it, or null if it is zero.
func timeOr(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format(contenttypes.TimeFormat)
}
