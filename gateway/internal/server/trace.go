package server

import (
	"errors"
	"net/http"
	"time"

	"lectern/gateway/tracing"
)

// errAnswered marks the span of a request that was answered with a status of 500 or more.
var errAnswered = errors.New("answered with a server error")

// trace begins the span of a request, unless it is a probe, and returns the request with the span in its context.
func (o *observation) trace(t *tracing.Tracer, r *http.Request) *http.Request {
	if t == nil || o.quiet {
		return r
	}
	ctx, s := t.Start(r, methodOf(r), o.route, o.began)
	if s == nil {
		return r
	}
	o.span = s
	return r.WithContext(ctx)
}

// endTrace ends the span of a request.
func (o *observation) endTrace() {
	if o.span == nil {
		return
	}
	o.span.SetInt("http.response.status_code", int64(o.status))
	if o.known {
		o.span.SetText("lectern.principal", RecordedAs(o.caller).Kind)
	}
	var err error
	if o.status >= http.StatusInternalServerError {
		err = errAnswered
	}
	o.span.End(time.Now(), err)
}
