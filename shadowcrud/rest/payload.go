package rest

import (
	"context"
	"errors"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// maxPayload is how long the document in the payload of a webhook may be.
const maxPayload = 1 << 20

var errPayload = errors.New("the document is too long for a webhook")

// Payloads print documents for webhooks, with all that a caller with full access may see.
type Payloads struct {
	api    *API
	params *params.Parser
}

// NewPayloads returns the payloads of a model. defaultLocale is that of the project.
func NewPayloads(m *contenttypes.Model, st *store.Store, docs *documents.Service, defaultLocale string) *Payloads {
	parser := params.New(m, defaultLocale, params.ListSettings{})
	return &Payloads{New(m, st, docs, parser), parser}
}

// Append appends a version, and what it leads to as populate=* shows it if populated is set. It appends null in place
// of a document that is too long.
func (p *Payloads) Append(ctx context.Context, dst []byte, s *store.Snapshot, r store.Record,
	populated bool) ([]byte, error) {
	shown, err := p.selection(r.Type(), populated)
	if err != nil {
		return nil, err
	}
	plain := &Plain{API: p.api, Access: permission.FullAccess, Status: r.Status(),
		Limits: &AnswerLimits{Bytes: maxPayload, TooLong: errPayload}}
	body, err := plain.Append(ctx, dst, s, r, shown)
	if errors.Is(err, errPayload) {
		return append(dst, "null"...), nil
	}
	return body, err
}

// selection returns what is shown of documents of a type.
func (p *Payloads) selection(of *contenttypes.ContentType, populated bool) (*documents.Selection, error) {
	query := jsontree.NewObject()
	if populated {
		query.Set("populate", "*")
	}
	written, err := p.params.Write(of, query, permission.FullAccess)
	if err != nil {
		return nil, err
	}
	shown := *written.Selection
	shown.Populate = slices.DeleteFunc(slices.Clone(shown.Populate),
		func(p documents.Populate) bool { return p.Attr.Name == "localizations" })
	return &shown, nil
}
