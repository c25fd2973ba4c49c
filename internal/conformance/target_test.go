package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// A Target is the server under test: its address, and its API tokens by name.
type Target struct {
	Base   string            `json:"base"` // such as http://127.0.0.1:1337
	Tokens map[string]string `json:"tokens"`

	transport http.RoundTripper // nil: transport
}

// An Answer is a response. Its body is parsed JSON, or text if it is not JSON.
type Answer struct {
	Status  int
	Headers map[string]any
	Cookies map[string]any
	Body    any
}

// transport sends single requests: it does not follow redirects and keeps no cookies.
var transport = &http.Transport{MaxIdleConnsPerHost: 8}

// Send sends a step's request to the server.
func (t *Target) Send(s *Step, vars Vars) (*Answer, error) {
	req, err := t.request(s, vars)
	if err != nil {
		return nil, err
	}
	send := t.transport
	if send == nil {
		send = transport
	}
	res, err := send.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	a := &Answer{Status: res.StatusCode, Headers: map[string]any{}, Cookies: cookiesOf(res, s.Cookies),
		Body: parseBody(data)}
	for _, name := range s.Headers {
		a.Headers[name] = nil
		if values := res.Header.Values(name); len(values) > 0 {
			a.Headers[name] = strings.Join(values, ", ")
		}
	}
	return a, nil
}

// parseBody parses JSON. An empty body is nil; a body that is not JSON is returned as a string.
func parseBody(data []byte) any {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) == 0 {
		return nil
	}
	v, err := decode(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	return v
}

// decode parses exactly one JSON value, with numbers as json.Number.
func decode(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("no JSON: %.60q", data)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func (t *Target) request(s *Step, vars Vars) (*http.Request, error) {
	path := s.Request.Path
	if path == "" {
		path = "/graphql"
	}
	path, err := vars.text(path)
	if err != nil {
		return nil, err
	}
	body, contentType, err := s.Request.body(vars)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(strings.ToUpper(s.Method()), t.Base, body)
	if err != nil {
		return nil, err
	}
	// An opaque URL is sent unchanged, even if it has invalid escapes.
	req.URL = &url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Opaque: requestTarget(path)}
	req.Header.Set("Accept", "*/*")
	req.Header.Set("Accept-Language", "*")
	req.Header.Set("User-Agent", "node")
	for name, value := range s.Request.Headers {
		if value, err = vars.text(value); err != nil {
			return nil, err
		}
		req.Header.Set(name, value)
	}
	if contentType != "" && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", contentType)
	}
	key, err := t.credential(s.As, vars)
	if err != nil {
		return nil, err
	}
	if _, has := req.Header["Authorization"]; key != "" && !has {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

// credential returns the bearer token for a step, or "" for the public.
func (t *Target) credential(as string, vars Vars) (string, error) {
	if as == "" {
		as = "full"
	}
	as, err := vars.text(as)
	if err != nil || as == "public" {
		return "", err
	}
	if key, ok := t.Tokens[as]; ok {
		return key, nil
	}
	return as, nil
}

// body returns the body of a request and its default content-type. The body is nil if the request has none.
func (r *Request) body(vars Vars) (io.Reader, string, error) {
	switch {
	case r.JSON != nil:
		data, err := vars.json(r.JSON)
		return bytes.NewReader(data), "application/json", err
	case r.GraphQL != nil:
		data, err := vars.json(r.GraphQL)
		return bytes.NewReader(data), "application/json", err
	case r.Raw != nil:
		s, err := vars.text(*r.Raw)
		return strings.NewReader(s), "text/plain;charset=UTF-8", err
	case r.Multipart != nil:
		return form(r.Multipart, vars)
	}
	return nil, "", nil
}

// form encodes a multipart form as browsers do.
func form(parts []Part, vars Vars) (io.Reader, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for i := range parts {
		if err := parts[i].write(w, vars); err != nil {
			return nil, "", fmt.Errorf("write form: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return &buf, w.FormDataContentType(), nil
}

var quoteForm = strings.NewReplacer("\n", "%0A", "\r", "%0D", `"`, "%22")

func (p *Part) write(w *multipart.Writer, vars Vars) error {
	name, err := vars.text(p.Name)
	if err != nil {
		return err
	}
	h := textproto.MIMEHeader{}
	disposition := `form-data; name="` + quoteForm.Replace(name) + `"`
	var data []byte
	if p.File != "" {
		file, err := vars.text(p.File)
		if err != nil {
			return err
		}
		disposition += `; filename="` + quoteForm.Replace(file) + `"`
		h.Set("Content-Type", "application/octet-stream")
		if p.Type != "" {
			h.Set("Content-Type", p.Type)
		}
		if data, err = p.content(vars); err != nil {
			return err
		}
	} else if data, err = p.text(vars); err != nil {
		return err
	}
	h.Set("Content-Disposition", disposition)
	out, err := w.CreatePart(h)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

func (p *Part) content(vars Vars) ([]byte, error) {
	s, err := vars.text(p.Base64)
	if err != nil {
		return nil, err
	}
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// text returns the value of a field: a string without its quotes, anything else as JSON.
func (p *Part) text(vars Vars) ([]byte, error) {
	data, err := vars.json(p.Value)
	if err != nil {
		return nil, err
	}
	var s string
	if json.Unmarshal(data, &s) != nil {
		return data, nil
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
	return []byte(s), nil
}

// unescaped are the bytes, besides letters and digits, that a request's path and query need not escape.
const unescaped = ";,/?:@&=+$-_.!~*()%"

// requestTarget percent-encodes a path and query, keeps existing escapes, and drops the fragment.
func requestTarget(path string) string {
	path, _, _ = strings.Cut(path, "#")
	var b strings.Builder
	query := false
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(unescaped, c) >= 0,
			c == '\'' && !query:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
		query = query || c == '?'
	}
	return b.String()
}
