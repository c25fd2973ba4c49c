package schema

import (
	"github.com/graphql-go/graphql"
	"github.com/graphql-go/graphql/language/ast"
)

// jsonURL is the specification of JSON.
const jsonURL = "http://www.ecma-international.org/publications/files/ECMA-ST/ECMA-404.pdf"

// standardScalars are the scalars of every GraphQL schema.
var standardScalars = []*Scalar{
	{Name: "String", Kind: StringScalar, GraphQL: graphql.String},
	{Name: "Int", Kind: IntScalar, GraphQL: graphql.Int},
	{Name: "Float", Kind: FloatScalar, GraphQL: graphql.Float},
	{Name: "Boolean", Kind: BooleanScalar, GraphQL: graphql.Boolean},
	{Name: "ID", Kind: IDScalar, GraphQL: graphql.ID},
}

// valueScalars are the scalars of attributes, in the order of the schema.
var valueScalars = []struct {
	name, description string
	kind              ScalarKind
	specifiedBy       string
}{
	{name: "JSON", kind: JSONScalar, specifiedBy: jsonURL,
		description: "Any JSON value: an object, a list, a text, a number, true, false or null."},
	{name: "DateTime", kind: DateTimeScalar,
		description: "A moment as RFC 3339 writes it, such as 2024-05-31T18:30:00.000Z. Answers are in UTC with milliseconds."},
	{name: "Time", kind: TimeScalar, description: "A time of day as HH:mm:ss or HH:mm:ss.SSS."},
	{name: "Date", kind: DateScalar, description: "A day as YYYY-MM-DD."},
	{name: "Long", kind: LongScalar,
		description: "An integer of up to 64 bits: a number, or a text of digits beyond what a number of JSON holds exactly."},
}

const localeDescription = "The code of a locale, such as en or pt-BR; * stands for all of them."

// newScalar makes a scalar. The engine reads and prints its values by Kind, so graphql-go passes them through.
func newScalar(name, description string, kind ScalarKind) *Scalar {
	same := func(value any) any { return value }
	return &Scalar{Name: name, Kind: kind, GraphQL: graphql.NewScalar(graphql.ScalarConfig{
		Name: name, Description: description, Serialize: same, ParseValue: same,
		ParseLiteral: func(v ast.Value) any { return v.GetValue() },
	})}
}
