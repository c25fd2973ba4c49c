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
	"path/filepath"
	"strconv"
	"time"

	"lectern/auth"
	"lectern/documents"
)

// A remote administers the project of a server in another process, by requests to its control socket.
type remote struct {
	http   *http.Client
	Server serverInfo
}

// dial connects to the server that runs on the data directory data. It fails if no server answers there.
func dial(ctx context.Context, data string) (*remote, error) {
	r := &remote{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			short, done, err := shortSocketPath(filepath.Join(data, controlName))
			if err != nil {
				return nil, err
			}
			defer done()
			return new(net.Dialer).DialContext(ctx, "unix", short)
		},
		DisableCompression: true,
	}}}
	if err := r.get(ctx, "/server", &r.Server); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

func (r *remote) Tokens(ctx context.Context) (tokens []auth.Token, err error) {
	return tokens, r.get(ctx, "/tokens", &tokens)
}

func (r *remote) CreateToken(ctx context.Context, d auth.Declaration) (auth.Token, string, error) {
	var made createdToken
	err := r.post(ctx, "/tokens", d, &made)
	return made.Token, made.Key, err
}

func (r *remote) RotateToken(ctx context.Context, nameOrID string, grace time.Duration) (auth.Token, string, error) {
	var made createdToken
	err := r.do(ctx, http.MethodPost, "/tokens/"+url.PathEscape(nameOrID)+"/rotate?grace="+grace.String(), nil, readJSON(&made))
	return made.Token, made.Key, err
}

func (r *remote) RevokeToken(ctx context.Context, nameOrID string) (tok auth.Token, err error) {
	return tok, r.do(ctx, http.MethodDelete, "/tokens/"+url.PathEscape(nameOrID), nil, readJSON(&tok))
}

func (r *remote) Fill(ctx context.Context, fillings []documents.Filling, _ func(string, int, int)) (filled documents.Filled, err error) {
	return filled, r.post(ctx, "/fill", fillings, &filled)
}

func (r *remote) Uploads(ctx context.Context) (n Uploads, err error) {
	return n, r.get(ctx, "/uploads", &n)
}

func (r *remote) Backup(ctx context.Context, w io.Writer) error {
	return r.do(ctx, http.MethodGet, "/backup", nil, copyTo(w))
}

func (r *remote) Export(ctx context.Context, w io.Writer) error {
	return r.do(ctx, http.MethodGet, "/export", nil, copyTo(w))
}

func (r *remote) Import(ctx context.Context, file io.ReadSeeker, partial bool, progress func(documents.ImportProgress)) (result documents.ImportResult, err error) {
	err = r.do(ctx, http.MethodPost, "/import?partial="+strconv.FormatBool(partial), io.NopCloser(file), func(body io.Reader) error {
		lines := json.NewDecoder(bufio.NewReader(body))
		for {
			var e importEvent
			if err := lines.Decode(&e); err != nil {
				return fmt.Errorf("the server ended the import: %w", err)
			}
			switch {
			case e.Progress != nil && progress != nil:
				progress(*e.Progress)
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

func (r *remote) get(ctx context.Context, path string, into any) error {
	return r.do(ctx, http.MethodGet, path, nil, readJSON(into))
}

// post sends v as JSON and decodes the answer into into.
func (r *remote) post(ctx context.Context, path string, v, into any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.do(ctx, http.MethodPost, path, bytes.NewReader(body), readJSON(into))
}

// do sends a request and calls read with the body of the answer. If the server answers with an error, do returns that error.
func (r *remote) do(ctx context.Context, method, path string, body io.Reader, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://control"+path, body)
	if err != nil {
		return err
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

// A controlFailure is an error of the server for which there is a code in controlCodes. It wraps that error and shows the server's message.
type controlFailure struct {
	message string
	known   error
}

func (f *controlFailure) Error() string { return f.message }
func (f *controlFailure) Unwrap() error { return f.known }

func readJSON(into any) func(io.Reader) error {
	return func(body io.Reader) error { return json.NewDecoder(body).Decode(into) }
}

func copyTo(w io.Writer) func(io.Reader) error {
	return func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	}
}
