package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// serverFlags are the flags of commands that ask a running server: the one on the directory of a project, or the one at
// a URL.
type serverFlags struct {
	url     string
	ca      pathFlag
	timeout time.Duration
	projectFlags
}

// add adds the flags to a command. usage describes --url.
func (f *serverFlags) add(c *cobra.Command, timeout time.Duration, usage string) {
	c.Flags().StringVar(&f.url, "url", "", usage)
	c.Flags().Var(&f.ca, "ca", "With --url, believe the certificates of the authorities in this PEM `FILE`, "+
		"besides those of the system.")
	c.Flags().DurationVar(&f.timeout, "timeout", timeout, "Wait at most this `DURATION` for the answer.")
	f.projectFlags.add(c)
}

// get asks for an address, with a token unless that is "", and reads at most so many bytes of JSON into answer. It
// returns the status, and whether the body was such JSON; the error says that there was no answer.
func (f *serverFlags) get(ctx context.Context, address, token string, most int64,
	answer any) (status string, isJSON bool, err error) {
	res, err := f.send(ctx, address, token, nil)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	isJSON = json.NewDecoder(io.LimitReader(res.Body, most)).Decode(answer) == nil
	return res.Status, isJSON, nil
}

// send asks for an address with headers, and with a token unless that is "". The caller closes the body of the answer.
func (f *serverFlags) send(ctx context.Context, address, token string,
	headers map[string]string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Close = true // a command asks once
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	return client.Do(r)
}

// client returns a client that believes the authorities of --ca, besides those of the system.
func (f *serverFlags) client() (*http.Client, error) {
	if f.ca == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(string(f.ca))
	if err != nil {
		return nil, err
	}
	authorities, err := x509.SystemCertPool()
	if err != nil {
		authorities = x509.NewCertPool()
	}
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", f.ca)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: authorities}}}, nil
}
