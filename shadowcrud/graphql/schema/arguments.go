package schema

import "github.com/graphql-go/graphql"

// The methods of this file make arguments that several fields have.

func (b *builder) idArg(name string) *argument {
	return &argument{name: name, typ: graphql.NewNonNull(graphql.ID)}
}

func (b *builder) statusArg() *argument {
	return &argument{name: "status", typ: b.Enum("PublicationStatus").GraphQL, value: "PUBLISHED", literal: "PUBLISHED"}
}

// versionArgs choose the version of a document.
func (b *builder) versionArgs() []*argument {
	return []*argument{b.statusArg(), {name: "hasPublishedVersion", typ: graphql.Boolean},
		{name: "publicationFilter", typ: b.Enum("PublicationFilter").GraphQL}}
}

func (b *builder) pageArgs() []*argument {
	return []*argument{
		{name: "pagination", typ: b.inputNamed("PaginationArg"), value: map[string]any{}, literal: "{}"},
		{name: "sort", typ: graphql.NewList(graphql.String), value: []any{}, literal: "[]"},
	}
}

func (b *builder) localeArg(description string) *argument {
	return &argument{name: "locale", typ: b.Scalar("I18NLocaleCode").GraphQL, description: description}
}

// listArgs returns the arguments of a list whose filters input is f: filters, pagination and sort. It returns none
// where f is nil.
func (b *builder) listArgs(f *Filters) []*argument {
	if f == nil {
		return nil
	}
	return append([]*argument{{name: "filters", typ: f.in.graphql}}, b.pageArgs()...)
}

// declarePagination declares the input of the argument pagination.
func (b *builder) declarePagination() {
	in := b.input("PaginationArg", generated)
	for _, name := range []string{"page", "pageSize", "start", "limit"} {
		in.add(name, graphql.Int)
	}
}

// inputNamed returns an input that was declared before.
func (b *builder) inputNamed(name string) graphql.Input { return b.types[name].input.graphql }
