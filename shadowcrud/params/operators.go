package params

import (
	"maps"
	"slices"
)

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

// PublicationFilters are the values of the parameter publicationFilter, sorted.
func PublicationFilters() []string { return slices.Sorted(maps.Keys(publicationStates)) }
