package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/store"
)

// ExplainHeader is the header by which requests ask how the store found what the answer has, and by which answers tell.
const ExplainHeader = "Lectern-Explain"

// An Explanation tells how the store found what an answer has.
type Explanation struct {
	Took float64 `json:"took"` // milliseconds from the check of the permissions until the answer began
	store.Explanation
}

// maxExplanation is how many bytes an explanation has at most in a header. Proxies refuse answers whose headers are
// longer than a few kilobytes.
const maxExplanation = 4000

type explainKey struct{}

// WithExplanation returns the context of a request that the server makes to itself and whose explanation tell is called
// with, whoever the caller is. The request must have ExplainHeader.
func WithExplanation(ctx context.Context, tell func(Explanation)) context.Context {
	return context.WithValue(ctx, explainKey{}, tell)
}

// asksToExplain reports whether a request asks to be explained.
func asksToExplain(r *http.Request) bool {
	asks := r.Header[ExplainHeader]
	return len(asks) == 1 && asks[0] == "1"
}

// Explain calls answer, and has its reads explained in a header of the answer if the request asks for that. It refuses
// callers who lack auth.ExplainAction, since what was touched tells of documents that they may not see.
func Explain(w http.ResponseWriter, r *http.Request, who auth.Principal,
	answer func(http.ResponseWriter, *http.Request) error) error {
	if !asksToExplain(r) {
		return answer(w, r)
	}
	tell, _ := r.Context().Value(explainKey{}).(func(Explanation))
	if tell == nil && !who.Access.AllowsAction(auth.ExplainAction) {
		return errNotExplained
	}
	began := time.Now()
	ctx, explanation := store.Explain(r.Context())
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	r.Header.Del("If-None-Match") // or nothing might be read
	explained := &explainingWriter{statusWriter: statusWriter{ResponseWriter: w}, tell: tell,
		explanation: func() Explanation {
			return Explanation{float64(time.Since(began).Microseconds()) / 1000, explanation()}
		}}
	err := answer(explained, r)
	if err != nil { // which the caller answers
		explained.explain()
	}
	return err
}

var errNotExplained = &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError",
	Message: "The header " + ExplainHeader + " needs the permission " + auth.ExplainAction}

// An explainingWriter adds the explanation to the headers of an answer when it begins. Nobody may keep the answer.
type explainingWriter struct {
	statusWriter
	explanation func() Explanation
	tell        func(Explanation) // nil: in a header
}

// explain sets the headers, unless the answer has begun.
func (w *explainingWriter) explain() {
	if w.status != 0 {
		return
	}
	e := w.explanation()
	w.Header()["Cache-Control"] = NoStore
	if w.tell != nil {
		w.tell(e)
		return
	}
	if text, err := e.short(); err == nil {
		w.Header()[ExplainHeader] = []string{string(text)}
	}
}

// short returns the explanation as JSON in ASCII that fits a header. It leaves out the last queries if it must.
func (e Explanation) short() ([]byte, error) {
	for {
		text, err := json.Marshal(e)
		if err != nil || len(text) <= maxExplanation || len(e.Queries) == 0 {
			return text, err
		}
		e.Queries = slices.Clip(e.Queries[:len(e.Queries)-1])
		e.Omitted++
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *explainingWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.explain()
	}
	w.statusWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *explainingWriter) Write(p []byte) (int, error) {
	w.explain()
	return w.statusWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (w *explainingWriter) ReadFrom(r io.Reader) (int64, error) {
	w.explain()
	return w.statusWriter.ReadFrom(r)
}

// Flush implements http.Flusher.
func (w *explainingWriter) Flush() {
	w.explain()
	w.statusWriter.Flush()
}
