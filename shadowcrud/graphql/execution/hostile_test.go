package execution_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"lectern/shadowcrud/graphql/limits"
)

// A hostileOperation is an operation that would be expensive without limits.
type hostileOperation struct{ query, variables string }

// hostile returns operations that are short but ask for a lot of work.
func hostile() map[string]hostileOperation {
	type op = hostileOperation
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
	cyclic := strings.Repeat(
		"related(pagination:{limit:100}){categories(pagination:{limit:100}){restaurants(pagination:{limit:100}){", 2) +
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
		"fragment cycle":              {query: "{...A} fragment A on Query{...B} fragment B on Query{...A}"},
		"a fragment within itself":    {query: "fragment A on Query{...A} query{...A}"},
		"10000 aliases":               {query: aliases.String()},
		"a megabyte of brackets":      {query: strings.Repeat("[", 1<<20)},
		"brackets in an argument":     {query: "{restaurants(filters:" + strings.Repeat("[", 1<<20)},
		"braces in an argument":       {query: "{restaurants(filters:" + strings.Repeat("{a:", 1<<18)},
		"depth of 5000":               {query: nested(5000)},
		"depth of 200":                {query: nested(200)},
		"200x100 overlapping":         {query: overlapping.String()},
		"merging levels":              {query: merging.String()},
		"2000 conflicts":              {query: conflicts.String()},
		"fragments that double":       {query: doubling},
		"fragments that spread twice": {query: spreading},
		"cyclic relations":            {query: "{restaurants(pagination:{limit:100}){" + cyclic + "}}"},
		"cyclic relations by default": {query: "{restaurants{related{related{related{related{related{related{related{name}}}}}}}}}"},
		"introspection in circles":    {query: "{__schema{types{fields{type{fields{type{fields{type{name}}}}}}}}}"},
		"introspection many times": {query: "{" + strings.Repeat("__schema{types{fields{args{type{name}}}}} ", 90) +
			"}"},
		"introspection under aliases": {query: "{" + introspections(90) + "}"},
		"directives":                  {query: "{__typename" + strings.Repeat(" @skip(if:false)", 5000) + "}"},
		"unknown directives":          {query: "{__typename" + strings.Repeat(" @x", 400) + "}"},
		"unknown fields":              {query: "{" + strings.Repeat("restaurantz ", 5000) + "}"},
		"a long name":                 {query: "{" + strings.Repeat("r", 1<<20) + "}"},
		"a long string":               {query: `{restaurant(documentId:"` + strings.Repeat("r", 1<<20) + `"){name}}`},
		"comments":                    {query: strings.Repeat("#\n", 1<<19) + "{__typename}"},
		"variables that are long": {`query($s:[String]){restaurants(sort:$s){name}}`,
			`{"s":["` + strings.Repeat(`name","`, 100000) + `name"]}`},
		"variables that are wrong": {`query($s:[Int]!){restaurants(pagination:{limit:1}){name} a:restaurants(filters:{seats:{in:$s}}){name}}`, `{"s":["` + strings.Repeat(`name","`, 100000) + `name"]}`},
		"a filter as a variable": {`query($f:RestaurantFiltersInput){restaurants(filters:$f){name}}`,
			`{"f":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat("}", 200) + `}`},
		"filters side by side": {`query($f:RestaurantFiltersInput){restaurants(filters:$f){name}}`,
			`{"f":{"or":[` + strings.Repeat(`{"name":{"eq":"x"}},`, 20000) + `{}]}}`},
		"filters through circles": {query: "{restaurants(filters:" +
			strings.Repeat("{related:{categories:{restaurants:", 5) + `{name:{eq:"x"}}` + strings.Repeat("}}}", 5) +
			"){name}}"},
		"variable definitions": {query: "query(" + variables(3000) + "){__typename}"},
		"many filters of 40 hops": {"query($f:RestaurantFiltersInput){" +
			manyTimes(90, "restaurants(filters:$f){name}") + "}", `{"f":` + strings.Repeat(
			`{"categories":{"restaurants":`, 20) + `{"name":{"containsi":"zz"}}` + strings.Repeat("}}", 20) + "}"},
		"filters of 8 hops": {query: "{" +
			manyTimes(90, "restaurants(filters:"+strings.Repeat("{categories:{restaurants:", 4)+
				`{name:{containsi:"zz"}}`+strings.Repeat("}}", 4)+"){name}") + "}"},
		"an order through circles": {query: `{restaurants(sort:["` + strings.Repeat("categories.restaurants.", 2) +
			`name"]){name}}`},
		"cyclic lists to the limit": {query: "{" +
			manyTimes(9, "restaurants(pagination:{limit:100}){categories(pagination:{limit:14}){restaurants(pagination:{limit:14}){name}}}") + "}"},
		"a filter of 10000 conditions": {query: "{restaurants(filters:{or:[" + strings.Repeat(`{name:{eq:"x"}}`, 1000) +
			"]}){name}}"},
	}
}

// manyTimes returns a selection of a field under n aliases.
func manyTimes(n int, field string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d:%s ", i, field)
	}
	return b.String()
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

// A work is the measured cost of an operation.
type work struct {
	allocated uint64 // bytes
	read      uint64 // rows, links and index entries of the store
}

func (s *server) work() work {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	read := s.store.Stats()
	return work{memory.TotalAlloc, read.Rows + read.Links + read.Entries}
}

func (w work) since(before work) work {
	return work{w.allocated - before.allocated, w.read - before.read}
}

// These constants bound the cost of a hostile operation: its memory in proportion to request and answer, and its reads.
const (
	mostAllocated = 6 << 20
	perByte       = 100
	mostRead      = 10000
	mostFollowed  = 100 // relations that the filters of an operation follow
	circled       = 40  // documents of each type, each linked to all documents of the other type
)

// circle creates n restaurants and n categories, and links each restaurant to all categories.
func (s *server) circle(n int) {
	var categories strings.Builder
	for i := range n {
		if i > 0 {
			categories.WriteByte(',')
		}
		fmt.Fprintf(&categories, "%q",
			s.create("api::category.category", fmt.Sprintf(`{"name":"Circle %d","position":%d}`, i, i)))
	}
	for i := range n {
		s.create("api::restaurant.restaurant",
			fmt.Sprintf(`{"name":"Circled %d","slug":"c-%d","seats":1,"price":1,"categories":[%s]}`, i, i,
				categories.String()))
	}
}

func TestHostile(t *testing.T) {
	s := newServer(t, limits.Operation{})
	s.fill(8)
	s.circle(circled)
	for name, op := range hostile() {
		t.Run(name, func(t *testing.T) {
			given := []string{}
			if op.variables != "" {
				given = append(given, op.variables)
			}
			before := s.work()
			answer := s.ask(op.query, given...)
			cost := s.work().since(before)
			sent := uint64(len(op.query) + len(op.variables) + len(answer))
			if most := mostAllocated + perByte*sent; cost.allocated > most && !raceDetector {
				t.Errorf("%d bytes were allocated for %d that were sent and answered, want %d at most", cost.allocated,
					sent, most)
			}
			most := uint64(mostRead)
			if follows := strings.Contains(op.query+op.variables, "name:{containsi") ||
				strings.Contains(op.variables, `"containsi"`); follows {
				most = mostFollowed * 2 * circled * circled
			}
			if cost.read > most || cost.read > 0 && !strings.Contains(answer, `"data"`) {
				t.Errorf("%d rows, links and entries were read, want %d at most", cost.read, most)
			}
			t.Logf("%d allocated (%d a byte), %d read, %d bytes: %.150s", cost.allocated, cost.allocated/sent,
				cost.read, len(answer), answer)
		})
	}
}
