package schema

import (
	"context"
	"fmt"

	"github.com/graphql-go/graphql"

	"lectern/documents"
)

// A FilterReader converts the value of a filters input (ArticleFiltersInput) that a resolver got as an argument to a
// condition.
type FilterReader func(input string, given any) (documents.Condition, error)

type filterReaderKey struct{}

// WithFilterReader returns a context with the FilterReader that FiltersOf calls.
func WithFilterReader(ctx context.Context, read FilterReader) context.Context {
	return context.WithValue(ctx, filterReaderKey{}, read)
}

// FiltersOf converts an argument of a resolver to a condition for documents.Query. The type of the argument must be a
// filters input, such as ArticleFiltersInput. The condition means the same as in the filters of a generated field: a
// filter by an attribute that is hidden from the caller is an error, which the client sees. If the argument is absent,
// the condition holds for every document.
func FiltersOf(p graphql.ResolveParams, argument string) (documents.Condition, error) {
	parent, _ := p.Info.ParentType.(*graphql.Object)
	read, _ := p.Context.Value(filterReaderKey{}).(FilterReader)
	if parent == nil || read == nil {
		return nil, fmt.Errorf("filters of argument %q: there is no operation", argument)
	}
	if def := parent.Fields()[p.Info.FieldName]; def != nil {
		for _, a := range def.Args {
			if a.Name() == argument {
				return read(named(a.Type).Name(), p.Args[argument])
			}
		}
	}
	return nil, fmt.Errorf("%s.%s has no argument %q", parent.Name(), p.Info.FieldName, argument)
}
