package language

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/text/language"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/schema"
)

// Values of scalars and enumerations are returned as jsontree values. Int and Float are Numbers; Long is a Number with
// all its digits; ID, dates and enumerations (by their GraphQL names) are strings. A time always has three decimals,
// and a date-time is in UTC with three decimals.

// A scalarError says why a value does not fit a scalar or enumeration.
type scalarError struct {
	message  string // if empty, the error only names the expected type
	complete bool   // message also names the expected type
}

func complete(message string) *scalarError { return &scalarError{message, true} }
func reason(message string) *scalarError   { return &scalarError{message, false} }

// ofLiteral returns the message about the literal v, where a value of type t is expected.
func (e *scalarError) ofLiteral(t *ast.Type, v *ast.Value) string {
	switch {
	case e.complete:
		return e.message
	case e.message == "":
		return `Expected value of type "` + t.String() + `", found ` + printValue(v) + "."
	}
	return `Expected value of type "` + t.String() + `", found ` + printValue(v) + "; " + e.message
}

// ofVariable returns the message about the value of a variable, where a value of type t is expected.
func (e *scalarError) ofVariable(t *Type) string {
	switch {
	case e.complete:
		return e.message
	case e.message == "":
		return `Expected type "` + t.Name + `".`
	}
	return `Expected type "` + t.Name + `". ` + e.message
}

// literal converts a literal to a value of a scalar or enumeration. Only JSON literals may hold variables; they are
// left out if vars is nil.
func (s *Schema) literal(t *Type, v *ast.Value, vars Variables) (any, *scalarError) {
	if t.Kind == ast.Enum {
		return t.enumLiteral(v)
	}
	text := v.Kind == ast.StringValue || v.Kind == ast.BlockValue
	switch kind := s.scalarKind(t.Name); kind {
	case schema.StringScalar:
		if !text {
			return nil, complete("String cannot represent a non string value: " + printValue(v))
		}
		return v.Raw, nil
	case schema.IDScalar:
		if !text && v.Kind != ast.IntValue {
			return nil, complete("ID cannot represent a non-string and non-integer value: " + printValue(v))
		}
		return v.Raw, nil
	case schema.IntScalar, schema.FloatScalar, schema.LongScalar:
		return numberLiteral(kind, v)
	case schema.BooleanScalar:
		if v.Kind != ast.BooleanValue {
			return nil, complete("Boolean cannot represent a non boolean value: " + printValue(v))
		}
		return v.Raw == "true", nil
	case schema.DateScalar, schema.TimeScalar, schema.DateTimeScalar, schema.LocaleScalar:
		if !text {
			return nil, noText(kind, raw(v))
		}
		return readText(kind, v.Raw)
	case schema.ZoneScalar:
		return s.zoneItem(t.Name, untyped(v, vars))
	}
	return untyped(v, vars), nil
}

// numberLiteral converts a literal to an Int, Float or Long.
func numberLiteral(kind schema.ScalarKind, v *ast.Value) (any, *scalarError) {
	switch kind {
	case schema.IntScalar:
		if v.Kind != ast.IntValue {
			return nil, complete("Int cannot represent non-integer value: " + printValue(v))
		}
		if _, err := strconv.ParseInt(v.Raw, 10, 32); err != nil {
			return nil, complete("Int cannot represent non 32-bit signed integer value: " + v.Raw)
		}
		return jsontree.Number(v.Raw), nil
	case schema.FloatScalar:
		if v.Kind != ast.IntValue && v.Kind != ast.FloatValue || math.IsInf(jsontree.Number(v.Raw).Float(), 0) {
			return nil, complete("Float cannot represent non numeric value: " + printValue(v))
		}
		return jsontree.Number(v.Raw), nil
	}
	if v.Kind == ast.ObjectValue || v.Kind == ast.ListValue {
		return nil, reason("Cannot convert undefined to a BigInt")
	}
	return readLong(v.Raw)
}

// raw returns a literal as it was written, for messages that quote it.
func raw(v *ast.Value) string {
	if v.Kind == ast.ObjectValue || v.Kind == ast.ListValue {
		return "undefined"
	}
	return v.Raw
}

func (s *Schema) scalarKind(name string) schema.ScalarKind {
	if sc := s.spec.Scalar(name); sc != nil {
		return sc.Kind
	}
	switch name { // standard scalars that the schema does not use
	case "String":
		return schema.StringScalar
	case "Int":
		return schema.IntScalar
	case "Float":
		return schema.FloatScalar
	case "Boolean":
		return schema.BooleanScalar
	case "ID":
		return schema.IDScalar
	}
	return schema.CustomScalar
}

