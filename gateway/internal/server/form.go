package server

import (
	"bufio"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"time"

	"lectern/media"
)

// ReadForm reads a multipart form whose files the library takes. Its body may take longer than timeouts.read, as files
// do; limits.bodyRate holds. A body of another type counts as a form without files. done closes the form, unless it is
// kept for a retry of the request, which then gets the same form.
func (l *Limits) ReadForm(w http.ResponseWriter, r *http.Request, library *media.Library) (form *media.Form,
	done func(), err error) {
	if r.Body != nil {
		if c := connOf(r); c != nil && c.body != nil {
			c.body.end = time.Time{}
		}
		r.Body = streamed(r.Body)
	}
	kept := replayableBodyOf(r.Body)
	if kept != nil && kept.form != nil {
		return kept.form, func() {}, nil
	}
	if form, err = l.readForm(w, r, library); err != nil {
		return nil, nil, err
	}
	if kept != nil {
		kept.form = form
		return form, func() {}, nil
	}
	return form, func() { form.Close() }, nil
}

func (l *Limits) readForm(w http.ResponseWriter, r *http.Request, library *media.Library) (*media.Form, error) {
	if kind, _, err := ContentType(r.Header); err != nil || kind != "multipart/form-data" {
		_, err := l.ReadBody(w, r)
		return &media.Form{}, err
	}
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if params["boundary"] == "" {
		return nil, errNoBoundary
	}
	body, err := inflate(r.Body, r.Header["Content-Encoding"])
	if err != nil {
		return nil, err
	}
	if body != io.Reader(r.Body) {
		body = library.Inflated(body)
	}
	parts := multipart.NewReader(bufio.NewReader(body), params["boundary"])
	form, err := library.ReadForm(r.Context(), parts, treeOfFields)
	switch {
	case errors.Is(err, media.ErrMalformed):
		return nil, unreadable(err)
	case err != nil:
		io.CopyN(io.Discard, r.Body, drained)
		return nil, err
	}
	return form, nil
}
