package contenttypes

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"
)

// Bounds on a definition or configuration file. They are far beyond what people write, and keep a file that means harm
// (a few lines of aliases that expand to gigabytes) from costing more than its own problem.
const (
	MaxFileBytes = 512 << 10
	MaxNodes     = 50_000 // aliases count as what they stand for
	MaxDepth     = 100
)

// maxFaults is how many faults of a file are listed, so that a file which is something else altogether does not fill the
// screen.
const maxFaults = 100

// extensions a file may have, in the order in which they are looked for.
var extensions = []string{".yaml", ".yml", ".json"}

// FindFile returns the name of the one file base.yaml, base.yml or base.json that exists, or "" when there is none.
// Several are a problem, since it would be left to chance which one holds.
func FindFile(fsys fs.FS, base string) (string, Problems) {
	var found []string
	for _, ext := range extensions {
		if _, err := fs.Stat(fsys, base+ext); err == nil {
			found = append(found, base+ext)
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	var problems Problems
	for _, other := range found[1:] {
		problems = append(problems, Problem{File: other, Message: "says the same as " + found[0] + "; keep one of the two"})
	}
	return found[0], problems
}

// ReadFile reads a .yaml, .yml or .json file of a project; fsys is the project directory (os.DirFS), so that problems name
// the file as the project's owner does. lookup fills in ${NAME} and ${NAME:default} in values; nil leaves them as they are.
// The Node is a null for an empty file. It is nil when there are problems, unless all of them leave the rest readable: variables that are
// not set, whose values are null then.
func ReadFile(fsys fs.FS, name string, lookup Lookup) (*Node, Problems) {
	data, problem := readBounded(fsys, name)
	if problem != "" {
		return nil, Problems{{File: name, Message: problem}}
	}
	return Parse(name, data, lookup)
}

// Parse is ReadFile on what a file holds. A name that ends in .json is read as JSON, any other as YAML.
func Parse(name string, data []byte, lookup Lookup) (*Node, Problems) {
	if len(data) > MaxFileBytes {
		return nil, Problems{{File: name, Message: tooLarge}}
	}
	if line, ok := validText(data); !ok {
		return nil, Problems{{File: name, Line: line, Message: "the text is not valid UTF-8; save the file as UTF-8"}}
	}
	r := &reader{file: name, lookup: lookup}
	var n *Node
	if path.Ext(name) == ".json" {
		n = r.json(data)
	} else {
		n = r.yaml(data)
	}
	if len(r.problems) > r.unset {
		n = nil
	}
	return n, r.problems.Sort()
}

const tooLarge = "the file is larger than 512 KiB; split it up"

// readBounded reads a regular file of bounded size, or says what keeps it from that.
func readBounded(fsys fs.FS, name string) (data []byte, problem string) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, openProblem(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, "cannot be read: " + reason(err)
	case !info.Mode().IsRegular():
		return nil, "is not a regular file"
	case info.Size() > MaxFileBytes:
		return nil, tooLarge
	}
	data, err = io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, "cannot be read: " + reason(err)
	}
	return data, ""
}

func openProblem(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "does not exist"
	}
	return "cannot be opened: " + reason(err)
}

// reason is an error of a file without the operation and path around it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// validText reports whether data is UTF-8, and on which line it is not.
func validText(data []byte) (line int, ok bool) {
	if utf8.Valid(data) || (len(data) > 1 && (data[0] == 0xFE || data[0] == 0xFF)) { // UTF-16 with its mark is YAML too
		return 0, true
	}
	line = 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line, false
}

// A reader turns one file into Nodes and gathers what is wrong with it.
type reader struct {
	file     string
	lookup   Lookup
	nodes    int
	over     bool // a bound was passed: said once, and nothing more is read
	unset    int  // how many problems are variables that are not set
	problems Problems
}

func (r *reader) problem(line int, message string) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Message: message})
	if len(r.problems) >= maxFaults {
		r.over = true
	}
}

// enter counts a node and checks the bounds.
func (r *reader) enter(line, depth int) bool {
	r.nodes++
	switch {
	case r.over:
	case r.nodes > MaxNodes:
		r.over = true
		r.problem(line, "the file holds more than 50000 values, aliases counted as what they stand for; split it up, or use fewer aliases")
	case depth > MaxDepth:
		r.over = true
		r.problem(line, "values are nested more than 100 deep; nest them less")
	}
	return !r.over
}

// node makes a Node.
func (r *reader) node(kind NodeKind, line int) *Node {
	return &Node{Kind: kind, File: r.file, Line: line}
}

// scalar makes a scalar Node; plain is a text without quotes, whose type follows from how it looks.
func (r *reader) scalar(text string, plain bool, line int) *Node {
	n := r.node(TextNode, line)
	var missing []string
	n.Text, n.fromEnv, missing = expand(text, r.lookup)
	for _, name := range missing {
		r.problem(line, "environment variable "+name+" is not set; set it, or give a default as in ${"+name+":default}")
		r.unset++
	}
	if len(missing) > 0 {
		n.Kind, n.unset = NullNode, true
		return n
	}
	if plain {
		n.Kind = plainKind(n.Text)
	}
	return n
}

// plainKind is the type of a scalar without quotes, as YAML 1.2 has it.
func plainKind(s string) NodeKind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return NullNode
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return BoolNode
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return FloatNode
	}
	if isInt(s) {
		return IntNode
	}
	if isFloat(s) {
		return FloatNode
	}
	return TextNode
}

// isInt reports whether s is a decimal number without leading zeros (007 is a text: somebody's number plate), or
// hexadecimal or octal as 0x1f and 0o17.
func isInt(s string) bool {
	s = strings.TrimLeft(s[:1], "+-") + s[1:]
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return only(hex, "0123456789abcdefABCDEF")
	}
	if oct, ok := strings.CutPrefix(s, "0o"); ok {
		return only(oct, "01234567")
	}
	return only(s, "0123456789") && (s[0] != '0' || len(s) == 1)
}

func isFloat(s string) bool {
	s = strings.TrimLeft(s[:1], "+-") + s[1:]
	mantissa, exponent := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	return only(whole+"0", "0123456789") && only(fraction+"0", "0123456789") && only(exponent, "0123456789") &&
		(point || len(mantissa) < len(s))
}

// only reports whether s is not empty and made of chars alone.
func only(s, chars string) bool {
	return s != "" && strings.Trim(s, chars) == ""
}