func (t *Type) enumLiteral(v *ast.Value) (any, *scalarError) {
	if v.Kind != ast.EnumValue {
		text := printValue(v)
		return nil, complete(`Enum "` + t.Name + `" cannot represent non-enum value: ` + text + "." +
			t.suggestion(text))
	}
	return t.enumName(v.Raw)
}

func (t *Type) enumName(name string) (any, *scalarError) {
	if t.values[name] == nil {
		return nil, complete(`Value "` + name + `" does not exist in "` + t.Name + `" enum.` + t.suggestion(name))
	}
	return name, nil
}

// suggestion returns the end of a message that suggests values of an enumeration similar to text.
func (t *Type) suggestion(text string) string {
	names := make([]string, len(t.EnumValues))
	for i, v := range t.EnumValues {
		names[i] = v.Name
	}
	return didYouMean("the enum value", suggestions(text, names))
}

// coerce converts the value of a variable to a scalar or enumeration. If strict is set, it refuses unknown locales.
func (s *Schema) coerce(t *Type, v any, strict bool) (any, *scalarError) {
	if t.Kind == ast.Enum {
		name, ok := v.(string)
		if !ok {
			text := inspect(v)
			return nil, complete(`Enum "` + t.Name + `" cannot represent non-string value: ` + text + "." +
				t.suggestion(text))
		}
		return t.enumName(name)
	}
	text, isText := v.(string)
	switch kind := s.scalarKind(t.Name); kind {
	case schema.StringScalar:
		if !isText {
			return nil, complete("String cannot represent a non string value: " + inspect(v))
		}
	case schema.IDScalar:
		if number, ok := v.(jsontree.Number); ok && isWhole(number.Float()) {
			return string(jsontree.Append(nil, number)), nil
		}
		if !isText {
			return nil, complete("ID cannot represent value: " + inspect(v))
		}
	case schema.IntScalar, schema.FloatScalar, schema.LongScalar:
		return coerceNumber(kind, v)
	case schema.BooleanScalar:
		if _, ok := v.(bool); !ok {
			return nil, complete("Boolean cannot represent a non boolean value: " + inspect(v))
		}
	case schema.DateScalar, schema.TimeScalar, schema.DateTimeScalar, schema.LocaleScalar:
		switch {
		case !isText && kind == schema.TimeScalar:
			return nil, reason("Expected a string, got a " + typeOf(v))
		case !isText:
			return nil, noText(kind, inspect(v))
		case kind == schema.LocaleScalar && !strict:
			return v, nil
		}
		return readText(kind, text)
	case schema.ZoneScalar:
		return s.zoneItem(t.Name, v)
	}
	return v, nil
}

// coerceNumber converts the value of a variable to an Int, Float or Long.
func coerceNumber(kind schema.ScalarKind, v any) (any, *scalarError) {
	number, isNumber := v.(jsontree.Number)
	switch kind {
	case schema.IntScalar:
		f := number.Float()
		if !isNumber || !isWhole(f) {
			return nil, complete("Int cannot represent non-integer value: " + inspect(v))
		}
		if f > math.MaxInt32 || f < math.MinInt32 {
			return nil, complete("Int cannot represent non 32-bit signed integer value: " + inspect(v))
		}
		return jsontree.Number(strconv.FormatInt(int64(f), 10)), nil
	case schema.FloatScalar:
		if !isNumber || math.IsInf(number.Float(), 0) {
			return nil, complete("Float cannot represent non numeric value: " + inspect(v))
		}
		return v, nil
	}
	if text, isText := v.(string); isText {
		return readLong(text)
	}
	if isNumber {
		return readLong(string(jsontree.Append(nil, number)))
	}
	return nil, reason("Cannot convert " + inspect(v) + " to a BigInt")
}

// noText returns the error of a value that is not a string although a date, time or locale is expected. found is the
// value as printed in the message.
func noText(kind schema.ScalarKind, found string) *scalarError {
	switch kind {
	case schema.DateScalar:
		return complete("Date cannot represent non string type " + found)
	case schema.DateTimeScalar:
		return complete("DateTime cannot represent non string or Date type " + found)
	case schema.TimeScalar:
		return reason("Time cannot represent non string type")
	}
	return reason("Locale cannot represent non string type")
}

