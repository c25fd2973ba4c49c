package language

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"

	"lectern/documents/apierror"
)

// parse parses a document that was split into tokens.
func parse(src *source) (*Document, *Error) {
	text := src.text
	if !utf8.ValidString(text) {
		return nil, src.syntaxError("The document is not valid UTF-8.", 0)
	}
	d := &Document{source: src}
	if src.scanError == nil {
		text, d.typeDefinitions = src.withoutTypeDefinitions()
	}
	parsed, failed := parser.ParseQuery(&ast.Source{Input: text})
	if failed != nil {
		return nil, src.parseError(failed)
	}
	if src.scanError != nil {
		return nil, src.scanError // two tokens lack the space between them, which gqlparser does not notice
	}
	if len(parsed.Operations)+len(parsed.Fragments)+len(d.typeDefinitions) == 0 {
		return nil, src.unexpected(src.tokens[len(src.tokens)-1])
	}
	d.Operations, d.fragments = parsed.Operations, parsed.Fragments
	d.Fragments = make(map[string]*ast.FragmentDefinition, len(parsed.Fragments))
	for _, f := range parsed.Fragments {
		if f.VariableDefinition != nil {
			tok := src.tokens[min(src.index(f.Position.Start)+2, len(src.tokens)-1)]
			return nil, src.expected(`"on"`, tok)
		}
		if d.Fragments[f.Name] == nil {
			d.Fragments[f.Name] = f
		}
	}
	return d, nil
}

func (s *source) syntaxError(message string, start int) *Error {
	return &Error{Message: "Syntax Error: " + message, Locations: []Location{s.at(start)}, Code: ParseFailed}
}

func (s *source) tooMany(what string, limit int, setting string, refusal apierror.Reason, start int) *Error {
	e := s.syntaxError(fmt.Sprintf("Document contains more than %d %s (%s). Parsing aborted.", limit, what,
		Settings+setting), start)
	e.Refusal = refusal
	return e
}

func (s *source) expected(what string, found token) *Error {
	return s.syntaxError("Expected "+what+", found "+found.describe()+".", found.start)
}

func (s *source) unexpected(found token) *Error {
	return s.syntaxError("Unexpected "+found.describe()+".", found.start)
}

// describe returns the name of a token for messages.
func (t token) describe() string {
	switch t.kind {
	case lexer.Name, lexer.Int, lexer.Float, lexer.String, lexer.BlockString:
		return t.kind.String() + ` "` + t.value + `"`
	}
	return describeKind(t.kind.String())
}

// describeKind returns the name of a kind of token for messages. Punctuation is quoted.
func describeKind(kind string) string {
	switch kind {
	case "Name", "Int", "Float", "String", "BlockString", "<EOF>":
		return kind
	}
	if strings.HasPrefix(kind, `"`) {
		return kind // a keyword
	}
	return `"` + kind + `"`
}

// parseError rewords an error of gqlparser as graphql-js words it.
func (s *source) parseError(failed error) *Error {
	var e *gqlerror.Error
	if !errors.As(failed, &e) || len(e.Locations) == 0 {
		return s.syntaxError("The document cannot be read.", 0)
	}
	found, ok := s.tokenAt(e.Locations[0])
	if !ok && s.scanError != nil {
		return s.scanError
	}
	if found.kind == lexer.Invalid && s.scanError != nil {
		return s.scanError
	}
	message := e.Message
	switch {
	case strings.HasPrefix(message, "Expected "):
		what, _, _ := strings.Cut(strings.TrimPrefix(message, "Expected "), ", found")
		return s.expected(describeKind(what), found)
	case strings.HasPrefix(message, "Unexpected "):
		if next := s.tokens[min(s.index(found.start)+1, len(s.tokens)-1)]; found.kind == lexer.Dollar &&
			next.kind == lexer.Name && s.depth(found.start) > 0 {
			return s.syntaxError(`Unexpected variable "$`+next.value+`" in constant value.`, found.start)
		}
		return s.unexpected(found)
	case strings.HasPrefix(message, "expected at least one"):
		return s.expected(s.firstOf(found), found)
	}
	return s.syntaxError(message, found.start)
}

// tokenAt finds the token at the line and column of an error of gqlparser.
func (s *source) tokenAt(l gqlerror.Location) (token, bool) {
	for _, t := range s.tokens {
		if t.line == l.Line && t.column == l.Column {
			return t, true
		}
	}
	return s.tokens[len(s.tokens)-1], false
}

// firstOf returns the name of the token that empty brackets lack: a variable in the variable definitions of an
// operation, otherwise a name.
func (s *source) firstOf(closing token) string {
	i := s.index(closing.start) - 1
	if i < 1 || s.tokens[i].kind != lexer.ParenL {
		return "Name"
	}
	if s.depth(s.tokens[i].start) > 0 || s.tokens[i-1].kind != lexer.Name {
		return "Name"
	}
	for _, t := range s.tokens[max(0, i-2):i] {
		switch t.value {
		case "query", "mutation", "subscription":
			return `"$"`
		}
	}
	return "Name"
}

