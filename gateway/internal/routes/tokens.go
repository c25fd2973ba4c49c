package routes

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// TokenOptions are what the routes of API tokens need.
type TokenOptions struct {
	Prefix string // of the content API
	Tokens *auth.Tokens
	Limits server.Limits
}

const tokenAction = "lectern::api-token."

// errKeyShown is the answer to a request with an Idempotency-Key to a route whose answer has the key of a token.
var errKeyShown = server.BadRequest("BadRequestError",
	"the answer has the key of a token, which the server never stores: send the request without an Idempotency-Key")

// Tokens returns the routes of API tokens. A key is in the answer of the request that made it, and nowhere else.
func Tokens(o TokenOptions) []server.Route {
	list := o.Prefix + "/_tokens"
	return []server.Route{
		{Method: http.MethodGet, Path: list, Action: tokenAction + "find", Handle: o.list},
		{Method: http.MethodPost, Path: list, Action: tokenAction + "create", Handle: o.create, Keyless: errKeyShown},
		{Method: http.MethodPost, Path: list + "/{name}/actions/rotate", Action: tokenAction + "rotate",
			Handle: o.rotate, Keyless: errKeyShown},
		{Method: http.MethodDelete, Path: list + "/{name}", Action: tokenAction + "revoke", Handle: o.revoke},
	}
}

// GET /api/_tokens: the tokens, and those that permissions.yaml declares and that have no key yet.
func (o *TokenOptions) list(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	data := []any{}
	for _, tok := range o.Tokens.List() {
		data = append(data, describeToken(&tok))
	}
	for _, d := range o.Tokens.Keyless() {
		data = append(data, describeToken(&auth.Token{Declaration: d, Declared: true}))
	}
	return o.Limits.SendJSON(w, r, http.StatusOK, server.DataBody(data))
}

// POST /api/_tokens: makes a token. The data of the body are its name, description, type, permissions and lifespan.
func (o *TokenOptions) create(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	sent, err := o.read(w, r, "name", "description", "type", "permissions", "lifespan")
	if err != nil {
		return err
	}
	d := auth.Declaration{Name: sent.text("name"), Description: sent.text("description"),
		Kind: auth.Kind(sent.text("type")), Permissions: sent.texts("permissions"), Lifespan: sent.time("lifespan")}
	if sent.err != nil {
		return sent.err
	}
	if d, err = o.Tokens.Completed(d); err == nil {
		err = o.Tokens.Check(d)
	}
	if err != nil {
		return apierror.Validation(err.Error())
	}
	tok, key, err := o.Tokens.CreateAs(r.Context(), who.Access, d)
	if err != nil {
		return refused(err)
	}
	return sendKey(w, http.StatusCreated, &tok, key)
}

// POST /api/_tokens/{name}/actions/rotate: gives a token a new key. The body may have the grace of the former one.
func (o *TokenOptions) rotate(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	sent, err := o.read(w, r, "grace")
	if err != nil {
		return err
	}
	grace := time.Hour
	if v := sent.body.Value("grace"); v == "0" || v == jsontree.Number("0") {
		grace = 0
	} else if v != nil {
		grace = sent.time("grace")
	}
	if sent.err != nil {
		return sent.err
	}
	tok, key, err := o.Tokens.RotateAs(r.Context(), who.Access, mux.Vars(r)["name"], grace)
	if err != nil {
		return refused(err)
	}
	return sendKey(w, http.StatusOK, &tok, key)
}

// DELETE /api/_tokens/{name}: ends a token at once. That of permissions.yaml can be made again.
func (o *TokenOptions) revoke(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if _, err := o.Tokens.Revoke(r.Context(), mux.Vars(r)["name"]); err != nil {
		return refused(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// refused returns the answer to a request that an error of auth.Tokens ends.
func refused(err error) error {
	switch {
	case errors.Is(err, auth.ErrBeyond):
		return &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError", Message: err.Error()}
	case errors.Is(err, auth.ErrNoToken):
		return &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Token not found"}
	case errors.Is(err, auth.ErrTokenExists):
		return apierror.Validation(err.Error())
	}
	return err
}

func sendKey(w http.ResponseWriter, status int, tok *auth.Token, key string) error {
	w.Header()["Cache-Control"] = []string{"no-store"}
	data := describeToken(tok)
	data.Set("key", key)
	return server.SendJSON(w, status, server.DataBody(data))
}

func describeToken(tok *auth.Token) *jsontree.Object {
	rules := jsontree.NewObject()
	for _, p := range tok.Permissions {
		if rule := tok.Rules[p]; rule != nil {
			rules.Set(p, rule)
		}
	}
	var lifespan any
	if tok.Lifespan > 0 {
		lifespan = number(int64(tok.Lifespan / time.Second))
	}
	return jsontree.ObjectOf("name", tok.Name, "description", tok.Description, "type", string(tok.Kind),
		"permissions", jsontree.ListOf(tok.Permissions), "rules", rules, "declared", tok.Declared,
		"hasKey", tok.ID != "", "lifespan", lifespan, "createdAt", timeOr(tok.CreatedAt),
		"lastUsedAt", timeOr(tok.LastUsedAt), "expiresAt", timeOr(tok.ExpiresAt),
		"formerUntil", timeOr(tok.FormerUntil))
}

// A sentBody is the body of a request, with the first error that reading a value of it has found.
type sentBody struct {
	body *jsontree.Object
	err  error
}

// read reads the object "data" of a body, which may have these keys.
func (o *TokenOptions) read(w http.ResponseWriter, r *http.Request, keys ...string) (*sentBody, error) {
	data, err := readData(&o.Limits, w, r)
	if err == nil {
		err = only(data, keys...)
	}
	return &sentBody{body: data}, err
}

func (s *sentBody) fails(message string) {
	if s.err == nil {
		s.err = apierror.Validation(message)
	}
}

// text returns a text, "" if there is none.
func (s *sentBody) text(key string) string {
	v := s.body.Value(key)
	text, ok := v.(string)
	if v != nil && !ok {
		s.fails(key + " must be a string")
	}
	return text
}

// texts returns a list of texts, nil if there is none.
func (s *sentBody) texts(key string) (texts []string) {
	v := s.body.Value(key)
	list, ok := v.([]any)
	for _, each := range list {
		text, isText := each.(string)
		ok = ok && isText
		texts = append(texts, text)
	}
	if v != nil && !ok {
		s.fails(key + " must be a list of strings")
	}
	return texts
}

// time returns a time such as 90d or a number of seconds; 0 if there is none.
func (s *sentBody) time(key string) time.Duration {
	v := s.body.Value(key)
	if n, isNumber := v.(jsontree.Number); isNumber {
		v = string(n)
	}
	text, _ := v.(string)
	d, ok := config.ParseLifespan(text)
	if v != nil && !ok {
		s.fails(key + " must be a time such as 90d or 12h, or a number of seconds")
	}
	return d
}
