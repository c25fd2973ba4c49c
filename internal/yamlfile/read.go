package yamlfile

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a file. They are far above what people write. They stop a hostile file, such as a few lines of aliases that
// expand to gigabytes, from using up memory.
const (
	MaxFileBytes = 512 << 10
	MaxNodes     = 50_000 // values in a file; an alias counts as the values that it stands for
	MaxDepth     = 100    // levels of nested lists and mappings
)

// maxProblems limits how many problems of a file are reported, so that a file of an unrelated format does not fill the
// screen.
const maxProblems = 100

// extensions lists the extensions of configuration files, in the order in which Find tries them.
var extensions = []string{".yaml", ".yml", ".json"}

// HasExtension reports whether a file's name ends in .yaml, .yml or .json.
func HasExtension(name string) bool { return slices.Contains(extensions, path.Ext(name)) }

// Find returns the name of the file base.yaml, base.yml or base.json, or "" if none exists. If several exist it reports
// a problem, since it is not clear which one counts.
func Find(fsys fs.FS, base string) (string, Problems) {
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
		problems = append(problems,
			Problem{File: other, Message: "says the same as " + found[0] + "; keep one of the two"})
	}
	return found[0], problems
}

// Read reads a .yaml, .yml or .json file of a project. fsys is the project directory (os.DirFS), so that problems show
// paths relative to it. lookup returns the values for ${NAME} and ${NAME:default}; if it is nil, references are kept as
// they are.
//
// The Node of an empty file is null. If there are problems the Node is nil, with one exception: if every problem is a
// variable that is not set, Read returns the Node with nulls in place of the variables, so that the caller can look for
// further problems.
func Read(fsys fs.FS, name string, lookup Lookup) (*Node, Problems) {
	data, problem := readLimited(fsys, name)
	if problem != "" {
		return nil, Problems{{File: name, Message: problem}}
	}
	return Parse(name, data, lookup)
}

// Parse is Read for a file whose contents are data. If name ends in .json it reads JSON, otherwise YAML.
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

// readLimited reads a regular file of at most MaxFileBytes. problem says why that failed.
func readLimited(fsys fs.FS, name string) (data []byte, problem string) {
	info, err := statRegular(fsys, name)
	if err != nil {
		return nil, openProblem(err)
	}
	if info.Size() > MaxFileBytes {
		return nil, tooLarge
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, openProblem(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, ReadProblem(err)
	}
	return data, ""
}

// ReadFile is fs.ReadFile for a file of a project. It refuses what is no regular file; reading a named pipe would wait
// for its writer, and a device may have no end.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	if _, err := statRegular(fsys, name); err != nil {
		return nil, err
	}
	return fs.ReadFile(fsys, name)
}

// statRegular describes a file, and returns a kindError if it is not regular. The file is not opened.
func statRegular(fsys fs.FS, name string) (fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: kindError(info.Mode())}
	}
	return info, err
}

// A kindError is the kind of what is not a regular file.
type kindError fs.FileMode

func (e kindError) Error() string {
	return "is " + FileKind(fs.FileMode(e)) + ", not a regular file; remove it, or put a file in its place"
}

// FileKind names the kind of a file.
func FileKind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode.IsRegular():
		return "a file"
	}
	return "a special file"
}

func openProblem(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "does not exist"
	}
	if kind := kindError(0); errors.As(err, &kind) {
		return kind.Error()
	}
	return "cannot be opened: " + Reason(err)
}

// ReadProblem returns the message of a Problem for an error of ReadFile.
func ReadProblem(err error) string {
	if kind := kindError(0); errors.As(err, &kind) {
		return kind.Error()
	}
	return "cannot be read: " + Reason(err)
}

// Reason returns the message of a file error without its operation and path.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// validText reports whether data is valid UTF-8, or UTF-16 with a byte order mark. If not, line is the first invalid
// line.
func validText(data []byte) (line int, ok bool) {
	if utf8.Valid(data) || (len(data) > 1 && (data[0] == 0xFE || data[0] == 0xFF)) {
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

// A reader converts one file to Nodes and collects problems.
type reader struct {
	file     string
	lookup   Lookup
	nodes    int
	over     bool // a limit was exceeded; it is reported once, and reading stops
	unset    int  // the number of problems about variables that are not set
	problems Problems
}

func (r *reader) problem(line int, message string) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Message: message})
	if len(r.problems) >= maxProblems {
		r.over = true
	}
}

// enter counts a value and reports whether the file is still within the limits.
func (r *reader) enter(line, depth int) bool {
	r.nodes++
	switch {
	case r.over:
	case r.nodes > MaxNodes:
		r.over = true
		r.problem(line, "the file holds more than 50000 values, aliases counted as what they stand for; split it up, "+
			"or use fewer aliases")
	case depth > MaxDepth:
		r.over = true
		r.problem(line, "values are nested more than 100 deep; nest them less")
	}
	return !r.over
}

func (r *reader) node(kind Kind, line int) *Node {
	return &Node{Kind: kind, File: r.file, Line: line}
}

// scalar returns the Node of a scalar. A plain scalar, one without quotes, has the type that its text looks like.
func (r *reader) scalar(text string, plain bool, line int) *Node {
	n := r.node(Text, line)
	var missing []string
	n.Text, n.fromEnv, missing = expand(text, r.lookup)
	for _, name := range missing {
		r.problem(line, "environment variable "+name+" is not set; set it, or give a default as in ${"+name+":default}")
		r.unset++
	}
	if len(missing) > 0 {
		n.Kind, n.unset = Null, true
		return n
	}
	if plain {
		n.Kind = plainKind(n.Text)
	}
	return n
}

// plainKind returns the type of a scalar without quotes, by the rules of YAML 1.2.
func plainKind(s string) Kind {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF":
		return Float
	}
	if isInt(s) {
		return Int
	}
	if isFloat(s) {
		return Float
	}
	return Text
}

// isInt reports whether s is a decimal integer without leading zeros (007 is a text), a hexadecimal one such as 0x1f,
// or an octal one such as 0o17.
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
	integer, fraction, point := strings.Cut(mantissa, ".")
	if integer == "" && fraction == "" || len(integer) > 1 && integer[0] == '0' {
		return false
	}
	return only(integer+"0", "0123456789") && only(fraction+"0", "0123456789") && only(exponent, "0123456789") &&
		(point || len(mantissa) < len(s))
}

// only reports whether s is not empty and consists only of the characters in chars.
func only(s, chars string) bool {
	return s != "" && strings.Trim(s, chars) == ""
}
