package gateway

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"lectern/documents"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// maxJSONDepth bounds how deep a body may nest.
const maxJSONDepth = 512

// drained is how much of a body that is too large is still read, so that a client which sends before it listens gets to
// see the answer.
const drained = 1 << 20

var (
	errTooLarge = &documents.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError", Message: "request entity too large", NoDetails: true}
	errNotJSON  = badBody("SyntaxError", "invalid JSON, only supports object and array")
)

func badBody(name, message string) *documents.Error {
	return &documents.Error{Status: http.StatusBadRequest, Name: name, Message: message, NoDetails: true}
}

// ReadBody reads the body of a request as a jsontree value, by its content type: JSON or a form. It is nil where there is
// none, or none of a type that is read.
func (s *Server) ReadBody(w http.ResponseWriter, r *http.Request) (any, error) {
	return s.limits.readBody(w, r)
}

func (l *Limits) readBody(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	kind, params, err := contentType(r.Header)
	if err != nil {
		kind, params = "", nil
	}
	switch kind {
	case "application/json", "application/vnd.api+json", "application/csp-report":
		text, err := l.readAll(w, r, l.JSONBytes)
		if err != nil {
			return nil, err
		}
		return parseJSON(text)
	case "application/x-www-form-urlencoded":
		text, err := l.readAll(w, r, l.FormBytes)
		if err != nil {
			return nil, err
		}
		return parseForm(string(text))
	case "multipart/form-data":
		text, err := l.readAll(w, r, l.FormBytes)
		if err != nil {
			return nil, err
		}
		return parseMultipart(text, params["boundary"])
	}
	if strings.HasPrefix(kind, "text/") {
		_, err := l.readAll(w, r, l.FormBytes)
		return nil, err
	}
	return nil, nil
}

// contentType is what a request says that its body is. What nearly all say costs no parsing.
func contentType(h http.Header) (kind string, params map[string]string, err error) {
	said := h.Get("Content-Type")
	if said == "application/json" {
		return said, nil, nil
	}
	return mime.ParseMediaType(said)
}

// readAll reads a body of at most limit bytes, inflated.
func (l *Limits) readAll(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	kept := keptBodyOf(r.Body)
	if kept == nil {
		return l.readFrom(r, r.Body, limit)
	}
	if !kept.whole {
		var err error
		if kept.text, err = l.readFrom(r, kept.unread(r.Body), limit); err != nil {
			return nil, err
		}
		kept.whole = true
	}
	return kept.text, nil
}

func (l *Limits) readFrom(r *http.Request, source io.Reader, limit int64) ([]byte, error) {
	body, err := inflate(source, r.Header.Get("Content-Encoding"))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if r.ContentLength > 0 {
		text.Grow(int(min(r.ContentLength, limit)) + bytes.MinRead)
	}
	switch n, err := text.ReadFrom(io.LimitReader(body, limit+1)); {
	case n > limit:
		io.CopyN(io.Discard, source, drained)
		return nil, errTooLarge
	case err != nil:
		return nil, unreadable(err)
	}
	return text.Bytes(), nil
}

// unreadable says why a body could not be read.
func unreadable(err error) error {
	var told *documents.Error
	if errors.As(err, &told) { // such as that it came too slowly
		return told
	}
	return badBody("BadRequestError", "the request body cannot be read")
}

// inflate undoes a Content-Encoding.
func inflate(body io.Reader, encoding string) (io.Reader, error) {
	var inflated io.Reader
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		inflated, err = gzip.NewReader(body)
	case "deflate":
		inflated, err = zlib.NewReader(body)
	default:
		return nil, &documents.Error{Status: http.StatusUnsupportedMediaType, Name: "Error", Message: "Unsupported Content-Encoding: " + encoding, NoDetails: true}
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return inflated, nil
}

// parseJSON reads a JSON body, which must be an object or an array.
func parseJSON(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(text) == 0 {
		return nil, nil
	}
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil, errNotJSON
	}
	v, err := jsontree.Parse(text, maxJSONDepth)
	var wrong *jsontree.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return nil, badBody("SyntaxError", wrong.Message)
	case err != nil:
		return nil, err
	}
	return v, nil
}

func parseForm(text string) (any, error) {
	form, err := qs.ParseForm(text)
	if err != nil {
		return nil, badBody("BadRequestError", err.Error())
	}
	return form, nil
}

// parseMultipart reads the fields of a multipart form as those of a plain one. Files are not for the content API: they are
// passed over.
func parseMultipart(text []byte, boundary string) (any, error) {
	if boundary == "" {
		return nil, badBody("BadRequestError", "the multipart body has no boundary")
	}
	var malformed error
	form, err := qs.Fields(func(yield func(name, value string) bool) {
		for parts := multipart.NewReader(bytes.NewReader(text), boundary); ; {
			part, err := parts.NextPart()
			if err == io.EOF {
				return
			}
			var value []byte
			if err == nil {
				value, err = io.ReadAll(part)
			}
			if err != nil {
				malformed = err
				return
			}
			if part.FormName() != "" && part.FileName() == "" && !yield(part.FormName(), string(value)) {
				return
			}
		}
	})
	if malformed != nil {
		return nil, badBody("BadRequestError", "the multipart body is malformed")
	}
	if err != nil {
		return nil, badBody("BadRequestError", err.Error())
	}
	return form, nil
}
