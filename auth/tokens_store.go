package auth

import (
	"encoding/json"
	"strconv"
	"time"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// tokenData returns the data for the document of a new token. declared is true if permissions.yaml declares it.
func tokenData(d Declaration, hash digest, now time.Time, declared bool) *jsontree.Object {
	data := jsontree.NewObject()
	data.Set("name", d.Name)
	data.Set("description", d.Description)
	data.Set("type", string(d.Kind))
	data.Set("hash", hash.String())
	if declared {
		data.Set("declared", true)
	}
	data.Set("permissions", permissionsData(d))
	data.Set("rules", rulesData(d))
	if d.Lifespan > 0 {
		data.Set("lifespan", strconv.FormatInt(d.Lifespan.Milliseconds(), 10))
		data.Set("expiresAt", now.Add(d.Lifespan).UTC().Format(contenttypes.TimeFormat))
	}
	return data
}

func permissionsData(d Declaration) []any {
	permissions := make([]any, len(d.Permissions))
	for i, p := range d.Permissions {
		permissions[i] = p
	}
	return permissions
}

// declaredData returns the fields of the document of a token that follow what permissions.yaml declares.
func declaredData(d Declaration) *jsontree.Object {
	return jsontree.ObjectOf("declared", true, "type", string(d.Kind), "permissions", permissionsData(d), "rules",
		rulesData(d))
}

// rulesData returns the rules of a token as they are stored: an object of rules by permission, nil for none.
func rulesData(d Declaration) any {
	if len(d.Rules) == 0 {
		return nil
	}
	rules := jsontree.NewObject()
	for _, p := range d.Permissions {
		if rule := d.Rules[p]; rule != nil {
			rules.Set(p, rule)
		}
	}
	return rules
}

// readRules reads what rulesData returns.
func readRules(text []byte) Rules {
	stored := readRule(text)
	if stored == nil {
		return nil
	}
	rules := Rules{}
	for _, p := range stored.Keys {
		rule, _ := stored.Value(p).(*jsontree.Object)
		if rule == nil {
			rule = jsontree.NewObject()
		}
		rules[p] = rule
	}
	return rules
}

// rotationData returns the fields that change in the document of a token when it gets another key.
func rotationData(tok Token, hash digest, now time.Time, grace time.Duration) *jsontree.Object {
	data := jsontree.NewObject()
	data.Set("hash", hash.String())
	data.Set("formerHash", nil)
	data.Set("formerUntil", nil)
	until := now.Add(grace)
	if !tok.ExpiresAt.IsZero() && tok.ExpiresAt.Before(until) {
		until = tok.ExpiresAt
	}
	if until.After(now) {
		data.Set("formerHash", tok.hash.String())
		data.Set("formerUntil", until.UTC().Format(contenttypes.TimeFormat))
	}
	if tok.Lifespan > 0 {
		data.Set("expiresAt", now.Add(tok.Lifespan).UTC().Format(contenttypes.TimeFormat))
	}
	return data
}

// readTokens returns all tokens in the order of their creation.
func readTokens(st *store.Store, typ *contenttypes.ContentType) ([]Token, error) {
	var tokens []Token
	err := st.View(func(s *store.Snapshot) error {
		tokens = nil
		page, err := s.Find(&store.Query{Type: typ, Status: store.Published, Limit: -1})
		if err != nil {
			return err
		}
		for _, r := range page.Rows {
			if tok, ok := readToken(typ, r); ok {
				tokens = append(tokens, tok)
			}
		}
		return nil
	})
	return tokens, err
}

// readToken reads a token from its document; ok is false if its digest is malformed, so that no key can match it.
func readToken(typ *contenttypes.ContentType, r store.Record) (tok Token, ok bool) {
	read := func(name string, into any) {
		if a := typ.Attribute(name); a != nil {
			if text := r.JSON(a); text != nil {
				json.Unmarshal(text, into) // a malformed value counts as absent
			}
		}
	}
	var hash, formerHash, lifespan string
	read("documentId", &tok.ID)
	read("name", &tok.Name)
	read("description", &tok.Description)
	read("type", &tok.Kind)
	read("permissions", &tok.Permissions)
	if a := typ.Attribute("rules"); a != nil {
		tok.Rules = readRules(r.JSON(a))
	}
	read("lifespan", &lifespan)
	read("createdAt", &tok.CreatedAt)
	read("lastUsedAt", &tok.LastUsedAt)
	read("expiresAt", &tok.ExpiresAt)
	read("hash", &hash)
	read("formerHash", &formerHash)
	read("formerUntil", &tok.FormerUntil)
	read("declared", &tok.noted)
	if ms, err := strconv.ParseInt(lifespan, 10, 64); err == nil {
		tok.Lifespan = time.Duration(ms) * time.Millisecond
	}
	if tok.former, ok = parseDigest(formerHash); !ok {
		tok.FormerUntil = time.Time{}
	}
	tok.hash, ok = parseDigest(hash)
	return tok, ok
}
