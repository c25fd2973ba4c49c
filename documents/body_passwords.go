package documents

import (
	"context"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/passwords"
	"lectern/documents/values"
	"lectern/jsontree"
)

// hashPasswords hashes the passwords in a body and returns the hashes by password. It is called before the transaction,
// so that other writes need not wait for it.
func hashPasswords(ctx context.Context, h *passwords.Hasher, s *contenttypes.Schema,
	data *jsontree.Object) (map[string]string, error) {
	var hashes map[string]string
	for _, plain := range passwordsIn(nil, s, data) {
		if len(plain) > passwords.MaxLength {
			return nil, apierror.Validation(passwords.TooLong)
		}
		if hashes[plain] != "" {
			continue
		}
		hash, err := h.Hash(ctx, plain)
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

// passwordsIn appends the values of password attributes to list, including those in components.
func passwordsIn(list []string, s *contenttypes.Schema, data *jsontree.Object) []string {
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
				if c := a.ComponentNamed(o.Text("__component")); c != nil {
					list = passwordsIn(list, &c.Schema, o)
				}
			}
		}
	}
	return list
}

// password returns the stored form of a password: its hash from hashPasswords, nil for null. All passwords come from
// the body, because password attributes have no defaults.
func (wr *writing) password(v any) []byte {
	plain, isText := v.(string)
	if !isText {
		return nil
	}
	return values.Encode(wr.hashes[plain])
}
