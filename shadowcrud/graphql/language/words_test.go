package language_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/shadowcrud/graphql/language"
)

// shortened prints the errors of a document in a short form: message@line:column,line:column.
func shortened(errs []*language.Error) string {
	var all []string
	for _, e := range errs {
		var at []string
		for _, l := range e.Locations {
			at = append(at, fmt.Sprintf("%d:%d", l.Line, l.Column))
		}
		all = append(all, e.Message+"@"+strings.Join(at, ","))
	}
	return strings.Join(all, "\n")
}

// TestWords checks messages and positions of graphql-js 16 that no recorded suite covers.
func TestWords(t *testing.T) {
	s := open(t, "kitchen")
	for _, tt := range []struct{ text, want string }{
		{`{a(b:"x\y")}`, `Syntax Error: Invalid character escape sequence: "\y".@1:8`},
		{`{a(b:"\u12zz")}`, `Syntax Error: Invalid Unicode escape sequence: "\u12zz".@1:7`},
		{`{a(b:"\u{110000}")}`, `Syntax Error: Invalid Unicode escape sequence: "\u{110000}".@1:7`},
		{`{a(b:01)}`, `Syntax Error: Invalid number, unexpected digit after 0: "1".@1:7`},
		{`{a(b:1.)}`, `Syntax Error: Invalid number, expected digit but got: ")".@1:8`},
		{`{a(b:-)}`, `Syntax Error: Invalid number, expected digit but got: ")".@1:7`},
		{`{a(b:1x)}`, `Syntax Error: Invalid number, expected digit but got: "x".@1:7`},
		{`{a ' }`, `Syntax Error: Unexpected single quote character ('), did you mean to use a double quote (")?@1:4`},
		{`{a é}`, `Syntax Error: Unexpected character: U+00E9.@1:4`},
		{"{a \x07}", `Syntax Error: Invalid character: U+0007.@1:4`},
		{"{a(b:\"\x07\")}", `Syntax Error: Invalid character within String: U+0007.@1:7`},
		{"{a(b:\"x\n\")}", `Syntax Error: Unterminated string.@1:8`},
		{`{a(b:"""x`, `Syntax Error: Unterminated string.@1:10`},
		{`{a.b}`, `Syntax Error: Unexpected character: ".".@1:3`},
		{`query () {a}`, `Syntax Error: Expected "$", found ")".@1:8`},
		{`query Q() {a}`, `Syntax Error: Expected "$", found ")".@1:9`},
		{`{a()}`, `Syntax Error: Expected Name, found ")".@1:4`},
		{`{...}`, `Syntax Error: Expected "{", found "}".@1:5`},
		{`fragment on on Query{a}`, `Syntax Error: Unexpected Name "on".@1:10`},
		{`fragment F Query{a}`, `Syntax Error: Expected "on", found Name "Query".@1:12`},
		{`fragment F($x:Int) on Query{a}`, `Syntax Error: Expected "on", found "(".@1:11`},
		{`{a(b:$)}`, `Syntax Error: Expected Name, found ")".@1:7`},
		{`query($a:Int=$b){a}`, `Syntax Error: Unexpected variable "$b" in constant value.@1:14`},
		{`$a`, `Syntax Error: Unexpected "$".@1:1`},
		{"{\r\n a\r\n !}", `Syntax Error: Expected Name, found "!".@3:2`},
		{`{restaurants(sort:"😀") {nam}}`, `Cannot query field "nam" on type "Restaurant". Did you mean "name"?@1:26`},
		{"#é\n{restaurants{ ... on Category{name}}}",
			`Fragment cannot be spread here as objects of type "Restaurant" can never be of type "Category".@2:15`},
		{`{restaurants{ ... # here
			on Category {name}}}`, `Fragment cannot be spread here as objects of type "Restaurant" can never be of type "Category".@1:15`},
		{`{restaurants{name @ include}}`,
			`Directive "@include" argument "if" of type "Boolean!" is required, but it was not provided.@1:19`},
		{`{restaurants{name @include(iff:true, if:true)}}`,
			`Unknown argument "iff" on directive "@include". Did you mean "if"?@1:28`},
		{`query($a:[Restaurant!]!){restaurants(sort:$a){name}}`,
			"Variable \"$a\" cannot be non-input type \"[Restaurant!]!\".@1:10\n" +
				`Variable "$a" of type "[Restaurant!]!" used in position expecting type "[String]".@1:7,1:43`},
		{`{restaurants{...F ...G}} fragment F on Restaurant{x:name} fragment G on Restaurant{x:seats}`,
			`Fields "x" conflict because "name" and "seats" are different fields. Use different aliases on the fields to fetch both if this was intentional.@1:51,1:84`},
		{`{restaurants{owner{x:firstName}} restaurants{owner{x:lastName}}}`,
			`Fields "restaurants" conflict because subfields "owner" conflict because subfields "x" conflict because "firstName" and "lastName" are different fields. ` +
				`Use different aliases on the fields to fetch both if this was intentional.@1:2,1:14,1:20,1:34,1:46,1:52`},
		{`{restaurants{dz{... on ComponentBlocksSlider{x:caption} ... on ComponentBlocksRichText{x:id}}}}`,
			`Fields "x" conflict because they return conflicting types "String" and "ID!". Use different aliases on the fields to fetch both if this was intentional.@1:46,1:88`},
		{`{restaurants{dz{... on ComponentBlocksSlider{x:caption} ... on ComponentBlocksRichText{x:body}}}}`, ``},
		{`{restaurants(filters:{name:{eq:"a",eq:"b"}}){name}}`,
			`There can be only one input field named "eq".@1:29,1:36`},
		{`{restaurants(pagination:[1]){name}}`, `Expected value of type "PaginationArg", found [1].@1:25`},
		{`query A($x:Int){a:__typename} query B{b:__typename}`, `Variable "$x" is never used in operation "A".@1:9`},
		{`query A{restaurant(documentId:$x){name}}`, `Variable "$x" is not defined by operation "A".@1:31,1:1`},
		{`query A{...F} fragment F on Query{restaurant(documentId:$x){name}}`,
			`Variable "$x" is not defined by operation "A".@1:57,1:1`},
		{`{...X}`, `Unknown fragment "X".@1:5`},
		{`{__type(name:"X"){fields{type{fields{type{fields{name}}}}}}}`,
			`Maximum introspection depth exceeded (graphql.config.limits.introspectionDepth is 2)@1:2`},
		{`type A{b:Int} extend schema{query:A} {__typename}`,
			"The \"A\" definition is not executable.@1:1\nThe schema definition is not executable.@1:15"},
	} {
		_, errs := s.Parse(tt.text, language.DefaultDocumentLimits)
		if got := shortened(errs); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}
