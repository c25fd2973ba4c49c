// Package idempotency carries out requests with an Idempotency-Key once. The answer is kept in the transaction of the
// write, and later requests with the same key get that answer.
package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strconv"
	"sync"
	"time"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// replayedHeader is the header of an answer that was given before, to an earlier request with the same key.
const replayedHeader = "Idempotency-Replayed"

// Answers to requests with a key to routes that keep no answers.
var (
	errNotHere = server.BadRequest("BadRequestError",
		"this route keeps no answers: send the request without an Idempotency-Key")
	// ErrSecret is the answer of routes whose answers hold a JWT.
	ErrSecret = server.BadRequest("BadRequestError",
		"the answer may hold a JWT, which the server never stores: send the request without an Idempotency-Key")
)

var (
	errReused = &apierror.Error{Status: http.StatusUnprocessableEntity, Name: "UnprocessableEntityError",
		Message: "the Idempotency-Key was used for another request: send a new key with each new request, " +
			"and the same key only with the same method, path, query and body"}
	errAtWork = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError",
		Details: jsontree.ObjectOf("outcome", "pending"),
		Message: "a request with this Idempotency-Key is still at work; try again"}
	errAccess = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError",
		Details: jsontree.ObjectOf("outcome", "applied"),
		Message: "the request with this Idempotency-Key was carried out; its answer is not shown, " +
			"because your permissions, or which attributes are private, have changed since"}
	errOff = server.BadRequest("BadRequestError",
		"this server keeps no answers (idempotency.keep: 0): send the request without an Idempotency-Key")
)

// Options are what Keys are made of.
type Options struct {
	Model    *contenttypes.Model
	Store    *store.Store
	Settings config.Idempotency
	Limits   server.Limits // of bodies and answers
	Now      func() time.Time
	// AtWork are the keys of the requests that are at work. All Keys of a server share it.
	AtWork *AtWork
}

// Keys carry out requests with an Idempotency-Key.
type Keys struct {
	Options
	hidden func() string // see hiddenIn
}

// New returns the Keys of an open store.
func New(o Options) *Keys {
	return &Keys{o, sync.OnceValue(func() string { return hiddenIn(o.Model) })}
}

// Serve is CarryOut for a request that says nothing but its method, path, query and body.
func (k *Keys) Serve(w http.ResponseWriter, r *http.Request, who auth.Principal, do func(*store.Once) error) error {
	body, err := k.Limits.ReadWhole(r)
	if err != nil {
		return err
	}
	if body, err = withoutBoundary(r, body); err != nil {
		return err
	}
	return k.CarryOut(w, r, who, body, do)
}

// withoutBoundary returns a hash of the fields of a multipart form, and any other body as it is. Clients make up
// another boundary between the parts of a form each time that they send it.
func withoutBoundary(r *http.Request, body []byte) ([]byte, error) {
	kind, params, err := server.ContentType(r.Header)
	if err != nil || kind != "multipart/form-data" {
		return body, nil
	}
	fields, err := server.MultipartFields(body, params["boundary"], server.BodyMemory(r))
	switch {
	case server.IsMemory(err):
		return nil, err
	case err != nil:
		return body, nil // nothing is written
	}
	h := sha256.New()
	for _, f := range fields {
		writeText(h, f[0])
		writeText(h, f[1])
	}
	return h.Sum(nil), nil
}

// CarryOut answers a request with an Idempotency-Key. body is what the request says besides its method, path and query.
// do carries the request out and answers it; it is not called if that was done before.
func (k *Keys) CarryOut(w http.ResponseWriter, r *http.Request, who auth.Principal, body []byte,
	do func(*store.Once) error) error {
	once, err := k.once(r, who, body)
	if err != nil {
		return err
	}
	if !k.AtWork.begin(once.Key) {
		w.Header()["Retry-After"] = server.RetrySoon
		return errAtWork
	}
	defer k.AtWork.end(once.Key)
	kept, err := k.kept(once)
	if err == nil && kept == nil {
		err = do(once)
		var before *store.CarriedOutError
		if errors.As(err, &before) {
			kept, err = before.Kept, nil
		}
	}
	if kept == nil || err != nil {
		return err
	}
	return k.replay(w, r, once, kept)
}

// A Handler answers a request to a route that takes requests with an Idempotency-Key. once is nil for a request without
// one.
type Handler func(w http.ResponseWriter, r *http.Request, who auth.Principal, once *store.Once) error

// Once returns the handler of a route that carries out requests with an Idempotency-Key once. Answers have JSON in
// their bodies.
func (k *Keys) Once(handle Handler) server.Handler {
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
		if r.Header[server.IdempotencyKey] == nil {
			return handle(w, r, who, nil)
		}
		return k.Serve(w, r, who, func(once *store.Once) error {
			once.ContentType = server.JSON[0]
			return handle(w, r, who, once)
		})
	}
}

