package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lectern/shadowcrud/graphql/execution"
)

// hostile are operations that ask for far more work than they are long.
func hostile() map[string]struct{ query, variables string } {
	type op = struct{ query, variables string }
	nested := func(n int) string { return strings.Repeat("{a", n) + strings.Repeat("}", n) }
	var overlapping strings.Builder
	overlapping.WriteString("{restaurants{")
	for i := range 200 {
		overlapping.WriteString("... on Restaurant{")
		for range 100 {
			fmt.Fprintf(&overlapping, "x%d:name ", i%7)
		}
		overlapping.WriteString("}")
	}
	overlapping.WriteString("}}")
	var merging strings.Builder
	merging.WriteString("{restaurants{")
	for range 40 {
		merging.WriteString("related{related{related{" + strings.Repeat("name ", 10) + "}}} ")
	}
	merging.WriteString("}}")
	doubling := "{restaurants{...F0}}"
	for i := range 30 {
		doubling += fmt.Sprintf(" fragment F%d on Restaurant{a:related{...F%d} b:related{...F%d}}", i, i+1, i+1)
	}
	doubling += " fragment F30 on Restaurant{name}"
	spreading := "{restaurants{...F0}}"
	for i := range 60 {
		spreading += fmt.Sprintf(" fragment F%d on Restaurant{...F%d ...F%d}", i, i+1, i+1)
	}
	spreading += " fragment F60 on Restaurant{name}"
	cyclic := strings.Repeat("related(pagination:{limit:100}){categories(pagination:{limit:100}){restaurants(pagination:{limit:100}){", 2) +
		"name" + strings.Repeat("}}}", 2)
	var aliases strings.Builder
	aliases.WriteString("{")
	for i := range 10000 {
		fmt.Fprintf(&aliases, "a%d:__typename ", i)
	}
	aliases.WriteString("}")
	var conflicts strings.Builder
	conflicts.WriteString("{restaurants{")
	for i := range 2000 {
		fmt.Fprintf(&conflicts, "x:%s ", []string{"name", "slug", "seats"}[i%3])
	}
	conflicts.WriteString("}}")
	return map[string]op{
		"fragment cycle":               {query: "{...A} fragment A on Query{...B} fragment B on Query{...A}"},
		"a fragment within itself":     {query: "fragment A on Query{...A} query{...A}"},
		"10000 aliases":                {query: aliases.String()},
		"a megabyte of brackets":       {query: strings.Repeat("[", 1<<20)},
		"brackets in an argument":      {query: "{restaurants(filters:" + strings.Repeat("[", 1<<20)},
		"braces in an argument":        {query: "{restaurants(filters:" + strings.Repeat("{a:", 1<<18)},
		"depth of 5000":                {query: nested(5000)},
		"depth of 200":                 {query: nested(200)},
		"200x100 overlapping":          {query: overlapping.String()},
		"merging levels":               {query: merging.String()},
		"2000 conflicts":               {query: conflicts.String()},
		"fragments that double":        {query: doubling},
		"fragments that spread twice":  {query: spreading},
		"cyclic relations":             {query: "{restaurants(pagination:{limit:100}){" + cyclic + "}}"},
		"cyclic relations by default":  {query: "{restaurants{related{related{related{related{related{related{related{name}}}}}}}}}"},
		"introspection in circles":     {query: "{__schema{types{fields{type{fields{type{fields{type{name}}}}}}}}}"},
		"introspection many times":     {query: "{" + strings.Repeat("__schema{types{fields{args{type{name}}}}} ", 90) + "}"},
		"introspection under aliases":  {query: "{" + introspections(90) + "}"},
		"directives":                   {query: "{__typename" + strings.Repeat(" @skip(if:false)", 5000) + "}"},
		"unknown directives":           {query: "{__typename" + strings.Repeat(" @x", 400) + "}"},
		"unknown fields":               {query: "{" + strings.Repeat("restaurantz ", 5000) + "}"},
		"a long name":                  {query: "{" + strings.Repeat("r", 1<<20) + "}"},
		"a long string":                {query: `{restaurant(documentId:"` + strings.Repeat("r", 1<<20) + `"){name}}`},
		"comments":                     {query: strings.Repeat("#\n", 1<<19) + "{__typename}"},
		"variables that are long":      {`query($s:[String]){restaurants(sort:$s){name}}`, `{"s":["` + strings.Repeat(`name","`, 100000) + `name"]}`},
		"variables that are wrong":     {`query($s:[Int]!){restaurants(pagination:{limit:1}){name} a:restaurants(filters:{seats:{in:$s}}){name}}`, `{"s":["` + strings.Repeat(`name","`, 100000) + `name"]}`},
		"a filter as a variable":       {`query($f:RestaurantFiltersInput){restaurants(filters:$f){name}}`, `{"f":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat("}", 200) + `}`},
		"filters side by side":         {`query($f:RestaurantFiltersInput){restaurants(filters:$f){name}}`, `{"f":{"or":[` + strings.Repeat(`{"name":{"eq":"x"}},`, 20000) + `{}]}}`},
		"filters through circles":      {query: "{restaurants(filters:" + strings.Repeat("{related:{categories:{restaurants:", 5) + `{name:{eq:"x"}}` + strings.Repeat("}}}", 5) + "){name}}"},
		"variable definitions":         {query: "query(" + variables(3000) + "){__typename}"},
		"a filter of 10000 conditions": {query: "{restaurants(filters:{or:[" + strings.Repeat(`{name:{eq:"x"}}`, 1000) + "]}){name}}"},
	}
}

func introspections(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d:__schema{types{name fields{name args{name type{name}}}}} ", i)
	}
	return b.String()
}

func variables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "$v%d:Int ", i)
	}
	return b.String()
}

// patience is how long any of them may take, on a machine that does other things as well.
const patience = time.Second

func TestHostile(t *testing.T) {
	s := newServer(t, execution.Limits{})
	s.fill(8)
	for name, op := range hostile() {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			given := []string{}
			if op.variables != "" {
				given = append(given, op.variables)
			}
			answer := s.ask(op.query, given...)
			took := time.Since(began)
			if took > patience {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v, %d bytes: %.150s", took.Round(10*time.Microsecond), len(answer), answer)
		})
	}
}
