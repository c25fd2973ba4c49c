package answers

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"lectern/internal/simulation/program"
)

// A ternary is a value of SQL's three-valued logic.
type ternary int

const (
	no ternary = iota
	yes
	unknown
)

// is converts a boolean.
func is(b bool) ternary {
	if b {
		return yes
	}
	return no
}

// not negates t; unknown stays unknown.
func (t ternary) not() ternary {
	switch t {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// either returns the logical or of two values.
func either(a, b ternary) ternary {
	switch {
	case a == yes || b == yes:
		return yes
	case a == unknown || b == unknown:
		return unknown
	}
	return no
}

// test evaluates a test on a value, which is nil for null.
func (w *World) test(f *Filter, v any) ternary {
	var operands []Operand
	for _, o := range f.Operands {
		operands = append(operands, w.resolve(o))
	}
	var first Operand
	if len(operands) > 0 {
		first = operands[0]
	}
	if first.Named && first.Value == nil { // a variable without a value
		return unknown
	}
	switch f.Operator {
	case "$null", "$notNull":
		return is((v == nil) == (first.Value.(bool) == (f.Operator == "$null")))
	case "", "$eq", "$in":
		if first.Null && f.Operator != "$in" {
			return is(v == nil)
		}
		return oneOf(v, operands)
	case "$or":
		return oneOf(v, operands)
	case "$and":
		return allOf(v, operands)
	case "$notIn":
		return oneOf(v, operands).not()
	case "$ne":
		if first.Null {
			return is(v != nil)
		}
		return oneOf(v, operands).not()
	}
	if f.Operator == "$between" {
		return either(compared("$gte", v, first).not(), compared("$lte", v, operands[1]).not()).not()
	}
	result := no // a list matches if one of its values does
	for _, o := range operands {
		result = either(result, compared(f.Operator, v, o))
	}
	return result
}

// compared evaluates an operator on a value and one operand.
func compared(op string, v any, o Operand) ternary {
	if v == nil || o.Null {
		return unknown
	}
	switch op {
	case "$eqi":
		return is(fold(textOf(v)) == fold(textOf(o.Value)))
	case "$nei":
		return is(fold(textOf(v)) != fold(textOf(o.Value)))
	case "$lt":
		return is(compare(v, o.Value) < 0)
	case "$lte":
		return is(compare(v, o.Value) <= 0)
	case "$gt":
		return is(compare(v, o.Value) > 0)
	case "$gte":
		return is(compare(v, o.Value) >= 0)
	}
	return like(op, textOf(v), o.Text)
}

// oneOf tests whether a value equals one of the operands.
func oneOf(v any, operands []Operand) ternary {
	if v == nil {
		return unknown
	}
	result := no
	for _, o := range operands {
		if o.Null {
			result = unknown
		} else if compare(v, o.Value) == 0 {
			return yes
		}
	}
	return result
}

// allOf tests whether a value equals all operands.
func allOf(v any, operands []Operand) ternary {
	for _, o := range operands {
		if t := oneOf(v, []Operand{o}); t != yes {
			return t
		}
	}
	return yes
}

// like evaluates an operator that looks for a part of a text.
func like(op, v, text string) ternary {
	if base, ok := strings.CutSuffix(op, "i"); ok {
		op, v, text = base, fold(v), fold(text)
	}
	switch op {
	case "$contains":
		return is(strings.Contains(v, text))
	case "$notContains":
		return is(!strings.Contains(v, text))
	case "$startsWith":
		return is(strings.HasPrefix(v, text))
	case "$endsWith":
		return is(strings.HasSuffix(v, text))
	}
	panic("no operator " + op)
}

// fullFolds are the letters of the generator whose full case folding has several letters.
var fullFolds = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ﬁ", "fi", "İ", "i\u0307")

// fold maps letters that differ in case alone to the same letter, the first in Unicode's order.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, fullFolds.Replace(s))
}

// textOf returns the text form that searches and $contains use.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case JSONText:
		if text, ok := program.Decode([]byte(v)).(string); ok {
			return text
		}
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// compare orders two values of the same type; it compares texts bytewise.
func compare(a, b any) int {
	switch a := a.(type) {
	case float64:
		return cmp.Compare(a, b.(float64))
	case int64:
		return cmp.Compare(a, b.(int64))
	case bool:
		switch {
		case a == b.(bool):
			return 0
		case a:
			return 1
		}
		return -1
	}
	return cmp.Compare(textOf(a), textOf(b))
}
