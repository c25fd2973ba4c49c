package staticjs

import (
	"bytes"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// blankTypes replaces what TypeScript adds to JavaScript by blanks: imports, types of constants, of parameters and of
// results, `as`, `satisfies`, `!`, and declarations of types. It knows the forms that configuration files have. If it
// meets another, parsing the result fails.
func blankTypes(source []byte) []byte {
	b := &blanker{out: bytes.Clone(source), tokens: tokenize(source)}
	for i := 0; i < len(b.tokens); i++ {
		i = b.token(i)
	}
	return b.out
}

// A token is a word, literal or sign of the source. Blanks and comments are none.
type token struct {
	kind       js.TokenType
	text       string
	start, end int
	newLine    bool // a line ends between the token before and this one
}

type blanker struct {
	tokens []token
	out    []byte
}

// tokenize splits the source into tokens. It stops at the first error, which the parser will report.
func tokenize(source []byte) (tokens []token) {
	l := js.NewLexer(parse.NewInputBytes(bytes.Clone(source)))
	offset, newLine := 0, false
	for {
		kind, data := l.Next()
		if kind == js.ErrorToken {
			return tokens
		}
		if (kind == js.DivToken || kind == js.DivEqToken) && beginsExpression(tokens) {
			if kind, data = l.RegExp(); kind != js.RegExpToken {
				return tokens
			}
		}
		start := offset
		offset += len(data)
		switch kind {
		case js.WhitespaceToken, js.CommentToken:
		case js.LineTerminatorToken, js.CommentLineTerminatorToken:
			newLine = true
		default:
			tokens = append(tokens, token{kind, string(data), start, offset, newLine})
			newLine = false
		}
	}
}

// beginsExpression reports whether an expression begins after the tokens, so that a slash begins a regular expression.
func beginsExpression(tokens []token) bool {
	return len(tokens) == 0 || !endsExpression(tokens[len(tokens)-1])
}

// endsExpression reports whether an expression may end with a token.
func endsExpression(t token) bool {
	switch t.text {
	case ")", "]", "}":
		return true
	case "return", "case", "typeof", "default":
		return false
	}
	return js.IsIdentifierName(t.kind) || js.IsNumeric(t.kind) || t.kind == js.StringToken ||
		t.kind == js.TemplateToken ||
		t.kind == js.TemplateEndToken || t.kind == js.RegExpToken
}

// at returns the text of a token, or "" after the last one.
func (b *blanker) at(i int) string {
	if i < 0 || i >= len(b.tokens) {
		return ""
	}
	return b.tokens[i].text
}

// blank replaces the tokens from i up to end by blanks. Lines stay.
func (b *blanker) blank(i, end int) {
	if i >= end || i >= len(b.tokens) {
		return
	}
	for k := b.tokens[i].start; k < b.tokens[min(end, len(b.tokens))-1].end; k++ {
		if b.out[k] != '\n' && b.out[k] != '\r' {
			b.out[k] = ' '
		}
	}
}

// token blanks the types that begin at token i, and returns the last token that it has dealt with.
func (b *blanker) token(i int) int {
	statement := i == 0 || b.tokens[i].newLine || b.at(i-1) == ";" || b.at(i-1) == "}"
	switch t := b.tokens[i]; {
	case statement && (t.text == "import" || t.text == "interface" || t.text == "type" || t.text == "declare" ||
		t.text == "export" && (b.at(i+1) == "type" || b.at(i+1) == "interface")):
		if end := b.declaration(i); end > i {
			b.blank(i, end)
			return end - 1
		}
	case t.text == "const" || t.text == "let" || t.text == "var":
		end := i + 2
		if b.at(i+1) == "{" || b.at(i+1) == "[" {
			end = b.balanced(i + 1)
		}
		if b.at(end) == ":" {
			after := b.typeEnd(end + 1)
			b.blank(end, after)
			return after - 1
		}
	case t.text == "(":
		b.parameters(i)
	case (t.text == "as" || t.text == "satisfies") && i > 0 && endsExpression(b.tokens[i-1]) && !t.newLine &&
		b.at(i+1) != ":" && b.at(i+1) != ",":
		after := b.typeEnd(i + 1)
		b.blank(i, after)
		return after - 1
	case t.text == "!" && i > 0 && endsExpression(b.tokens[i-1]) && !t.newLine:
		b.blank(i, i+1)
	}
	return i
}

// declaration returns the token after an import or a declaration of a type, or i if there is none.
func (b *blanker) declaration(i int) int {
	if b.at(i) == "import" && (b.at(i+1) == "(" || b.at(i+1) == ".") {
		return i
	}
	if b.at(i) == "type" && b.at(i+2) != "=" && b.at(i+2) != "<" {
		return i
	}
	for k := i + 1; k < len(b.tokens); k++ {
		switch t := b.tokens[k]; {
		case t.text == ";":
			return k + 1
		case t.newLine && endsExpression(b.tokens[k-1]) && t.text != "|" && t.text != "&" && t.text != "from" &&
			t.text != "=":
			return k
		case t.text == "{" || t.text == "(" || t.text == "[":
			k = b.balanced(k) - 1
		}
	}
	return len(b.tokens)
}

// balanced returns the token after the bracket that closes the one at i.
func (b *blanker) balanced(i int) int {
	depth := 0
	for k := i; k < len(b.tokens); k++ {
		switch b.tokens[k].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return k + 1
			}
		}
	}
	return len(b.tokens)
}

