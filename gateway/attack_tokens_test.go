package gateway_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"strings"
	"testing"
	"time"
)

func encode(v any) string {
	text, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(text)
}

// signed builds and signs a JWT without the server.
func signed(header, payload object, newHash func() hash.Hash, key []byte) string {
	text := encode(header) + "." + encode(payload)
	mac := hmac.New(newHash, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// payloadOf returns the decoded header and payload of a JWT.
func payloadOf(t *testing.T, jwt string) (header, payload object) {
	t.Helper()
	parts := strings.Split(jwt, ".")
	for i, into := range []*object{&header, &payload} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return header, payload
}

// TestForgedTokensAreRefused sends JWTs that the server did not create. The server refuses even those that are signed
// with its own secret, unless the algorithm and all claims are right.
func TestForgedTokensAreRefused(t *testing.T) {
	a := serve(t, nil)
	jwt, id := a.register("ann")
	header, payload := payloadOf(t, jwt)
	if header["alg"] != "HS256" || payload["id"] != float64(id) ||
		payload["exp"].(float64)-payload["iat"].(float64) != 30*24*60*60 {
		t.Errorf("%v %v", header, payload)
	}
	key, now := []byte(testSecret), float64(time.Now().Unix())
	again := signed(header, payload, sha256.New, key)
	if again != jwt {
		t.Fatalf("signed by hand: %s, want %s", again, jwt)
	}
	a.want(200, "GET", "/api/users/me", again, nil)
	parts := strings.Split(jwt, ".")

	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rs256 := func(header object) string {
		text := encode(header) + "." + encode(payload)
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	jwk := object{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString([]byte("mine"))}
	rsaJWK := object{"kty": "RSA", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(private.N.Bytes())}
	hs := func(key []byte) string { return signed(header, payload, sha256.New, key) }

	for name, token := range map[string]string{
		"alg none":                  encode(object{"alg": "none"}) + "." + parts[1] + ".",
		"alg none, signed":          encode(object{"alg": "none"}) + "." + parts[1] + "." + parts[2],
		"alg NONE":                  encode(object{"alg": "NONE"}) + "." + parts[1] + ".",
		"alg empty":                 encode(object{"alg": ""}) + "." + parts[1] + ".",
		"no alg":                    encode(object{"typ": "JWT"}) + "." + parts[1] + "." + parts[2],
		"no alg, signed":            signed(object{"typ": "JWT"}, payload, sha256.New, key),
		"alg none, signed as HS256": signed(object{"alg": "none"}, payload, sha256.New, key),
		"alg HS512":                 signed(object{"alg": "HS512"}, payload, sha512.New, key),
		"alg HS384":                 signed(object{"alg": "HS384"}, payload, sha512.New384, key),
		"alg HS512, says HS256":     signed(header, payload, sha512.New, key),
		"alg RS256":                 rs256(object{"alg": "RS256"}),
		"alg RS256, says HS256":     rs256(object{"alg": "HS256"}),
		"alg RS256 with its key":    rs256(object{"alg": "RS256", "jwk": rsaJWK}),
		"HS256 by the public key":   hs(private.N.Bytes()),
		"HS256 by no key":           hs(nil),
		"HS256 by another key":      hs([]byte("another")),
		"a key of its own":          signed(object{"alg": "HS256", "jwk": jwk}, payload, sha256.New, []byte("mine")),
		"kid of a file":             signed(object{"alg": "HS256", "kid": "/dev/null"}, payload, sha256.New, nil),
		"kid of a file above": signed(object{"alg": "HS256", "kid": "../../../../dev/null"}, payload, sha256.New,
			nil),
		"kid of SQL": signed(object{"alg": "HS256", "kid": "x' UNION SELECT 'mine"}, payload, sha256.New,
			[]byte("mine")),
		"jku": signed(object{"alg": "HS256", "jku": a.Base + "/keys", "kid": "1"}, payload,
			sha256.New, []byte("mine")),
		"x5u": rs256(object{"alg": "RS256", "x5u": a.Base + "/keys"}),
		"JWE dir": encode(object{"alg": "dir", "enc": "A256GCM"}) + "..AAAAAAAAAAAAAAAA." + parts[1] +
			".AAAAAAAAAAAAAAAAAAAAAA",
		"JWE, signed": signed(object{"alg": "HS256", "enc": "A256GCM"}, payload, sha256.New, key) +
			".x.y",
		"JSON form": `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` +
			parts[2] + `"}`,
		"JSON form of several": `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] +
			`","signature":"` + parts[2] + `"}]}`,
		"a part more":               jwt + ".x",
		"a part less":               parts[0] + "." + parts[1],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"half a signature":          jwt[:len(jwt)-20],
		"another payload":           parts[0] + "." + encode(changed(payload, "id", id+1)) + "." + parts[2],
		"expired":                   signed(header, changed(payload, "exp", now-1), sha256.New, key),
		"expires now":               signed(header, changed(payload, "exp", now), sha256.New, key),
		"without an end":            signed(header, changed(payload, "exp", nil), sha256.New, key),
		"an end that is no number":  signed(header, changed(payload, "exp", "later"), sha256.New, key),
		"not yet":                   signed(header, changed(payload, "nbf", now+600), sha256.New, key),
		"without a user":            signed(header, changed(payload, "id", nil), sha256.New, key),
		"a user by name":            signed(header, changed(payload, "id", "ann"), sha256.New, key),
		"a user by text":            signed(header, changed(payload, "id", fmt.Sprint(id)), sha256.New, key),
		"half a user":               signed(header, changed(payload, "id", float64(id)+0.5), sha256.New, key),
		"a list of users":           signed(header, changed(payload, "id", []any{id}), sha256.New, key),
		"user 0":                    signed(header, changed(payload, "id", 0), sha256.New, key),
		"user -1":                   signed(header, changed(payload, "id", -1), sha256.New, key),
		"a payload that is a list":  signedText(header, `[1]`, key),
		"a payload that is no JSON": signedText(header, `{`, key),
		"far too long":              jwt + strings.Repeat("A", 8000),
		"no base64":                 parts[0] + ".!\"§$." + parts[2],
	} {
		for _, path := range []string{"/api/users/me", "/api/articles"} {
			if r := a.do("GET", path, token, nil); r.status != 401 || r.message() != "Missing or invalid credentials" {
				t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.text)
			}
		}
	}
	// All claims are right, but the token was not created for the user's current password.
	for name, token := range map[string]string{
		"no stamp":       signed(header, changed(payload, "stamp", nil), sha256.New, key),
		"an empty stamp": signed(header, changed(payload, "stamp", ""), sha256.New, key),
		"another stamp":  signed(header, changed(payload, "stamp", "AAAAAAAAAAAAAAAAAAAAAA"), sha256.New, key),
		"a list":         signed(header, changed(payload, "stamp", []any{payload["stamp"]}), sha256.New, key),
		"another user":   signed(header, changed(payload, "id", 987654), sha256.New, key),
	} {
		if r := a.do("GET", "/api/articles", token, nil); r.status != 401 || r.message() != "Invalid credentials" {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
}

func signedText(header object, payload string, key []byte) string {
	text := encode(header) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestRevokedTokensEndAtOnce revokes the tokens of users in every possible way, and expects each token to be refused at
// once.
func TestRevokedTokensEndAtOnce(t *testing.T) {
	a := serve(t, nil)
	for name, end := range map[string]func(jwt string, id int){
		"blocked": func(_ string, id int) { a.want(200, "PUT", userPath(id), "full", object{"blocked": true}) },
		"deleted": func(_ string, id int) { a.want(200, "DELETE", userPath(id), "full", nil) },
		"changed": func(jwt string, _ int) {
			fresh, _ := a.want(200, "POST", "/api/auth/change-password", jwt, object{
				"currentPassword": "secret-changed", "password": "another",
				"passwordConfirmation": "another"}).at("jwt").(string)
			a.want(200, "GET", "/api/users/me", fresh, nil)
		},
		"reset": func(_ string, id int) {
			a.want(200, "PUT", userPath(id), "full", object{"resetPasswordToken": "a-code"})
			a.want(200, "POST", "/api/auth/reset-password", "",
				object{"code": "a-code", "password": "another", "passwordConfirmation": "another"})
		},
		"anew": func(_ string, id int) {
			a.want(200, "PUT", userPath(id), "full", object{"password": "another"})
		},
	} {
		jwt, id := a.register(name)
		second := a.login(name, "secret-"+name) // within the same second
		a.want(200, "GET", "/api/users/me", jwt, nil)
		end(jwt, id)
		for _, token := range []string{jwt, second} {
			for _, path := range []string{"/api/users/me", "/api/articles"} {
				if r := a.do("GET", path, token, nil); r.status != 401 || r.message() != "Invalid credentials" {
					t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.text)
				}
			}
		}
	}
	jwt, id := a.register("moved")
	a.want(200, "GET", "/api/users/me", jwt, nil)
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("public")})
	a.want(403, "GET", "/api/users/me", jwt, nil) // the token is still valid, but its user has lost the permission
}
