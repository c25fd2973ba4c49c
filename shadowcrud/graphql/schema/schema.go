// Package schema makes the GraphQL schema of a Model.
package schema

import (
	"errors"

	"lectern/contenttypes"
)

// Options say what the schema holds beside what the Model asks for. The zero value takes nothing away and adds nothing.
type Options struct {
	// DocumentActions adds the mutations publishX, unpublishX and discardDraftX of types with drafts.
	DocumentActions bool
}

// Build makes the schema of a Model.
func Build(m *contenttypes.Model, o Options) (*Schema, error) {
	return nil, errors.New("not built yet")
}