// readText parses a date, time or locale.
func readText(kind schema.ScalarKind, s string) (any, *scalarError) {
	switch kind {
	case schema.DateScalar:
		return readDate(s)
	case schema.TimeScalar:
		return readTime(s)
	case schema.DateTimeScalar:
		return readDateTime(s)
	}
	return readLocale(s)
}

func isWhole(f float64) bool { return f == math.Trunc(f) && !math.IsInf(f, 0) }

// typeOf returns the name that JavaScript's typeof gives to the type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case jsontree.Number:
		return "number"
	}
	return "object"
}

// maxLongDigits is how many digits a Long may have. No attribute can store more than 19.
const maxLongDigits = 400

func readLong(s string) (any, *scalarError) {
	t := strings.TrimFunc(s, jsontree.IsBlank)
	digits := strings.TrimPrefix(strings.TrimPrefix(t, "-"), "+")
	if digits == "" || len(t)-len(digits) > 1 || len(digits) > maxLongDigits ||
		strings.Trim(digits, "0123456789") != "" {
		return nil, reason("Cannot convert " + s + " to a BigInt")
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return jsontree.Number("0"), nil
	}
	if t[0] == '-' {
		digits = "-" + digits
	}
	return jsontree.Number(digits), nil
}

func readDate(s string) (any, *scalarError) {
	if _, err := time.Parse("2006-01-02", s); err != nil || len(s) != len("2006-01-02") {
		return nil, complete("Date cannot represent an invalid date-string " + s + ".")
	}
	return s, nil
}

func readTime(s string) (any, *scalarError) {
	const form = "15:04:05"
	clock, decimals, pointed := strings.Cut(s, ".")
	_, err := time.Parse(form, clock)
	if err != nil || len(clock) != len(form) || pointed && decimals == "" || len(decimals) > 3 ||
		strings.Trim(decimals, "0123456789") != "" {
		return nil, reason("Invalid time format, expected HH:mm:ss.SSS")
	}
	return clock + "." + decimals + "000"[len(decimals):], nil
}

func readDateTime(s string) (any, *scalarError) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || len(s) < len("2006-01-02T15:04:05Z") || strings.Contains(s, ",") {
		return nil, complete("DateTime cannot represent an invalid date-time-string " + s + ".")
	}
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, complete("DateTime cannot represent an invalid date-time-string " + s + ".")
	}
	return t.Format(contenttypes.TimeFormat), nil
}

func readLocale(s string) (any, *scalarError) {
	if s != "*" && !isLocale(s) {
		return nil, reason("Unknown locale supplied")
	}
	return s, nil
}

// isLocale reports whether the language of a code is known, and also its script and region if it has them.
func isLocale(code string) bool {
	tag, err := language.Raw.Parse(code)
	return err == nil && tag.String() == code && len(tag.Variants()) == 0 && len(tag.Extensions()) == 0
}

// zoneItem converts an item of a dynamic zone. The member __typename names its component.
func (s *Schema) zoneItem(scalar string, v any) (any, *scalarError) {
	zone := s.spec.Scalar(scalar).Zone
	if o, ok := v.(*jsontree.Object); ok {
		if name, ok := o.Value("__typename").(string); ok {
			if member := zone.ByName(name); member != nil && member.Component != nil {
				return o, nil
			}
		}
	}
	var names []string
	for _, m := range zone.Members {
		if m.Component != nil {
			names = append(names, m.Name)
		}
	}
	return nil, reason("Component not found. expected one of: " + strings.Join(names, ", "))
}

// untyped converts a literal to JSON. A variable without a value is left out of an object, and becomes null elsewhere.
func untyped(v *ast.Value, vars Variables) any {
	switch v.Kind {
	case ast.Variable:
		return vars[v.Raw]
	case ast.IntValue, ast.FloatValue:
		return jsontree.Number(v.Raw)
	case ast.BooleanValue:
		return v.Raw == "true"
	case ast.NullValue:
		return nil
	case ast.ListValue:
		list := make([]any, len(v.Children))
		for i, c := range v.Children {
			list[i] = untyped(c.Value, vars)
		}
		return list
	case ast.ObjectValue:
		o := jsontree.NewObject()
		for _, c := range v.Children {
			if c.Value.Kind == ast.Variable {
				if _, ok := vars[c.Value.Raw]; !ok {
					continue
				}
			}
			o.Set(c.Name, untyped(c.Value, vars))
		}
		return o
	}
	return v.Raw
}
