package documents

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// A stage says which rules hold for a value.
//
// A type without drafts checks everything at once (fullStage). One with drafts checks what a draft must keep to when it is
// written (draftStage: types, choices, max, maxLength, blocks), and everything, on the values of the whole draft, when it is
// published (publishStage).
type stage uint8

const (
	draftStage stage = iota
	publishStage
	fullStage
)

// castScalar casts and checks the value of a scalar attribute: not that of a component, a zone or links. It returns the value
// as it is to be stored (nil for null) and what is wrong with it.
//
// given is false when the attribute is absent from the body; a required one is then missing in fullStage, so an update does
// not call castScalar for what it leaves alone. In publishStage the value is the one that is stored, nil for null, whether
// given or not. Dates, times and datetimes are passed through, since what is wrong with them is told after all issues, and
// alone: see castTemporal. Whether a unique value is free is not looked at.
func castScalar(a *contenttypes.Attribute, path []string, v any, given bool, st stage) (any, []issue) {
	if !given && st != publishStage {
		if a.Required && st == fullStage {
			return nil, []issue{missing(path, "must be defined.")}
		}
		return nil, nil
	}
	if v == nil {
		if a.Required && st != draftStage {
			return nil, []issue{nullIssue(a, path)}
		}
		return nil, nil
	}
	c := caster{attr: a, path: path, stage: st}
	switch kind := a.Type.Kind(); {
	case kind == contenttypes.NumberValue:
		v = c.number(v)
	case kind == contenttypes.BigIntegerValue:
		v = c.bigInteger(v)
	case kind == contenttypes.BooleanValue:
		v = c.boolean(v)
	case kind == contenttypes.EnumValue:
		v = c.enumeration(v)
	case a.Type == contenttypes.Blocks:
		v, c.issues = castBlocks(path, v)
	case kind == contenttypes.JSONValue:
		v = c.json(v)
	case !kind.IsTemporal():
		v = c.text(v)
	}
	return v, c.issues
}

// nullIssue is what is wrong with null in a required attribute: each type says it in its own way.
func nullIssue(a *contenttypes.Attribute, path []string) issue {
	switch kind := a.Type.Kind(); {
	case kind == contenttypes.NumberValue:
		return wrongType(path, "number", math.NaN(), nil, false)
	case a.Type == contenttypes.Blocks:
		return wrongType(path, "array", nil, nil, false)
	case kind == contenttypes.TextValue, kind == contenttypes.EnumValue, kind == contenttypes.HashValue:
		return wrongType(path, "string", nil, nil, false)
	}
	return issueAt(path, "must be defined.", nil)
}

// A caster casts one value that is not null.
type caster struct {
	attr   *contenttypes.Attribute
	path   []string
	stage  stage
	issues []issue
}

func (c *caster) issue(says string, value any) {
	c.issues = append(c.issues, issueAt(c.path, says, value))
}

func (c *caster) wrongType(want string, v any) {
	c.issues = append(c.issues, wrongType(c.path, want, v, v, false))
}

// publishing reports whether the rules hold that drafts may break.
func (c *caster) publishing() bool { return c.stage != draftStage }

// text checks texts and passwords.
func (c *caster) text(v any) any {
	s, ok := v.(string)
	if !ok {
		c.wrongType("string", v)
		return v
	}
	isEmail := c.attr.Type == contenttypes.Email
	// The length of an address is bounded from above alone.
	if least := c.attr.MinLength; least != nil && c.publishing() && !isEmail && utf16Length(s) < *least {
		c.issue("must be at least "+strconv.Itoa(*least)+" characters", s)
	}
	if most, bounded := c.attr.LengthBound(); bounded && len(s) > most && utf16Length(s) > most {
		c.issue("must be at most "+strconv.Itoa(most)+" characters", s)
	}
	if !c.publishing() {
		return s
	}
	if isEmail {
		switch {
		case s == "":
			c.issues = nil
			c.issue("cannot be empty", s)
		case !isEmailAddress(s):
			c.issue("must be a valid email", s)
		}
	}
	pattern, source := c.attr.Pattern()
	// Only uids are held to their pattern when they are empty.
	if pattern != nil && (s != "" || c.attr.Type == contenttypes.UID) && !pattern.MatchString(s) {
		c.issue(`must match the following: "`+printRegex(source)+`"`, s)
	}
	return s
}

// printRegex prints the source of a regular expression between slashes, as JavaScript does, which escapes slashes outside of
// classes.
func printRegex(source string) string {
	var b strings.Builder
	b.WriteByte('/')
	inClass := false
	for i := 0; i < len(source); i++ {
		switch ch := source[i]; {
		case ch == '\\' && i+1 < len(source):
			b.WriteByte(ch)
			i++
		case ch == '[':
			inClass = true
		case ch == ']':
			inClass = false
		case ch == '/' && !inClass:
			b.WriteByte('\\')
		}
		b.WriteByte(source[i])
	}
	b.WriteByte('/')
	return b.String()
}

