package params

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// never is an operand that equals no stored value. never(1) is greater than all values, and never(-1) less than all, as
// integers beyond 64 bits are. never(0) is neither, so that $lt and $gt hold for no value, as for a text that is
// compared with an id.
type never int

// operator reads one comparison of an attribute.
func (f *filterReader) operator(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	if o := objectIn(v); o != nil && len(o.Keys) > 0 {
		f.unknownKey(o.Keys[0])
		return nil
	}
	if f.variables != nil {
		return f.bound(a, op, v)
	}
	return f.Compare(a, op, v)
}

// Compare returns the comparison of an attribute with an operand: a text, nil, or a list of these. It converts them to
// the type of the attribute. If the operand does not fit, it adds an issue and returns nil.
func (b *FilterBuilder) Compare(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	switch operators[op].arity {
	case equality:
		return b.equality(a, op, v)
	case folding:
		return b.folding(a, op, v)
	case list:
		return b.anyOf(a, op, v)
	case order:
		return b.each(a, v, false, func(x any) store.Filter { return b.ordered(a, op, x) })
	case between:
		return b.between(a, v)
	case like:
		return b.each(a, v, op == store.NotContains || op == store.NotContainsI, func(text any) store.Filter {
			return compare(a, op, text)
		})
	}
	return b.null(a, op, v)
}

// objectIn reports whether an operand is or contains an object.
func objectIn(v any) *jsontree.Object {
	switch v := v.(type) {
	case *jsontree.Object:
		return v
	case []any:
		for _, item := range v {
			if o, ok := item.(*jsontree.Object); ok {
				return o
			}
		}
	}
	return nil
}

func compare(a *contenttypes.Attribute, op store.Op, values ...any) store.Filter {
	return store.Compare{Attr: a, Op: op, Values: values}
}

// nothing returns a comparison that is false for every value. It is unknown for null, as all comparisons are, so that
// $not of it matches all values except null.
func nothing(a *contenttypes.Attribute) store.Filter { return compare(a, store.In) }

// equality reads $eq and $ne.
func (b *FilterBuilder) equality(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	equal := op == store.Eq
	if _, many := v.([]any); many {
		if equal {
			return b.anyOf(a, store.In, v)
		}
		return b.anyOf(a, store.NotIn, v)
	}
	x, ok := b.operand(a, v)
	if !ok {
		return nil
	}
	switch x.(type) {
	case nil:
		return isNull(a, equal)
	case never:
		if equal {
			return nothing(a)
		}
		return isNull(a, false)
	}
	return compare(a, op, x)
}

func isNull(a *contenttypes.Attribute, want bool) store.Filter {
	if want {
		return store.Compare{Attr: a, Op: store.Null}
	}
	return store.Compare{Attr: a, Op: store.NotNull}
}

// folding reads $eqi and $nei. They are the same as $eq and $ne for attributes that are not texts.
func (b *FilterBuilder) folding(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	plain := store.Eq
	if op == store.NeI {
		plain = store.Ne
	}
	switch a.Type.Kind() {
	case contenttypes.NumberValue, contenttypes.BigIntegerValue, contenttypes.BooleanValue:
		return b.equality(a, plain, v)
	}
	return b.each(a, v, op == store.NeI, func(text any) store.Filter {
		if text == nil {
			return isNull(a, op == store.EqI)
		}
		return compare(a, op, text)
	})
}

// anyOf reads the operand of $in and $notIn, and a list that stands in place of one value.
func (b *FilterBuilder) anyOf(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	items, many := v.([]any)
	if !many {
		items = []any{v}
	}
	values := make([]any, 0, len(items))
	for _, item := range items {
		x, ok := b.operand(a, item)
		if !ok {
			return nil
		}
		if _, skip := x.(never); !skip {
			values = append(values, x)
		}
	}
	return store.Compare{Attr: a, Op: op, Values: values}
}

// ordered reads one value of $lt, $lte, $gt or $gte.
func (b *FilterBuilder) ordered(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	x, ok := b.operand(a, v)
	if !ok {
		return nil
	}
	if x, ok := x.(never); ok {
		less := op == store.Lt || op == store.Lte
		if x == 0 || less != (x > 0) {
			return nothing(a)
		}
		return isNull(a, false)
	}
	return compare(a, op, x)
}

