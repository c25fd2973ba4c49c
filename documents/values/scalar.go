package values

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/jsontree"
)

// A Stage selects the rules that are checked.
//
// Types without drafts check all rules at once (FullStage). Types with drafts check the rules for drafts when a draft
// is written (DraftStage: types, choices, max, maxLength, blocks), and all rules, on all values of the draft, when it
// is published (PublishStage).
type Stage uint8

const (
	DraftStage Stage = iota
	PublishStage
	FullStage
)

// Cast casts and checks the value of a scalar attribute. It returns the value to store (nil for null) and the issues
// with it.
//
// given is false if the attribute is absent from the body. That is an issue for a required attribute in FullStage, so
// an update does not call Cast for attributes that it leaves unchanged. In PublishStage the value is the stored one.
// Dates, times and datetimes are returned as they are, because their errors are reported after all issues: see
// CastTime. It does not check whether a unique value is free.
func Cast(a *contenttypes.Attribute, path []string, v any, given bool, st Stage) (any, []issues.Issue) {
	if !given && st != PublishStage {
		if a.Required && st == FullStage {
			return nil, []issues.Issue{issues.Missing(path, "must be defined.")}
		}
		return nil, nil
	}
	if v == nil {
		if a.Required && st != DraftStage {
			return nil, []issues.Issue{nullIssue(a, path)}
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

// nullIssue returns the issue of null in a required attribute. Its message depends on the type of the attribute.
func nullIssue(a *contenttypes.Attribute, path []string) issues.Issue {
	switch kind := a.Type.Kind(); {
	case kind == contenttypes.NumberValue:
		return issues.WrongType(path, "number", math.NaN(), nil, false)
	case a.Type == contenttypes.Blocks:
		return issues.WrongType(path, "array", nil, nil, false)
	case kind == contenttypes.TextValue, kind == contenttypes.EnumValue, kind == contenttypes.HashValue:
		return issues.WrongType(path, "string", nil, nil, false)
	}
	return issues.At(path, "must be defined.", nil)
}

// A caster casts one value other than null.
type caster struct {
	attr   *contenttypes.Attribute
	path   []string
	stage  Stage
	issues []issues.Issue
}

func (c *caster) refuse(says string, value any) {
	c.issues = append(c.issues, issues.At(c.path, says, value))
}

func (c *caster) wrongType(want string, v any) {
	c.issues = append(c.issues, issues.WrongType(c.path, want, v, v, false))
}

// publishing reports whether to check the rules that drafts may break.
func (c *caster) publishing() bool { return c.stage != DraftStage }

// text casts strings, texts and passwords.
func (c *caster) text(v any) any {
	s, ok := v.(string)
	if !ok {
		c.wrongType("string", v)
		return v
	}
	isEmail := c.attr.Type == contenttypes.Email
	// E-mail addresses have no minimum length.
	if least := c.attr.MinLength; least != nil && c.publishing() && !isEmail && utf16Length(s) < *least {
		c.refuse("must be at least "+strconv.Itoa(*least)+" characters", s)
	}
	if most, bounded := c.attr.LengthLimit(); bounded && len(s) > most && utf16Length(s) > most {
		c.refuse("must be at most "+strconv.Itoa(most)+" characters", s)
	}
	if !c.publishing() {
		return s
	}
	if isEmail {
		switch {
		case s == "":
			c.issues = nil
			c.refuse("cannot be empty", s)
		case !IsEmail(s):
			c.refuse("must be a valid email", s)
		}
	}
	pattern, source := c.attr.Pattern()
	// Empty values are checked against the pattern only for uids.
	if pattern != nil && (s != "" || c.attr.Type == contenttypes.UID) && !pattern.MatchString(s) {
		c.refuse(`must match the following: "`+printRegex(source)+`"`, s)
	}
	return s
}

// printRegex returns the source of a regular expression between slashes as JavaScript prints it, which escapes slashes
// outside of character classes.
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

// utf16Length returns the number of UTF-16 code units in s, which is its length in JavaScript.
func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xFFFF {
			n++
		}
	}
	return n
}

// enumeration casts the value of an enumeration. It converts numbers and booleans to strings first.
func (c *caster) enumeration(v any) any {
	v = scalarText(v)
	s, ok := v.(string)
	if !ok {
		c.wrongType("string", v)
	}
	if !ok || !slices.Contains(c.attr.Enum, s) {
		c.refuse("must be one of the following values: "+strings.Join(c.attr.Enum, ", ")+", ", v)
	}
	return v
}

// scalarText converts numbers and booleans to strings.
func scalarText(v any) any {
	switch v.(type) {
	case jsontree.Number, bool:
		return string(jsontree.Append(nil, v))
	}
	return v
}

// boolean casts booleans, also from 1 and 0 and from strings.
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

// number casts the values of integer, float and decimal attributes.
func (c *caster) number(v any) any {
	n, f := castNumber(v)
	if math.IsNaN(f) {
		c.issues = append(c.issues, issues.WrongType(c.path, "number", f, v, true))
		return nil
	}
	var shown any = n
	if math.IsInf(f, 0) {
		shown = nil
	}
	whole := c.attr.Type == contenttypes.Integer
	if whole && (math.IsInf(f, 0) || f != math.Trunc(f)) {
		c.refuse("must be an integer", shown)
	} else if math.IsInf(f, 0) {
		c.refuse("must be a finite number", shown)
	}
	if least := c.attr.Min; least != nil && c.publishing() && f < *least {
		c.refuse("must be greater than or equal to "+jsontree.FormatNumber(*least), shown)
	}
	if most := c.attr.Max; most != nil && f > *most {
		c.refuse("must be less than or equal to "+jsontree.FormatNumber(*most), shown)
	}
	return shown
}

// castNumber converts a number, or a string as JavaScript's Number() does after blanks are removed. f is NaN if it is
// not a number; n keeps all digits of an integer.
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

// decimalInteger removes the plus sign and leading zeros of an integer. It never returns "-0".
func decimalInteger(s string) (string, bool) {
	sign := ""
	switch {
	case strings.HasPrefix(s, "-"):
		s, sign = s[1:], "-"
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	if !isDigits(s) {
		return "", false
	}
	s = strings.TrimLeft(s, "0")
	if s == "" {
		return "0", true
	}
	return sign + s, true
}

// bigInteger casts a 64-bit integer from a number, or from a string of digits with an optional sign, and stores it as a
// string.
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
		c.refuse("must be a valid integer", v)
		return v
	}
	return digits
}

// json parses a string that is itself JSON, as forms send it. It keeps the string if the result is another string or
// empty, or has the key __proto__, which bodies must not contain.
func (c *caster) json(v any) any {
	s, ok := v.(string)
	if !ok || c.stage == PublishStage { // a draft to publish was checked when it was written
		return v
	}
	parsed, err := jsontree.Parse([]byte(s), jsontree.MaxDepth)
	if _, again := parsed.(string); err != nil || again || parsed == nil {
		return s
	}
	return parsed
}

// Encode returns a cast value as stored JSON, nil for null.
func Encode(v any) []byte {
	if v == nil {
		return nil
	}
	return jsontree.Append(nil, v)
}

// maxStoredDepth is the maximum nesting of stored JSON; request bodies have a lower limit.
const maxStoredDepth = 1 << 16

// Decode parses a stored value; nil is null.
func Decode(raw []byte) any {
	if raw == nil {
		return nil
	}
	v, err := jsontree.Parse(raw, maxStoredDepth)
	if err != nil {
		return nil
	}
	return v
}

// isDigits reports whether s consists of ASCII digits, of which there is at least one.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
