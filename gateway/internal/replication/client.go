package replication

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"lectern/internal/budget"
	"lectern/store"
	"lectern/store/frames"
)

// ErrReset: the origin cannot continue from the position of the replica, which must begin anew with a copy.
var ErrReset = errors.New("the origin cannot continue from the position of the replica")

// ErrSilent: nothing came from the origin for so long that the connection must be broken.
var ErrSilent = errors.New("the origin is silent")

// A Client asks an origin for what a replica needs.
type Client struct {
	URL   *url.URL   // of its REST API
	Token string     // an API token
	Part  store.Part // what is followed
	// Silence is how long nothing may come from the origin before a connection is given up; 0: three times Heartbeat.
	Silence time.Duration
	// Memory is the budget of what comes from the origin; nil: it has no limit.
	Memory *budget.Budget

	client *http.Client
}

// NewClient returns a client of the origin at an address such as https://cms.example.com. If the address has no path,
// the REST API is below /api.
func NewClient(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a server; write it as https://cms.example.com", address)
	}
	if u.Path = strings.TrimSuffix(u.Path, "/"); u.Path == "" {
		u.Path = "/api"
	}
	return &Client{URL: u, Token: token, client: &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
	}}}, nil
}

// DialWith makes all connections to the origin by dial.
func (o *Client) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	o.client.Transport = &http.Transport{DialContext: dial, DisableCompression: true}
}

// Base returns the address of the origin, without the path of its REST API.
func (o *Client) Base() string { return o.URL.Scheme + "://" + o.URL.Host }

// Close closes the connections that are not in use.
func (o *Client) Close() { o.client.CloseIdleConnections() }

func (o *Client) silence() time.Duration {
	if o.Silence > 0 {
		return o.Silence
	}
	return 3 * Heartbeat
}

// A Stream is an answer of the origin.
type Stream struct {
	*frames.Reader
	body   io.ReadCloser
	text   io.Reader // of the body, while it shows that the connection is alive
	cancel context.CancelCauseFunc
	alive  *time.Timer
	most   time.Duration
}

// Close ends the stream.
func (s *Stream) Close() error {
	s.alive.Stop()
	s.cancel(nil)
	if s.Reader != nil {
		s.Release()
	}
	return s.body.Close()
}

// replica returns the address of what is at a path below /_replica.
func (o *Client) replica(path string) string { return o.URL.String() + "/_replica/" + path }

// get asks for what is at an address of the origin.
func (o *Client) get(ctx context.Context, address string, header http.Header) (*Stream, *http.Response, error) {
	s := &Stream{most: o.silence()}
	streaming, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	s.alive = time.AfterFunc(s.most, func() { cancel(ErrSilent) })
	r, err := http.NewRequestWithContext(streaming, http.MethodGet, address, nil)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	answer, err := o.client.Do(r)
	if err != nil {
		s.alive.Stop()
		cancel(nil)
		return nil, nil, causeOf(streaming, err)
	}
	s.body = answer.Body
	if answer.StatusCode/100 != 2 {
		err := failure(answer)
		return nil, nil, errors.Join(err, s.Close())
	}
	s.text = bufio.NewReaderSize(&watched{s, streaming}, 64<<10)
	s.Reader = frames.NewReader(s.text, longest, o.Memory)
	return s, answer, nil
}

// watched reads the body of a stream. Each byte that arrives shows that the connection is alive.
type watched struct {
	*Stream
	ctx context.Context
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.body.Read(b)
	if n > 0 {
		w.alive.Reset(w.most)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOf(w.ctx, err)
	}
	return n, err
}

// causeOf returns ErrSilent in place of the error that ending a context has caused.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrSilent) {
		return cause
	}
	return err
}

// failure returns the error that an answer tells.
func failure(answer *http.Response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // without the text, the status tells enough
	_ = json.Unmarshal(text, &body)
	if answer.StatusCode == http.StatusGone {
		return fmt.Errorf("%w: %s", ErrReset, body.Error.Message)
	}
	err := fmt.Errorf("the origin answers %s: %s", answer.Status, body.Error.Message)
	if answer.StatusCode/100 == 4 && answer.StatusCode != http.StatusTooManyRequests {
		return &RefusedError{err}
	}
	return err
}

// A RefusedError is the answer of an origin that trying again does not change.
type RefusedError struct{ error }

// Log returns the stream of the entries after a position. The error wraps ErrReset if the origin cannot continue from
// there.
func (o *Client) Log(ctx context.Context, since store.Position) (*Stream, error) {
	query := queryOf(o.Part)
	query.Set("since", since.String())
	query.Set("heartbeat", HeartbeatWithin(o.Silence).String())
	s, _, err := o.get(ctx, o.replica("log?"+query.Encode()), nil)
	return s, err
}

// Position returns the position behind the last write of the origin.
func (o *Client) Position(ctx context.Context) (p store.Position, err error) {
	s, answer, err := o.get(ctx, o.replica("position"), nil)
	if err != nil {
		return p, err
	}
	defer s.Close()
	var text string
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<10)).Decode(&text); err != nil {
		return p, fmt.Errorf("read the position of the origin: %w", err)
	}
	return store.ParsePosition(text)
}

// Definitions returns the definition files of the origin.
func (o *Client) Definitions(ctx context.Context) (*Definitions, error) {
	s, _, err := o.get(ctx, o.replica("definitions"), nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.definitions()
}

func (s *Stream) definitions() (*Definitions, error) {
	f, err := s.Next()
	if err != nil {
		return nil, err
	}
	if f.Kind != DefinitionsFrame {
		return nil, ErrDamaged
	}
	return ParseDefinitions(f.Payload)
}

// Copy writes a copy of the origin's store, or of a part of it, to a new file at path, durably, and returns the
// definition files that belong to it. progress is called with the bytes that have arrived. Copy fails if the copy, and
// so the origin, is damaged, if it is longer than the origin has announced, and if the disk has no room for it.
func (o *Client) Copy(ctx context.Context, path string, progress func(int64)) (*Definitions, error) {
	s, answer, err := o.get(ctx, o.replica("copy?"+queryOf(o.Part).Encode()), nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	size, err := announcedSize(answer.Header)
	if err != nil {
		return nil, err
	}
	d, err := s.definitions()
	if err != nil {
		return nil, err
	}
	if !o.Part.All() {
		return d, s.copyPart(o.Part, path, size, progress)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("copy the store: %w", err)
	}
	if err = requireSpace(f, size); err == nil {
		err = s.chunks(f, size, progress)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = store.VerifyFile(ctx, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the store: %w", err), os.Remove(path))
	}
	return d, nil
}

// chunks writes the chunks of a copy to a file, up to the EndFrame. There may be size bytes.
func (s *Stream) chunks(to *os.File, size int64, progress func(int64)) error {
	for arrived := int64(0); ; {
		f, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case f.Kind == EndFrame:
			return nil
		case f.Kind != ChunkFrame:
			return ErrDamaged
		}
		if arrived += int64(len(f.Payload)); arrived > size {
			return errTooLong
		}
		if _, err := to.Write(f.Payload); err != nil {
			return err
		}
		if err := requireSpace(to, 0); err != nil { // others fill the disk as well
			return err
		}
		progress(arrived)
	}
}
