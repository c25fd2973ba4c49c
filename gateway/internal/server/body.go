package server

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

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/jsontree"
	"lectern/shadowcrud/qs"
)

// MaxJSONDepth is how deep the JSON of a body may nest.
const MaxJSONDepth = 512

// drained is how many bytes of a body that is too large are read and dropped. A client that sends all of its body
// before it reads then gets the answer.
const drained = 1 << 20

var (
	errTooLarge = tooLarge("request entity too large")
	errNotJSON  = BadRequest("SyntaxError", "invalid JSON, only supports object and array")

	errNoBoundary = BadRequest("BadRequestError", "the multipart body has no boundary")
)

// tooLarge returns an answer 413, without details.
func tooLarge(message string) *apierror.Error {
	return &apierror.Error{
		Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError", Message: message, NoDetails: true,
		Reason: apierror.BodySize,
	}
}

// ReadBody reads the body of a request, JSON or a form, as a jsontree value. It returns nil if there is no body or if
// it has another type. A body may be read again, also by ReadAll and ReadWhole.
func (l *Limits) ReadBody(w http.ResponseWriter, r *http.Request) (any, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	kind, params, err := ContentType(r.Header)
	if err != nil {
		kind, params = "", nil
	}
	switch kind {
	case "application/json", "application/vnd.api+json", "application/csp-report":
		text, err := l.ReadAll(r, l.JSONBytes)
		if err != nil {
			return nil, err
		}
		return ParseJSON(text, BodyMemory(r))
	case "application/x-www-form-urlencoded":
		text, err := l.ReadAll(r, l.FormBytes)
		if err != nil {
			return nil, err
		}
		return parseForm(string(text), BodyMemory(r))
	case "multipart/form-data":
		text, err := l.ReadAll(r, l.FormBytes)
		if err != nil {
			return nil, err
		}
		return parseMultipart(text, params["boundary"], BodyMemory(r))
	}
	if strings.HasPrefix(kind, "text/") {
		_, err := l.ReadAll(r, l.FormBytes)
		return nil, err
	}
	return nil, nil
}

// ContentType returns the media type that the header Content-Type names, in lower case, and its parameters. For
// application/json alone, which nearly all requests have, it costs nothing.
func ContentType(h http.Header) (kind string, params map[string]string, err error) {
	said := h.Get("Content-Type")
	if said == "application/json" {
		return said, nil, nil
	}
	return mime.ParseMediaType(said)
}

// ReadAll reads a whole body of at most limit bytes, decompressed.
func (l *Limits) ReadAll(r *http.Request, limit int64) ([]byte, error) {
	kept := replayableBodyOf(r.Body)
	if kept == nil {
		memory := &budget.Reservation{}
		if state := stateOf(r.Context()); state != nil {
			memory = &state.another
		}
		return readFrom(r, r.Body, limit, memory)
	}
	if !kept.whole {
		var err error
		if kept.text, err = readFrom(r, kept.unread(r.Body), limit, &kept.memory); err != nil {
			return nil, err
		}
		kept.whole = true
	}
	return kept.text, nil
}

// ReadWhole reads the body of a request, whatever its type is, and keeps it so that ReadBody can read it again.
func (l *Limits) ReadWhole(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	limit := l.JSONBytes
	kind, _, err := ContentType(r.Header)
	switch {
	case err != nil:
	case kind == "application/x-www-form-urlencoded", kind == "multipart/form-data", strings.HasPrefix(kind, "text/"):
		limit = l.FormBytes
	}
	text, err := l.ReadAll(r, limit)
	if err == nil && replayableBodyOf(r.Body) == nil { // a middleware has replaced the body
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.Header.Del("Content-Encoding")
	}
	return text, err
}

func readFrom(r *http.Request, source io.Reader, limit int64, memory *budget.Reservation) ([]byte, error) {
	if r.ContentLength > limit && r.Header["Expect"] != nil && r.Header["Content-Encoding"] == nil {
		return nil, errTooLarge // the client waits for 100 before it sends the body, and is spared that
	}
	body, err := inflate(source, r.Header["Content-Encoding"])
	if err != nil {
		return nil, err
	}
	text, err := readText(io.LimitReader(body, limit+1), min(r.ContentLength, limit), memory)
	switch {
	case errors.Is(err, budget.ErrExhausted):
		return nil, err
	case err != nil:
		return nil, unreadable(err)
	case int64(len(text)) > limit:
		io.CopyN(io.Discard, source, drained)
		return nil, errTooLarge
	}
	return text, nil
}

