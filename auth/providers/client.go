package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody is how many bytes of an answer of a provider are read.
const maxBody = 1 << 20

// newClient returns a client that follows no redirect, since the secret of the server would follow as well, and reads
// answers up to maxBody.
func newClient(over http.RoundTripper) *http.Client {
	if over == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxResponseHeaderBytes = 64 << 10
		transport.DisableKeepAlives = true // logins are rare, and connections would outlive a reload of the settings
		over = transport
	}
	return &http.Client{
		Transport: bounded{over}, Timeout: maxTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A bounded transport refuses bodies of answers that are longer than maxBody.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &boundedBody{res.Body, maxBody}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

var errLongBody = fmt.Errorf("the answer is longer than %d bytes", maxBody)

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errLongBody
	}
	return n, err
}

// errRefused means that the provider has answered with another status than 200.
var errRefused = errors.New("the provider refuses")

// getJSON asks for a resource with an access token, and decodes the answer.
func getJSON(c *http.Client, r *http.Request, token string, into any) error {
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Lectern") // GitHub refuses requests without one
	res, err := c.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: GET %s is answered %s", errRefused, r.URL.Path, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		return fmt.Errorf("decode the answer to GET %s: %w", r.URL.Path, err)
	}
	return nil
}
