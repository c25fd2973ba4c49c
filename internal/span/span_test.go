package span_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lectern/internal/span"
)

// A record is a span that remembers its children and its end.
type record struct {
	name        string
	began, done time.Time
	err         error
	children    []*record
}

func (r *record) Child(name string, began time.Time) span.Span {
	child := &record{name: name, began: began}
	r.children = append(r.children, child)
	return child
}
func (r *record) SetInt(string, int64)            {}
func (r *record) SetText(string, string)          {}
func (r *record) End(at time.Time, failure error) { r.done, r.err = at, failure }

func TestContextCarriesASpan(t *testing.T) {
	if s := span.From(t.Context()); s != nil {
		t.Errorf("a context without a span carries %v", s)
	}
	outer, inner := &record{name: "outer"}, &record{name: "inner"}
	ctx := span.With(t.Context(), outer)
	if span.From(ctx) != span.Span(outer) || span.From(span.With(ctx, inner)) != span.Span(inner) ||
		span.From(ctx) != span.Span(outer) {
		t.Error("a context does not carry the span that it was given last")
	}
}

func TestTimedRecordsAPartOfATracedRequest(t *testing.T) {
	failure := errors.New("failure")
	for _, want := range []error{nil, failure} {
		root := &record{}
		ran := 0
		err := span.Timed(span.With(t.Context(), root), "part", func() error {
			ran++
			if len(root.children) != 1 || !root.children[0].done.IsZero() {
				t.Error("the span does not begin before the part and end after it")
			}
			return want
		})
		if err != want || ran != 1 {
			t.Errorf("%v, want %v; it ran %d times", err, want, ran)
		}
		child := root.children[0]
		if child.name != "part" || child.err != want || child.began.IsZero() || child.done.Before(child.began) {
			t.Errorf("the span is %+v", child)
		}
	}
}

func TestTimedOnlyRunsAPartOfARequestThatIsNotTraced(t *testing.T) {
	failure := errors.New("failure")
	ran := false
	if err := span.Timed(context.Background(), "part", func() error { ran = true; return failure }); err != failure ||
		!ran {
		t.Errorf("%v, ran: %t", err, ran)
	}
	part := func() error { return nil }
	if n := testing.AllocsPerRun(100, func() { span.Timed(context.Background(), "part", part) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
