package params

import "lectern/store"

// An arity says what operands an operator takes.
type arity uint8

const (
	equality arity = iota // a value, null, or a list, of which one must match
	folding               // takes the operands of equality; texts are compared without case
	list                  // a list or a single value
	order                 // a value, or a list, of which one must match
	between               // two values
	like                  // a text, or a list, of which one must match
	null                  // a boolean: whether the value is null, or is not
)

// operators are the keys of comparisons in query strings, and their operands. ($and, $or and $not are not comparisons.)
var operators = [...]struct {
	key   string
	arity arity
}{
	store.Eq:           {"$eq", equality},
	store.Ne:           {"$ne", equality},
	store.EqI:          {"$eqi", folding},
	store.NeI:          {"$nei", folding},
	store.In:           {"$in", list},
	store.NotIn:        {"$notIn", list},
	store.Lt:           {"$lt", order},
	store.Lte:          {"$lte", order},
	store.Gt:           {"$gt", order},
	store.Gte:          {"$gte", order},
	store.Between:      {"$between", between},
	store.Contains:     {"$contains", like},
	store.ContainsI:    {"$containsi", like},
	store.NotContains:  {"$notContains", like},
	store.NotContainsI: {"$notContainsi", like},
	store.StartsWith:   {"$startsWith", like},
	store.StartsWithI:  {"$startsWithi", like},
	store.EndsWith:     {"$endsWith", like},
	store.EndsWithI:    {"$endsWithi", like},
	store.Null:         {"$null", null},
	store.NotNull:      {"$notNull", null},
}

// operatorsByKey maps the key of a comparison to the comparison.
var operatorsByKey = func() map[string]store.Op {
	byKey := make(map[string]store.Op, len(operators))
	for op, o := range operators {
		byKey[o.key] = store.Op(op)
	}
	return byKey
}()

// An Operand says what value a comparison of filters takes.
type Operand uint8

const (
	OneOrMore  Operand = iota // a value, or a list of which one must match
	Pair                      // two values
	TextOrMore                // a text, or a list of texts
	Flag                      // true or false
)

// Operators calls yield with the key of each comparison, such as "$eq", and with its operand.
func Operators(yield func(key string, takes Operand) bool) {
	for _, o := range operators {
		takes := OneOrMore
		switch o.arity {
		case between:
			takes = Pair
		case like:
			takes = TextOrMore
		case null:
			takes = Flag
		}
		if !yield(o.key, takes) {
			return
		}
	}
}
