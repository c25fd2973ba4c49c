package gateway

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"lectern/internal/durable"
)

// secretName is the file in the data directory that holds the secret which signs JWTs.
const secretName = "jwt-secret"

const (
	leastSecret = 16 // the least length of a configured secret in production, in bytes
	madeSecret  = 32 // the number of random bytes in a generated secret
)

// jwtSecret returns the configured secret, or one that is generated at the first start and stored in the data
// directory.
func (g *generation) jwtSecret() ([]byte, error) {
	s := g.Settings.Users.Secret
	if s == "" {
		return g.keptSecret()
	}
	if g.project.options.Production {
		if err := checkSecret(s); err != nil {
			return nil, err
		}
	}
	return []byte(s), nil
}

// checkSecret returns an error for a configured secret that is too weak for production.
func checkSecret(s string) error {
	if len(s) < leastSecret {
		return fmt.Errorf("the jwtSecret of config/plugins.yaml has %d bytes, which is too easily guessed: "+
			"production wants %d or more; leave it out to have one made and kept in the data directory", len(s), leastSecret)
	}
	shipped, err := isShipped(s)
	if err == nil && shipped {
		err = errors.New("the jwtSecret of config/plugins.yaml is one that everybody knows who has this program; " +
			"leave it out to have one made and kept in the data directory")
	}
	return err
}

// isShipped reports whether a secret is in a file of the projects that Init and InitEmpty write, so that it is public.
func isShipped(secret string) (shipped bool, err error) {
	for _, root := range []string{initRoot, emptyRoot} {
		files, err := initFiles(root)
		if err != nil {
			return false, err
		}
		for _, text := range files {
			shipped = shipped || bytes.Contains(text, []byte(secret))
		}
	}
	return shipped, nil
}

// keptSecret returns the secret in the data directory, which it generates if there is none.
func (g *generation) keptSecret() ([]byte, error) {
	name := g.project.Data.Join(secretName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecret(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret for JWTs: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < 2*madeSecret {
		return nil, fmt.Errorf("%s does not hold a secret; remove it to have a new one made, which logs everybody out",
			name)
	}
	return []byte(secret), nil
}

// makeSecret generates a secret and writes it, completely or not at all, to a file that only the owner of the process
// can read.
func makeSecret(name string) ([]byte, error) {
	var b [madeSecret]byte
	rand.Read(b[:]) // never fails: it ends the process rather than make a secret that can be guessed
	secret := fmt.Appendf(nil, "%x", b)
	err := durable.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(append(secret, '\n'))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a secret for JWTs: %w", err)
	}
	return secret, nil
}
