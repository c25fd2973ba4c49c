package schema

import (
	"context"
	"fmt"

	"github.com/graphql-go/graphql"

	"lectern/documents"
)

// A FilterReader makes a condition of a value of a filters input (ArticleFiltersInput), as resolvers get it.
type FilterReader func(input string, given any) (documents.Condition, error)

type filterReaderKey struct{}

// WithFilterReader returns a context in which FiltersOf works.
func WithFilterReader(ctx context.Context, read FilterReader) context.Context {
	return context.WithValue(ctx, filterReaderKey{}, read)
}

// FiltersOf is what an argument of a field asks for, where the type of the argument is a filters input, such as ArticleFiltersInput: a
// condition for documents.Query. It is read as the filters of generated fields are, and held to what the caller may see: a filter by
// what is hidden is an error that the client is told. Where the argument was not given, the condition holds for everything.
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
