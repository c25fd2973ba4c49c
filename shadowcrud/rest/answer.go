package rest

import (
	"net/http"
	"strconv"

	"lectern/documents"
	"lectern/store"
)

// FormatHeader is the header by which requests choose the form of answers: v4 is that of Strapi 4.
const FormatHeader = "Strapi-Response-Format"

// printer returns a printer for the answer to r. It prints the versions of related documents that have this status and,
// unless state is nil, this publication state.
func (rt *Route) printer(r *http.Request, c Call, status store.Status, state *store.PublicationState) *printer {
	p := printers.Get().(*printer)
	p.api, p.access, p.status, p.state = rt.api, c.Access, status, state
	p.memory = c.limits().Answer()
	p.buf = p.memory.Adopt(p.buf)
	p.bound = bound{ctx: r.Context(), limits: c.limits(), memory: &p.memory}
	if format := r.Header[FormatHeader]; len(format) > 0 {
		p.v4 = format[0] == "v4"
	}
	return p
}

// begin starts an answer on a snapshot. It drops an answer that was begun before.
func (p *printer) begin(s *store.Snapshot) {
	p.snapshot, p.err = s, nil
	p.bound.printed = 0
	p.memory.Restart()
	p.buf = append(p.buf[:0], `{"data":`...)
}

// single prints the answer that holds one document.
func (p *printer) single(row store.Record, s *documents.Selection) {
	p.one[0] = row
	p.document(p.load(p.one[:], shape{Selection: s}), 0)
	p.buf = append(p.buf, `,"meta":{}}`...)
}

var typeJSON = []string{"application/json; charset=utf-8"}

// send sends the answer. It sets Content-Length, so that net/http does not send chunks.
func (p *printer) send(w http.ResponseWriter, status int) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(p.buf))}
	p.sendBody(w, status)
}

// sendBody is send for an answer whose Content-Length is set.
func (p *printer) sendBody(w http.ResponseWriter, status int) {
	p.releaseLoader()
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(status)
	if send := p.bound.limits.Send; send != nil {
		_ = send(p.bound.ctx, w, p.buf) // a failed write cannot be answered otherwise
	} else {
		w.Write(p.buf)
	}
}
