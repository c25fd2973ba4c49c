package feed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/internal/spelling"
	"lectern/jsontree"
	"lectern/store"
)

// params are the parameters of a request for changes, which hold for any definitions.
type params struct {
	kind      kind
	since     string
	limit     int
	heartbeat time.Duration
	timeout   time.Duration // of a long poll
	types     []string      // nil: all
	locales   []string      // nil: all
	status    store.Status
	document  bool             // show the documents
	selection *jsontree.Object // fields and populate

	// compacted is the selection as JSON, in place of selection, while a subscriber waits.
	compacted []byte
}

// compact returns the parameters without their position, which a subscriber keeps. They share no memory with the
// request, and the lists have no value twice.
func (p *params) compact() *params {
	kept := *p
	kept.since = ""
	kept.types, kept.locales = distinct(p.types), distinct(p.locales)
	if kept.selection = nil; len(p.selection.Keys) > 0 {
		kept.compacted = bytes.Clone(jsontree.Append(nil, p.selection))
	}
	return &kept
}

// distinct returns copies of the texts, in order and without repetitions. It returns nil for nil, which stands for all.
func distinct(texts []string) []string {
	if texts == nil {
		return nil
	}
	sorted := slices.Clone(texts)
	slices.Sort(sorted)
	kept := slices.Clone(slices.Compact(sorted)) // Compact keeps the capacity
	for i, text := range kept {
		kept[i] = strings.Clone(text)
	}
	return slices.Clip(kept)
}

// bytes returns how many bytes compact parameters keep.
func (p *params) bytes() int {
	const perText = 32 // of the allocator, and in the list
	n := len(p.compacted)
	for _, list := range [][]string{p.types, p.locales} {
		for _, text := range list {
			n += len(text) + perText
		}
	}
	return n
}

// shows returns the selection. memory is for its values.
func (p *params) shows(memory jsontree.Memory) (*jsontree.Object, error) {
	if p.compacted == nil {
		return cmp.Or(p.selection, noSelection), nil
	}
	v, err := jsontree.ParseWithin(p.compacted, jsontree.MaxDepth, memory)
	if errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrNever) {
		return nil, err
	}
	selection, _ := v.(*jsontree.Object) // it was printed by compact
	return selection, nil
}

// noSelection is the selection of a request without fields and populate. It must not be changed.
var noSelection = jsontree.NewObject()

// A kind is a way in which changes are answered: the parameter feed.
type kind string

const (
	atOnce      kind = "normal"      // at once
	longPoll    kind = "longpoll"    // at once, or when there are some
	eventStream kind = "eventsource" // one after the other, as they happen
)

// nowText as parameter since stands for the position behind all changes.
const nowText = "now"

const (
	defaultLimit     = 1000
	mostLimit        = 10_000
	defaultHeartbeat = 30 * time.Second
	defaultTimeout   = 60 * time.Second
	leastInterval    = time.Second
	mostInterval     = 10 * time.Minute
)

// paramNames are the parameters that there are.
var paramNames = []string{"since", "limit", "feed", "heartbeat", "timeout", "types", "locale", "status", "include",
	"fields", "populate"}

// parseParams reads the parameters of a request for changes. An unknown one is an error: a filter that is not one must
// not be ignored.
func parseParams(query *jsontree.Object) (*params, error) {
	r := paramsReader{query: query}
	p := &params{
		kind:      kind(r.oneOf("feed", string(atOnce), string(longPoll), string(eventStream))),
		since:     r.text("since"),
		limit:     r.number("limit", defaultLimit, 1, mostLimit),
		heartbeat: r.interval("heartbeat", defaultHeartbeat),
		timeout:   r.interval("timeout", defaultTimeout),
		types:     r.list("types"),
		locales:   r.list("locale"),
		document:  r.oneOf("include", "", "document") != "",
		selection: jsontree.NewObject(),
	}
	if len(p.locales) == 1 && p.locales[0] == "*" {
		p.locales = nil
	}
	if r.oneOf("status", "published", "draft") == "draft" {
		p.status = store.Draft
	}
	for _, key := range query.Keys {
		switch {
		case !slices.Contains(paramNames, key):
			r.failUnknown(key)
		case key == "fields" || key == "populate":
			p.selection.Set(key, query.Value(key))
			if !p.document {
				r.fail(key, "it needs include=document")
			}
		}
	}
	return p, r.err
}

// A paramsReader reads parameters. It keeps the first error.
type paramsReader struct {
	query *jsontree.Object
	err   error
}

func (r *paramsReader) fail(key, why string) {
	if r.err == nil {
		r.err = apierror.Validation(fmt.Sprintf("Invalid parameter %s: %s", key, why))
	}
}

func (r *paramsReader) failUnknown(key string) {
	r.fail(key, strings.TrimSpace("there is no such parameter; "+spelling.Suggest(key, paramNames)))
}

// text returns a parameter, "" if it is missing.
func (r *paramsReader) text(key string) string {
	v, ok := r.query.Get(key)
	text, isText := v.(string)
	if ok && !isText {
		r.fail(key, "it must be one text")
	}
	return text
}

// oneOf returns a parameter that must be one of some values. The first one is the default.
func (r *paramsReader) oneOf(key string, values ...string) string {
	text := r.text(key)
	if text == "" {
		return values[0]
	}
	for _, v := range values {
		if text == v {
			return v // text belongs to the request
		}
	}
	r.fail(key, "it must be "+strings.Join(strings.Fields(strings.Join(values, " ")), " or "))
	return values[0]
}

// number returns a number from least to most.
func (r *paramsReader) number(key string, otherwise, least, most int) int {
	text := r.text(key)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		r.fail(key, fmt.Sprintf("it must be a number from %d to %d", least, most))
	}
	return n
}

// interval returns a time that is given in milliseconds. One that is too short or too long becomes the shortest or
// longest that there is.
func (r *paramsReader) interval(key string, otherwise time.Duration) time.Duration {
	text := r.text(key)
	if text == "" || text == "true" {
		return otherwise
	}
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms < 0 {
		r.fail(key, "it must be a number of milliseconds")
	}
	return min(max(time.Duration(ms)*time.Millisecond, leastInterval), mostInterval)
}

// list returns the texts of a parameter that is given several times or has commas; nil if it is missing.
func (r *paramsReader) list(key string) (list []string) {
	v, ok := r.query.Get(key)
	if !ok {
		return nil
	}
	items, many := v.([]any)
	if !many {
		items = []any{v}
	}
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			r.fail(key, "it must be a list of texts")
		}
		for one := range strings.SplitSeq(text, ",") {
			if one = strings.TrimSpace(one); one != "" {
				list = append(list, one)
			}
		}
	}
	if len(list) == 0 {
		r.fail(key, "it must not be empty")
	}
	return list
}