// depth counts the brackets that are open at a position.
func (s *source) depth(start int) int {
	depth := 0
	for _, t := range s.tokens {
		if t.start >= start {
			break
		}
		switch t.kind {
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			depth++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			depth--
		}
	}
	return depth
}

// lexicalError rewords the error of gqlparser's lexer about an invalid token t.
func (s *source) lexicalError(t token, message string) *Error {
	at := t.end
	rest := s.after(t.end)
	has := func(part string) bool { return strings.Contains(message, part) }
	switch {
	case has("Unterminated string"):
		return s.syntaxError("Unterminated string.", at)
	case has("within String"):
		return s.syntaxError("Invalid character within String: "+printCodePoint(rest)+".", at)
	case has("escape sequence"):
		return s.escapeError(t)
	case has("unexpected digit after 0"):
		return s.syntaxError("Invalid number, unexpected digit after 0: "+printCodePoint(rest)+".", at)
	case has("expected digit but got"):
		return s.syntaxError("Invalid number, expected digit but got: "+printCodePoint(rest)+".", at)
	case strings.HasPrefix(rest, "'"):
		return s.syntaxError(`Unexpected single quote character ('), did you mean to use a double quote (")?`, at)
	case has("Cannot contain the invalid character"):
		return s.syntaxError("Invalid character: "+printCodePoint(rest)+".", at)
	}
	return s.syntaxError("Unexpected character: "+printCodePoint(rest)+".", at)
}

// escapeError returns the error of an invalid escape in a string. t ends just after the backslash of the escape.
func (s *source) escapeError(t token) *Error {
	start := max(t.end-1, 0)
	sequence := s.after(start)
	kind, n := "character", 2
	switch {
	case strings.HasPrefix(sequence, `\u{`):
		kind, n = "Unicode", 3
		for n < len(sequence) && n < 12 {
			if n++; !isHex(sequence[n-1]) {
				break
			}
		}
	case strings.HasPrefix(sequence, `\u`):
		kind, n = "Unicode", 6
	default:
		_, size := utf8.DecodeRuneInString(sequence[min(1, len(sequence)):])
		n = 1 + size
	}
	return s.syntaxError(`Invalid `+kind+` escape sequence: "`+sequence[:min(n, len(sequence))]+`".`, start)
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// printCodePoint prints the first character of a text for messages.
func printCodePoint(rest string) string {
	if rest == "" {
		return "<EOF>"
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '"':
		return `'"'`
	case r >= ' ' && r <= '~':
		return `"` + string(r) + `"`
	}
	return fmt.Sprintf("U+%04X", r)
}

// A typeDefinition is a definition of the schema definition language. A document with one cannot be executed.
type typeDefinition struct {
	start int
	name  string // in quotes, or "schema"
}

// withoutTypeDefinitions replaces type definitions by blanks, since gqlparser does not parse them in a document that is
// executed. Validation reports them together with the errors of the other definitions.
func (s *source) withoutTypeDefinitions() (string, []typeDefinition) {
	var typeDefinitions []typeDefinition
	text := s.text
	if !s.ascii {
		return text, nil // rare: reported as a syntax error
	}
	for i := 0; i < len(s.tokens); {
		end := s.definitionEnd(i)
		if a, ok := s.typeDefinitionAt(i); ok {
			from, to := s.tokens[i].start, s.tokens[end-1].end
			if _, err := parser.ParseSchema(&ast.Source{Input: s.text[from:to]}); err == nil {
				typeDefinitions = append(typeDefinitions, a)
				text = text[:from] + strings.Repeat(" ", to-from) + text[to:]
			}
		}
		i = end
	}
	return text, typeDefinitions
}

// definitionEnd returns the index of the token after the definition that begins at token i. The definition ends at its
// closing brace.
func (s *source) definitionEnd(i int) int {
	depth := 0
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].kind {
		case lexer.BraceL:
			depth++
		case lexer.BraceR:
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return i
}

func (s *source) typeDefinitionAt(i int) (typeDefinition, bool) {
	t := s.tokens[i]
	if t.kind != lexer.Name {
		return typeDefinition{}, false
	}
	named := i + 1
	switch t.value {
	case "schema":
		return typeDefinition{t.start, "schema"}, true
	case "extend":
		named++
		if named-1 < len(s.tokens) && s.tokens[named-1].value == "schema" {
			return typeDefinition{t.start, "schema"}, true
		}
	case "directive":
		named++ // the name of a directive follows its @
	case "type", "interface", "union", "enum", "input", "scalar":
	default:
		return typeDefinition{}, false
	}
	if named >= len(s.tokens) {
		return typeDefinition{}, false
	}
	return typeDefinition{t.start, strconv.Quote(s.tokens[named].value)}, true
}