// unreservedBody is the length up to which a body reserves no memory.
const unreservedBody = 16 << 10

// readText reads a whole body. length is its announced length. It reserves memory as bytes arrive, so that a body which
// is announced but does not arrive reserves none.
func readText(body io.Reader, length int64, memory *budget.Reservation) ([]byte, error) {
	text := make([]byte, 0, min(max(length, 0), unreservedBody)+bytes.MinRead)
	for {
		if len(text) == cap(text) {
			room := 2 * cap(text)
			if err := memory.Grow(int64(room)); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, room), text...)
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch err {
		case nil:
		case io.EOF:
			return text, nil
		default:
			return nil, err
		}
	}
}

// unreadable returns the answer to a request whose body could not be read.
func unreadable(err error) error {
	var answer *apierror.Error
	if errors.As(err, &answer) { // for example a body that arrived too slowly
		return answer
	}
	return BadRequest("BadRequestError", "the request body cannot be read")
}

// acceptedEncodings is the header Accept-Encoding of answers to bodies in another encoding (RFC 9110, section 15.5.16).
var acceptedEncodings = []string{"gzip, deflate"}

// inflate returns a reader that decompresses a body. header is Content-Encoding: several encodings, on one line or on
// several, are not supported.
func inflate(body io.Reader, header []string) (io.Reader, error) {
	var inflated io.Reader
	var err error
	encoding := strings.Join(header, ", ")
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		inflated, err = gzip.NewReader(body)
	case "deflate":
		inflated, err = zlib.NewReader(body)
	default:
		return nil, &apierror.Error{
			Status: http.StatusUnsupportedMediaType, Name: "Error", NoDetails: true, Reason: apierror.Encoding,
			Message: "Unsupported Content-Encoding: " + encoding,
		}
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return inflated, nil
}

// ParseJSON reads a JSON body, which must be an object or an array.
func ParseJSON(text []byte, memory jsontree.Memory) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if len(text) == 0 {
		return nil, nil
	}
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil, errNotJSON
	}
	v, err := jsontree.ParseWithin(text, MaxJSONDepth, memory)
	var wrong *jsontree.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return nil, BadRequest("SyntaxError", wrong.Message)
	case err != nil:
		return nil, err
	}
	return v, nil
}

func parseForm(text string, memory jsontree.Memory) (any, error) {
	if err := memory.Add(qs.MemoryOfForm(text)); err != nil {
		return nil, err
	}
	form, err := qs.ParseForm(text)
	if err != nil {
		return nil, BadRequest("BadRequestError", err.Error())
	}
	return form, nil
}

// parseMultipart reads the fields of a multipart form as a tree.
func parseMultipart(text []byte, boundary string, memory jsontree.Memory) (any, error) {
	if boundary == "" {
		return nil, errNoBoundary
	}
	fields, err := MultipartFields(text, boundary, memory)
	switch {
	case IsMemory(err):
		return nil, err
	case err != nil:
		return nil, BadRequest("BadRequestError", "the multipart body is malformed")
	}
	return treeOfFields(fields, memory)
}

// treeOfFields returns names and values of a form as a tree.
func treeOfFields(fields [][2]string, memory jsontree.Memory) (*jsontree.Object, error) {
	for _, f := range fields {
		if err := memory.Add(qs.MemoryOfForm(f[0])); err != nil {
			return nil, err
		}
	}
	tree, err := qs.Fields(func(yield func(name, value string) bool) {
		for _, f := range fields {
			if !yield(f[0], f[1]) {
				return
			}
		}
	})
	if err != nil {
		return nil, BadRequest("BadRequestError", err.Error())
	}
	return tree, nil
}

// partBytes is what reading one part of a multipart form takes beside its text, in bytes.
const partBytes = 1 << 10

// MultipartFields returns the names and values of the fields of a multipart form. It skips files, which the content API
// does not accept.
func MultipartFields(text []byte, boundary string, memory jsontree.Memory) (fields [][2]string, err error) {
	if err := memory.Add(int64(len(text))); err != nil {
		return nil, err
	}
	for parts := multipart.NewReader(bytes.NewReader(text), boundary); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			return fields, nil
		}
		if err == nil {
			err = memory.Add(partBytes)
		}
		if err != nil {
			return nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if part.FormName() != "" && part.FileName() == "" {
			fields = append(fields, [2]string{part.FormName(), string(value)})
		}
	}
}
