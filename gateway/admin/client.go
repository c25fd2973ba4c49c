package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"lectern/auth"
	"lectern/documents/misfits"
	"lectern/documents/transfer"
	"lectern/store"
	"lectern/store/evolve"
	"lectern/webhooks"
)

// A remote administers the project of a server in another process, by requests to its control socket.
type remote struct {
	http   *http.Client
	Server serverInfo
}

// dial connects to the server that runs on the data directory data. It fails if no server answers there.
func dial(ctx context.Context, data string) (*remote, error) {
	r := &remote{http: &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return DialControl(ctx, data) },
		DisableCompression: true,
	}}}
	var err error
	if r.Server, err = call[serverInfo](ctx, r, http.MethodGet, "/server", nil); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

func (r *remote) Tokens(ctx context.Context) ([]auth.Token, error) {
	return call[[]auth.Token](ctx, r, http.MethodGet, "/tokens", nil)
}

func (r *remote) CreateToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error) {
	made, err := call[createdToken](ctx, r, http.MethodPost, "/tokens", d)
	return made.Token, made.Key, err
}

func (r *remote) RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (auth.Token, string, error) {
	made, err := call[createdToken](ctx, r, http.MethodPost, "/tokens/"+url.PathEscape(nameOrID)+"/rotate?grace="+
		grace.String(), nil)
	return made.Token, made.Key, err
}

func (r *remote) RevokeToken(ctx context.Context, nameOrID string) (auth.Token, error) {
	return call[auth.Token](ctx, r, http.MethodDelete, "/tokens/"+url.PathEscape(nameOrID), nil)
}

func (r *remote) Fill(ctx context.Context, fillings []misfits.Filling, _ func(string, int, int)) (misfits.Filled, error) {
	return call[misfits.Filled](ctx, r, http.MethodPost, "/fill", fillings)
}

func (r *remote) Webhooks(ctx context.Context) ([]webhooks.Status, error) {
	return call[[]webhooks.Status](ctx, r, http.MethodGet, "/webhooks", nil)
}

func (r *remote) WebhookLog(ctx context.Context, name string) (webhooks.Log, error) {
	return call[webhooks.Log](ctx, r, http.MethodGet, "/webhooks/"+url.PathEscape(name)+"/log", nil)
}

func (r *remote) TestWebhook(ctx context.Context, name string) (webhooks.Test, error) {
	return call[webhooks.Test](ctx, r, http.MethodPost, "/webhooks/"+url.PathEscape(name)+"/test", nil)
}

func (r *remote) ReplayWebhook(ctx context.Context, name string, since time.Time) (webhooks.Replayed, error) {
	path := "/webhooks/" + url.PathEscape(name) + "/replay"
	if !since.IsZero() {
		path += "?since=" + url.QueryEscape(since.Format(time.RFC3339Nano))
	}
	return call[webhooks.Replayed](ctx, r, http.MethodPost, path, nil)
}

func (r *remote) Uploads(ctx context.Context) (Uploads, error) {
	return call[Uploads](ctx, r, http.MethodGet, "/uploads", nil)
}

func (r *remote) problems(ctx context.Context) ([]string, error) {
	return call[[]string](ctx, r, http.MethodGet, "/problems", nil)
}

func (r *remote) migrate(ctx context.Context, ms evolve.Migrations, _ func(string, int, int)) (evolve.Removed, error) {
	return call[evolve.Removed](ctx, r, http.MethodPost, "/migrate", ms)
}

func (r *remote) Backup(ctx context.Context, w io.Writer) error {
	return r.do(ctx, http.MethodGet, "/backup", nil, copyTo(w))
}

func (r *remote) Compact(ctx context.Context, progress func(done, total int64)) (result store.Compaction, err error) {
	err = r.do(ctx, http.MethodPost, "/compact", nil, func(body io.Reader) error {
		lines := json.NewDecoder(bufio.NewReader(body))
		for {
			var e compactEvent
			if err := lines.Decode(&e); err != nil {
				return fmt.Errorf("the server ended the compaction: %w", err)
			}
			switch {
			case e.Error != "":
				return errors.New(e.Error)
			case e.Result != nil:
				result = *e.Result
				return nil
			case progress != nil:
				progress(e.Done, e.Total)
			}
		}
	})
	return result, err
}

func (r *remote) Export(ctx context.Context, w io.Writer) error {
	return r.do(ctx, http.MethodGet, "/export", nil, copyTo(w))
}

func (r *remote) Import(ctx context.Context, file io.ReadSeeker,
	o transfer.ImportOptions) (result transfer.ImportResult, err error) {
	path := fmt.Sprintf("/import?partial=%t&keep=%t&taken=%t", o.Partial, o.Keep, o.KeepTaken)
	err = r.do(ctx, http.MethodPost, path, io.NopCloser(file), func(body io.Reader) error {
		lines := json.NewDecoder(bufio.NewReader(body))
		for {
			var e importEvent
			if err := lines.Decode(&e); err != nil {
				return fmt.Errorf("the server ended the import: %w", err)
			}
			switch {
			case e.Progress != nil && o.Progress != nil:
				o.Progress(*e.Progress)
			case e.Result != nil:
				result = *e.Result
				if e.Error != "" {
					return errors.New(e.Error)
				}
				if len(e.Problems) > 0 {
					return e.Problems
				}
				return nil
			}
		}
	})
	return result, err
}

// call sends a request with in as JSON, or without a body if in is nil, and decodes the answer.
func call[Out any](ctx context.Context, r *remote, method, path string, in any) (out Out, err error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return out, err
		}
		body = bytes.NewReader(text)
	}
	err = r.do(ctx, method, path, body, func(answer io.Reader) error { return json.NewDecoder(answer).Decode(&out) })
	return out, err
}

// do sends a request and calls read with the body of the answer. If the server answers with an error, do returns that
// error.
func (r *remote) do(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return err
	}
	if by := store.PrincipalOf(ctx); by.Kind == "command" {
		req.Header.Set(commandHeader, by.Name)
	}
	res, err := r.http.Do(req)
	if err != nil {
		var op *url.Error
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("reach the running server: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		err := read(res.Body)
		if id := res.Header.Get(downloadHeader); id != "" && errors.Is(err, io.ErrUnexpectedEOF) {
			err = r.reasonOf(ctx, id, err)
		}
		return err
	}
	var e controlError
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil || e.Error == "" {
		return fmt.Errorf("the running server answered %s; it may be of another version", res.Status)
	}
	if known := controlCodes[e.Code]; known != nil {
		return &controlFailure{e.Error, known}
	}
	return errors.New(e.Error)
}

// A controlFailure is an error of the server for which there is a code in controlCodes. It wraps that error and shows
// the server's message.
type controlFailure struct {
	message string
	known   error
}

func (f *controlFailure) Error() string { return f.message }
func (f *controlFailure) Unwrap() error { return f.known }

func copyTo(w io.Writer) func(io.Reader) error {
	return func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	}
}