// typeEnd returns the token after the type that begins at i.
func (b *blanker) typeEnd(i int) int {
	for i < len(b.tokens) {
		switch b.at(i) {
		case "|", "&", "keyof", "typeof", "readonly", "unique", "infer":
			i++
			continue
		case "(", "{", "[":
			i = b.balanced(i)
		default:
			for i++; b.at(i) == "."; i += 2 {
			}
		}
		if b.at(i) == "<" {
			i = b.generics(i)
		}
		for b.at(i) == "[" && !b.tokens[i].newLine {
			i = b.balanced(i)
		}
		switch b.at(i) {
		case "|", "&", "extends", "is":
			i++
		case "=>":
			if b.at(i-1) != ")" || b.at(i+1) == "(" || b.at(i+1) == "{" {
				return i // the arrow of the function whose result has the type
			}
			i++
		default:
			return i
		}
	}
	return i
}

// generics returns the token after the > that closes the < at i.
func (b *blanker) generics(i int) int {
	depth := 0
	for ; i < len(b.tokens); i++ {
		switch b.at(i) {
		case "<":
			depth++
		case ">":
			depth--
		case ">>":
			depth -= 2
		case ">>>":
			depth -= 3
		case "(", "[", "{":
			i = b.balanced(i) - 1
		}
		if depth <= 0 {
			return i + 1
		}
	}
	return i
}

// parameters blanks the types of the parameters that the parenthesis at i begins, and that of the result, if the
// parentheses belong to a function.
func (b *blanker) parameters(i int) {
	closed := b.balanced(i)
	end := closed
	if b.at(closed) == ":" {
		end = b.typeEnd(closed + 1)
	}
	isFunction := b.at(i-1) == "function" || b.at(i-2) == "function"
	if b.at(end) != "=>" && !(isFunction && b.at(end) == "{") {
		return
	}
	b.blank(closed, end)
	for k := i + 1; k < closed-1; k++ {
		switch b.at(k) {
		case "{", "[", "(":
			k = b.balanced(k) - 1
		case "?":
			if b.at(k+1) == ":" {
				b.blank(k, k+1)
			}
		case ":":
			after := b.typeEnd(k + 1)
			b.blank(k, after)
			k = after - 1
		case "=":
			for k < closed-1 && b.at(k+1) != "," {
				if k++; b.at(k) == "(" || b.at(k) == "{" || b.at(k) == "[" {
					k = b.balanced(k) - 1
				}
			}
		}
	}
}