// once returns the Once of a request. The hash of the request includes the key, which nobody can read in the store.
// Without it, whoever reads the store could try out passwords against the hash of a body, much faster than against the
// hashes of passwords.
func (k *Keys) once(r *http.Request, who auth.Principal, body []byte) (*store.Once, error) {
	key, err := parseKey(r.Header[server.IdempotencyKey])
	switch {
	case err != nil:
		return nil, err
	case k.Settings.Keep == 0:
		return nil, errOff
	}
	request := []string{key, r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body)}
	if format := r.Header.Get(rest.FormatHeader); format != "" { // of the answer
		request = append(request, format)
	}
	return &store.Once{
		Key:     store.KeyOf(hashOf(callerName(who)), hashOf(callerName(who), key)),
		Request: hashOf(request...),
		Access:  hashOf(string(who.Access.AppendFingerprint(nil)), k.hidden()),
		At:      k.Now(),
		MaxBody: k.Settings.MaxAnswer,
		TooLong: apierror.Validation(
			fmt.Sprintf("the answer to a request with an Idempotency-Key may have %s at most "+
				"(idempotency.maxAnswer); nothing was written. Ask for fewer fields, or populate less", config.ByteSize(k.Settings.MaxAnswer))),
	}, nil
}

// hiddenIn returns a text that names the attributes that no answer shows. Answers that were kept while another set was
// hidden are not shown.
func hiddenIn(m *contenttypes.Model) string {
	h := sha256.New()
	hide := func(s *contenttypes.Schema) {
		for _, a := range s.Attributes {
			if a.Private || a.Type == contenttypes.Password {
				writeText(h, s.UID)
				writeText(h, a.Name)
			}
		}
	}
	for _, t := range m.Types {
		hide(&t.Schema)
	}
	for _, c := range m.Components {
		hide(&c.Schema)
	}
	return string(h.Sum(nil))
}

// callerName names a caller. No two callers have the same name.
func callerName(who auth.Principal) string {
	switch {
	case who.User.ID != 0:
		return "user " + strconv.FormatUint(who.User.ID, 10)
	case who.Token != "":
		return "token " + who.Token
	}
	return "public"
}

// hashOf returns a hash of texts and of where each of them ends.
func hashOf(texts ...string) (sum store.Hash) {
	h := sha256.New()
	for _, text := range texts {
		writeText(h, text)
	}
	h.Sum(sum[:0])
	return sum
}

// writeText writes the length of a text and the text.
func writeText(h hash.Hash, text string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	h.Write(length[:])
	h.Write([]byte(text))
}

// kept returns the answer under the key of once, nil if there is none.
func (k *Keys) kept(once *store.Once) (kept *store.KeptAnswer, err error) {
	err = k.Store.View(func(s *store.Snapshot) error {
		kept, err = once.Kept(s)
		return err
	})
	return kept, err
}

// replay answers a request with the answer to an earlier one, if that was the same request.
func (k *Keys) replay(w http.ResponseWriter, r *http.Request, once *store.Once, kept *store.KeptAnswer) error {
	switch {
	case kept.Request != once.Request:
		return errReused
	case kept.Access != once.Access:
		return errAccess
	}
	w.Header()[replayedHeader] = replayed
	if len(kept.Body) == 0 {
		w.WriteHeader(kept.Status)
		return nil
	}
	server.WriteHead(w, []string{kept.ContentType}, kept.Status, kept.Body)
	_ = k.Limits.Send(r.Context(), w, kept.Body) // a failed write cannot be answered otherwise
	return nil
}

var replayed = []string{"true"}

// maxKey is how many characters a key may have.
const maxKey = 255

// parseKey reads the values of the header Idempotency-Key: a string as structured fields have it (RFC 8941), in double
// quotes, or the same key without the quotes.
func parseKey(values []string) (string, error) {
	malformed := server.BadRequest("BadRequestError",
		fmt.Sprintf(`Idempotency-Key must be one text of 1 to %d visible ASCII characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"`, maxKey))
	if len(values) != 1 {
		return "", malformed
	}
	text := values[0]
	quoted := len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"'
	if quoted {
		text = text[1 : len(text)-1]
	}
	key := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c < ' ' || c > '~', !quoted && (c == ' ' || c == ',' || c == ';'):
			return "", malformed
		case c == '"' || c == '\\':
			if i++; c == '"' || !quoted || i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", malformed
			}
			c = text[i]
		}
		key = append(key, c)
	}
	if len(key) == 0 || len(key) > maxKey {
		return "", malformed
	}
	return string(key), nil
}

// AtWork are the keys of the requests that are at work. The zero value has none.
type AtWork struct {
	mu   sync.Mutex
	keys map[store.Hash]struct{}
}

// begin notes that a request with a key is at work. It returns false if another one is.
func (k *AtWork) begin(key store.Hash) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, busy := k.keys[key]
	if k.keys == nil {
		k.keys = map[store.Hash]struct{}{}
	}
	k.keys[key] = struct{}{}
	return !busy
}

func (k *AtWork) end(key store.Hash) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, key)
}

// Refuse has those of the routes that write refuse requests with an Idempotency-Key. Ignoring the key would let a
// client believe that it may send the request again.
func Refuse(routes []server.Route) []server.Route {
	for i := range routes {
		if route := &routes[i]; route.Method != http.MethodGet && !route.Keyed && route.Keyless == nil {
			route.Keyless = errNotHere
		}
	}
	return routes
}
