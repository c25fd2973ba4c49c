package documents

import (
	"context"
	"runtime"

	"golang.org/x/crypto/bcrypt"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// maxPassword is how many bytes of a password count; longer ones are refused rather than cut.
const maxPassword = 72

// hashing bounds how many passwords are hashed at a time: each keeps a processor busy for a while.
var hashing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// hashPasswords hashes the passwords in a body, before the write begins so that other writes need not wait for it.
func hashPasswords(ctx context.Context, s *contenttypes.Schema, data *jsontree.Object) (map[string]string, error) {
	var hashes map[string]string
	for _, plain := range passwords(nil, s, data) {
		if len(plain) > maxPassword {
			return nil, validationError(tooLong, nil)
		}
		if hashes[plain] != "" {
			continue
		}
		hash, err := HashPassword(ctx, plain)
		if err != nil {
			return nil, err
		}
		if hashes == nil {
			hashes = map[string]string{}
		}
		hashes[plain] = hash
	}
	return hashes, nil
}

// passwords appends the values of password attributes, those in components too.
func passwords(list []string, s *contenttypes.Schema, data *jsontree.Object) []string {
	for _, a := range s.Attributes {
		v, ok := data.Get(a.Name)
		if !ok {
			continue
		}
		switch {
		case a.Type == contenttypes.Password:
			if plain, isText := v.(string); isText {
				list = append(list, plain)
			}
		case a.Type == contenttypes.ComponentType || a.Type == contenttypes.DynamicZone:
			items, isList := v.([]any)
			if !isList {
				items = []any{v}
			}
			for _, item := range items {
				o, isObject := item.(*jsontree.Object)
				if !isObject {
					continue
				}
				for _, c := range append(a.Components[:len(a.Components):len(a.Components)], a.Component) {
					if c != nil && (a.Type == contenttypes.ComponentType || o.Values["__component"] == c.UID) {
						list = passwords(list, &c.Schema, o)
					}
				}
			}
		}
	}
	return list
}

// password is what is stored for a password.
func (wr *writing) password(a *contenttypes.Attribute, v any) []byte {
	plain, isText := v.(string)
	if !isText {
		return nil
	}
	hash, ok := wr.hashes[plain]
	if !ok { // a default
		h, err := bcrypt.GenerateFromPassword([]byte(plain), hashCost)
		if err != nil {
			return nil
		}
		hash = string(h)
	}
	return storedJSON(hash)
}