// between reads $between. If one bound is the operand never, the result is $gte and $lte, since these handle never.
func (b *FilterBuilder) between(a *contenttypes.Attribute, v any) store.Filter {
	items, _ := v.([]any)
	if len(items) != 2 {
		b.invalid(b.param.value, "Invalid $between parameter. Expected an array of two values")
		return nil
	}
	low, ok := b.operand(a, items[0])
	if !ok {
		return nil
	}
	high, ok := b.operand(a, items[1])
	if !ok {
		return nil
	}
	_, farLow := low.(never)
	_, farHigh := high.(never)
	if !farLow && !farHigh {
		return compare(a, store.Between, low, high)
	}
	return And(b.ordered(a, store.Gte, items[0]), b.ordered(a, store.Lte, items[1]))
}

// each returns a condition for a value, or one for a list: it holds if the conditions of all elements hold or, unless
// all is set, that of one element.
func (b *FilterBuilder) each(a *contenttypes.Attribute, v any, all bool, make func(any) store.Filter) store.Filter {
	items, many := v.([]any)
	if !many {
		return make(v)
	}
	var list []store.Filter
	for _, item := range items {
		if _, many := item.([]any); many {
			b.badOperand(a, "a single value")
			return nil
		}
		if item == any(unset{}) {
			list = append(list, unknown(a))
			continue
		}
		list = append(list, make(item))
	}
	if len(list) == 1 { // a single comparison can use an index
		return list[0]
	}
	if all {
		return store.And(list)
	}
	return store.Or(list)
}

// null reads $null and $notNull. The operand false negates them.
func (b *FilterBuilder) null(a *contenttypes.Attribute, op store.Op, v any) store.Filter {
	want := op == store.Null
	switch v := v.(type) {
	case nil:
		want = !want
	case string:
		want = want == boolean(v)
	default:
		name := "$null"
		if op == store.NotNull {
			name = "$notNull"
		}
		b.invalid(b.param.value, "Invalid "+name+" parameter. Expected a boolean")
		return nil
	}
	return isNull(a, want)
}

// operand converts a value to an operand of store.Compare, nil or never. It is not ok if the attribute cannot have such
// a value.
func (b *FilterBuilder) operand(a *contenttypes.Attribute, v any) (any, bool) {
	if v == nil || v == any(unset{}) { // in lists, where null is unknown
		return nil, true
	}
	s, ok := v.(string)
	if !ok {
		b.badOperand(a, "a single value")
		return nil, false
	}
	switch a.Type.Kind() {
	case contenttypes.NumberValue:
		n, ok := readNumber(s)
		if !ok && a.Type == contenttypes.ID {
			return never(0), true
		}
		if !ok {
			b.badOperand(a, "a number")
		}
		return n, ok
	case contenttypes.BigIntegerValue:
		n, ok := readInteger(s)
		if !ok {
			b.badOperand(a, "an integer")
		}
		return n, ok
	case contenttypes.BooleanValue:
		return boolean(s), true
	case contenttypes.DateValue, contenttypes.TimeValue, contenttypes.DateTimeValue:
		text, err := values.ParseFilterTime(a, s)
		if err != nil {
			b.issues.add(b.param.value, err)
		}
		return text, err == nil
	}
	return s, true
}

func (b *FilterBuilder) badOperand(a *contenttypes.Attribute, expected string) {
	path := b.parent()
	if len(b.path) == 0 || b.path[len(b.path)-1] != a.Name {
		path = join(path, a.Name)
	}
	b.invalid(b.param.value, "Invalid value at "+path+". Expected "+expected)
}

// readNumber reads a finite number as JavaScript does, except that blanks are not a number.
func readNumber(s string) (float64, bool) {
	if strings.TrimSpace(s) == "" {
		return 0, false
	}
	n, ok := jsontree.ParseNumber(s)
	return n, ok && isFinite(n)
}

// readInteger reads an integer: digits, or another form of number (1e3, 5.0) that is exactly an integer. For an integer
// beyond int64 it returns the operand never.
func readInteger(s string) (any, bool) {
	s = strings.TrimSpace(s)
	i, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return i, true
	}
	if errors.Is(err, strconv.ErrRange) {
		if i < 0 {
			return never(-1), true
		}
		return never(1), true
	}
	n, ok := readNumber(s)
	if !ok || n != math.Trunc(n) || math.Abs(n) > jsontree.MaxSafeInteger {
		return nil, false
	}
	return int64(n), true
}

// boolean reads a boolean. Every word except those for false counts as true.
func boolean(s string) bool {
	switch strings.ToLower(s) {
	case "", "0", "f", "false", "n", "no", "off":
		return false
	}
	return true
}