// utf16Length counts the UTF-16 units of s, which is what JavaScript calls its length.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// enumeration checks a choice. Numbers and booleans are made strings first.
func (c *caster) enumeration(v any) any {
	v = scalarText(v)
	s, ok := v.(string)
	if !ok {
		c.wrongType("string", v)
	}
	if !ok || !slices.Contains(c.attr.Enum, s) {
		c.issue("must be one of the following values: "+strings.Join(c.attr.Enum, ", ")+", ", v)
	}
	return v
}

// scalarText makes numbers and booleans strings.
func scalarText(v any) any {
	switch v.(type) {
	case jsontree.Number, bool:
		return string(jsontree.Append(nil, v))
	}
	return v
}

// boolean reads true and false, also as 1 and 0 and in strings.
func (c *caster) boolean(v any) any {
	b, ok := castBoolean(v)
	if !ok {
		c.wrongType("boolean", v)
		return v
	}
	return b
}

func castBoolean(v any) (b, ok bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}
	s, _ := scalarText(v).(string)
	switch strings.ToLower(s) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// number reads integer, float and decimal.
func (c *caster) number(v any) any {
	n, f := castNumber(v)
	if math.IsNaN(f) {
		c.issues = append(c.issues, wrongType(c.path, "number", f, v, true))
		return nil
	}
	var shown any = n
	if math.IsInf(f, 0) {
		shown = nil
	}
	whole := c.attr.Type == contenttypes.Integer
	if whole && (math.IsInf(f, 0) || f != math.Trunc(f)) {
		c.issue("must be an integer", shown)
	} else if math.IsInf(f, 0) {
		c.issue("must be a finite number", shown)
	}
	if least := c.attr.Min; least != nil && c.publishing() && f < *least {
		c.issue("must be greater than or equal to "+jsontree.FormatNumber(*least), shown)
	}
	if most := c.attr.Max; most != nil && f > *most {
		c.issue("must be less than or equal to "+jsontree.FormatNumber(*most), shown)
	}
	return shown
}

// castNumber reads a number, or a string as JavaScript's Number() does once blanks are taken out; f is NaN when it is none.
// Integers keep all their digits in n.
func castNumber(v any) (n jsontree.Number, f float64) {
	switch v := v.(type) {
	case jsontree.Number:
		f = v.Float()
		n = v
	case string:
		s := strings.Map(func(r rune) rune {
			if jsontree.IsBlank(r) {
				return -1
			}
			return r
		}, v)
		if s == "" {
			return "", math.NaN()
		}
		f, _ = jsontree.ParseNumber(s)
		n = jsontree.Number(jsontree.FormatNumber(f))
		if d, ok := decimalInteger(s); ok {
			n = jsontree.Number(d)
		}
	default:
		return "", math.NaN()
	}
	return jsontree.Number(jsontree.Append(nil, n)), f
}

// decimalInteger takes the plus sign and the zeros in front away from an integer, which is "-0" for no number.
func decimalInteger(s string) (string, bool) {
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		s, sign = s[1:], "-"
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	if !isIndex(s) {
		return "", false
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return "0", true
	}
	return sign + s, true
}

// bigInteger reads an integer of 64 bits from a number, or from a string of digits with a sign, and keeps it as a string.
func (c *caster) bigInteger(v any) any {
	var digits string
	ok := false
	switch v := v.(type) {
	case string:
		digits, ok = decimalInteger(v)
	case jsontree.Number:
		if digits, ok = decimalInteger(string(v)); !ok { // 1e3, 5.0
			f := v.Float()
			ok = f == math.Trunc(f) && math.Abs(f) <= jsontree.MaxSafeInteger
			digits = strconv.FormatInt(int64(f), 10)
		}
	}
	if ok {
		_, err := strconv.ParseInt(digits, 10, 64)
		ok = err == nil
	}
	if !ok {
		c.issue("must be a valid integer", v)
		return v
	}
	return digits
}

// json parses a string that is itself JSON, as forms send it, unless that gives another string or nothing, or has a key
// __proto__, which no body may have.
func (c *caster) json(v any) any {
	s, ok := v.(string)
	if !ok || c.stage == publishStage { // it was parsed when the draft was written
		return v
	}
	parsed, err := jsontree.Parse([]byte(s), jsontree.MaxDepth)
	if _, again := parsed.(string); err != nil || again || parsed == nil {
		return s
	}
	return parsed
}

// storedJSON turns a cast value into the JSON text that the row keeps, nil for null.
func storedJSON(v any) []byte {
	if v == nil {
		return nil
	}
	return jsontree.Append(nil, v)
}

// defaultValue returns the value that an absent attribute gets on create, as it is stored, and whether it has one.
func defaultValue(a *contenttypes.Attribute) (any, bool) {
	return a.Default, a.HasDefault
}
