package language

import (
	"sort"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/lexer"

	"lectern/documents/apierror"
)

// A source is the text of a document and its tokens.
type source struct {
	text      string
	ascii     bool
	tokens    []token // without comments; the last one is <EOF>, or the invalid one that scanError is about
	scanError *Error  // why the last token is invalid
}

// A token is a token of a document. Its positions count code points, like those of gqlparser.
type token struct {
	kind       lexer.Type
	value      string
	start, end int
	line       int // line and column as gqlparser counts them, to find the token of one of its errors
	column     int
}

// tokenBytes is what a token takes, in bytes.
const tokenBytes = 64

// scan splits a text into tokens, and checks the limits that can be checked by counting them.
func scan(text string, l DocumentLimits) (*source, *Error) {
	s := &source{text: text, ascii: isASCII(text), tokens: make([]token, 0, min(len(text)/5, l.Tokens)+8)}
	lex := lexer.New(&ast.Source{Input: text})
	nesting, comments := 0, 0
	for {
		t, err := lex.ReadToken()
		if t.Kind == lexer.Comment {
			if comments++; comments > l.Tokens {
				return nil, s.tooMany("comments", l.Tokens, "tokens", apierror.Tokens, t.Pos.Start)
			}
			continue
		}
		tok := token{kind: t.Kind, value: t.Value, start: t.Pos.Start, end: t.Pos.End, line: t.Pos.Line,
			column: t.Pos.Column}
		s.tokens = append(s.tokens, tok)
		switch t.Kind {
		case lexer.BraceL, lexer.BracketL, lexer.ParenL:
			nesting++
		case lexer.BraceR, lexer.BracketR, lexer.ParenR:
			nesting--
		}
		switch {
		case len(s.tokens)-1 > l.Tokens:
			return nil, s.tooMany("tokens", l.Tokens, "tokens", apierror.Tokens, tok.start)
		case nesting > l.Nesting:
			return nil, s.tooMany("levels of brackets", l.Nesting, "nesting", apierror.Nesting, tok.start)
		case err != nil:
			s.scanError = s.lexicalError(tok, err.Error())
			return s, nil
		case t.Kind == lexer.EOF:
			return s, nil
		}
		if n := len(s.tokens); n > 1 && s.tokens[n-2].isNumber() && s.tokens[n-2].end == tok.start &&
			(tok.kind == lexer.Name || tok.isNumber()) {
			s.scanError = s.syntaxError("Invalid number, expected digit but got: "+printCodePoint(s.after(tok.start))+
				".", tok.start)
			return s, nil
		}
	}
}

func (t token) isNumber() bool { return t.kind == lexer.Int || t.kind == lexer.Float }

// index returns the index of the token that begins at a position, or of the last one before it.
func (s *source) index(start int) int {
	i := sort.Search(len(s.tokens), func(i int) bool { return s.tokens[i].start > start })
	return max(i-1, 0)
}

// before returns the position of the token before the one at start.
func (s *source) before(start int) int { return s.tokens[max(s.index(start)-1, 0)].start }

// next returns the position of the n-th token after the one at start.
func (s *source) next(start, n int) int {
	return s.tokens[min(s.index(start)+n, len(s.tokens)-1)].start
}

// after returns the text that begins at a position.
func (s *source) after(start int) string {
	if s.ascii {
		return s.text[min(start, len(s.text)):]
	}
	rest := s.text
	for ; start > 0 && rest != ""; start-- {
		_, n := utf8.DecodeRuneInString(rest)
		rest = rest[n:]
	}
	return rest
}

// at converts a position to line and column.
func (s *source) at(start int) Location {
	l := Location{Line: 1, Column: 1}
	cr := false
	for _, r := range s.text {
		if start--; start < 0 {
			break
		}
		switch {
		case r == '\n' && cr:
			cr = false
			continue
		case r == '\n', r == '\r':
			l.Line, l.Column = l.Line+1, 1
		case r > 0xFFFF:
			l.Column += 2
		default:
			l.Column++
		}
		cr = r == '\r'
	}
	return l
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// The functions below find positions that gqlparser does not keep.

// spread returns the position of the dots of an inline fragment or a fragment spread.
func (s *source) spread(p *ast.Position) int { return s.before(p.Start) }

// directive returns the position of the @ that begins a directive.
func (s *source) directive(d *ast.Directive) int { return s.before(d.Position.Start) }

// selection returns the position of a selection.
func (s *source) selection(sel ast.Selection) int {
	if f, ok := sel.(*ast.Field); ok {
		return f.Position.Start
	}
	return s.spread(sel.GetPosition())
}

// brace returns the position of the brace that opens a selection set.
func (s *source) brace(set ast.SelectionSet) int { return s.before(s.selection(set[0])) }

// typ returns the position of a type reference.
func (s *source) typ(t *ast.Type) int {
	if t.Elem != nil {
		return s.before(s.typ(t.Elem))
	}
	return t.Position.Start
}
