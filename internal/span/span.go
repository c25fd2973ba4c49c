// Package span lets lower layers say what part of a traced request they do, without knowing who records it. Requests
// that are not traced have no span in their context, and that look-up is all that they pay.
package span

import (
	"context"
	"time"
)

// A Span is a piece of work of a traced request.
type Span interface {
	// Child begins a span within this one.
	Child(name string, began time.Time) Span
	// SetInt and SetText set an attribute. Attributes must not contain anything that a client has sent or that content
	// holds.
	SetInt(key string, value int64)
	SetText(key, value string)
	// End ends the span. err, if any, marks it as failed; its text is not recorded.
	End(at time.Time, err error)
}

type key struct{}

// With returns a context that carries a span.
func With(ctx context.Context, s Span) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the span that ctx carries, nil if the request is not traced.
func From(ctx context.Context) Span {
	s, _ := ctx.Value(key{}).(Span)
	return s
}

// Timed runs part of a request, and records it as a span if the request of ctx is traced.
func Timed(ctx context.Context, name string, part func() error) error {
	parent := From(ctx)
	if parent == nil {
		return part()
	}
	s := parent.Child(name, time.Now())
	err := part()
	s.End(time.Now(), err)
	return err
}
