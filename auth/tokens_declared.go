package auth

import (
	"context"
	"fmt"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/store"
)

// The document of a token says whether permissions.yaml has declared the token. So a token that is taken out of the
// file can be told from one that was made at run time: the former is revoked, and the latter works until somebody
// revokes it. The document also says which permissions the file gave the token last, so that the token has no others
// while the file is missing.

// FollowFile revokes the tokens that permissions.yaml declared and no longer does, and notes what it declares. It
// returns the former. In a store that follows another it does nothing, since the tokens come with the content. Do not
// call it if the file is missing: it would revoke all of them.
func (t *Tokens) FollowFile(ctx context.Context) (revoked []Token, err error) {
	t.edit.Lock()
	defer t.edit.Unlock()
	var outdated []Token
	for _, tok := range t.table.Load().tokens {
		switch {
		case tok.outdated:
			outdated = append(outdated, tok)
		case tok.Removed():
			revoked = append(revoked, tok)
		}
	}
	if len(outdated)+len(revoked) == 0 {
		return nil, nil
	}
	notes := make([]*documents.Prepared, len(outdated))
	for i, tok := range outdated {
		notes[i], err = t.o.Documents.Prepare(
			ctx, documents.Write{Type: t.typ, Data: declaredData(tok.Declaration), Access: permission.FullAccess})
		if err != nil {
			return nil, err
		}
	}
	err = t.o.Documents.Transact(ctx, func(tx *documents.Transaction) error {
		for _, tok := range revoked {
			if err := tx.DeleteUnhooked(t.typ, tok.ID); err != nil {
				return fmt.Errorf("revoke token %s: %w", tok.Name, err)
			}
		}
		for i, tok := range outdated {
			if err := tx.Update(tok.ID, notes[i]); err != nil {
				return fmt.Errorf("note that token %s is declared: %w", tok.Name, err)
			}
		}
		return nil
	})
	if store.WritesElsewhere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, tok := range revoked {
		t.o.Uses.forget(tok.ID)
	}
	return revoked, t.reload()
}

// A TokenForecast names the tokens of a store that permissions.yaml does not declare.
type TokenForecast struct {
	Removed []string `json:"removed,omitempty"` // the file declared them before
	Kept    []string `json:"kept,omitempty"`    // made at run time
}

// ForeseeTokens tells what becomes of the tokens of a store if a file declares those with these names.
func ForeseeTokens(ctx context.Context, p *store.Preview, declared []string) (f TokenForecast, err error) {
	t := p.Model().Type(contenttypes.TokenUID)
	name, noted := t.Attribute("name"), t.Attribute("declared")
	err = p.Each(ctx, t, func(r store.Record) {
		switch tok := jsonText(p.JSON(r, name)); {
		case slices.Contains(declared, tok):
		case string(p.JSON(r, noted)) == "true":
			f.Removed = append(f.Removed, tok)
		default:
			f.Kept = append(f.Kept, tok)
		}
	})
	return f, err
}
