package config

import (
	"encoding"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lectern/internal/yamlfile"
	"lectern/shadowcrud/graphql/limits"
)

var update = flag.Bool("update", false, "write the tables of settings in docs/")

// tables lists the tables of settings in docs/. A page holds each between <!-- settings NAME --> and <!-- end -->,
// where NAME is a file of config/ and the beginning of the keys. A key is in the table with the longest name that it
// begins with.
var tables = []struct {
	name, page string
	short      bool // whether the table leaves the name out of its keys
}{
	{"server.yaml", "configuration.md", false},
	{"api.yaml", "configuration.md", false},
	{"plugins.yaml i18n", "configuration.md", false},
	{"plugins.yaml upload", "configuration.md", false},
	{"plugins.yaml users-permissions", "configuration.md", false},
	{"plugins.yaml users-permissions.config.providers", "providers.md", true},
	{"plugins.yaml graphql", "configuration.md", false},
	{"plugins.yaml mcp", "configuration.md", false},
	{"plugins.yaml graphql.config.limits", "graphql.md", true},
	{"permissions.yaml", "permissions-reference.md", false},
	{"webhooks.yaml", "webhooks.md", false},
}

// TestReferenceIsFresh checks that the tables of settings in docs/ say what the fields of the structs that files are
// decoded into say in their comments, and have all of their keys. With -update it writes the tables.
func TestReferenceIsFresh(t *testing.T) {
	rows := map[string][]row{}
	for _, r := range settingsRows(t) {
		name := tableOf(r)
		if name == "" {
			t.Errorf("%s: no table has the key %s: add one to tables", r.file, r.key)
		}
		rows[name] = append(rows[name], r)
	}
	for _, table := range tables {
		page := filepath.Join("../../docs", table.page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want, err := replaceTable(string(text), table.name, rows[table.name], table.short)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if *update {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if string(text) != want {
			t.Errorf("docs/%s is stale: run go generate ./gateway/config", table.page)
		}
	}
}

// TestKeysOfReferenceAreAccepted checks that every key of the tables is one that its file may have.
func TestKeysOfReferenceAreAccepted(t *testing.T) {
	for _, r := range settingsRows(t) {
		if strings.Contains(r.key, "[]") || strings.Contains(r.key, anyKey) { // a key of the items of a list or a map
			continue
		}
		parts := strings.Split(r.key, ".")
		text := strings.Join(parts, ": {") + ": null" + strings.Repeat("}", len(parts)-1)
		n, problems := yamlfile.Read(fstest.MapFS{r.file: {Data: []byte(text)}}, r.file, nil)
		s := Default()
		for _, f := range settingsFiles {
			if f.name+".yaml" == r.file {
				problems = append(problems, f.read(&s, n)...)
			}
		}
		if r.file == permissionsName+".yaml" {
			problems = append(problems, (&Definition{Settings: s}).readPermissions(n)...)
		}
		if r.file == webhooksName+".yaml" {
			problems = append(problems, s.readWebhooks(n, nil)...)
		}
		for _, problem := range problems {
			if strings.HasPrefix(problem.Message, "unknown key") { // other problems may say that a value is needed
				t.Error(problem)
			}
		}
	}
}

// Structs of files whose comments have a fault each, and one without a fault.
type (
	uncommentedFile struct{ Compress *bool }
	repeatedFile    struct {
		// whether
		// Default: never
		Compress *bool
	}
	defaultlessFile struct {
		// where
		URL *string
	}
	namelessFile struct {
		// see `origin`
		// Default: none
		CORS struct{ Origin, Methods *string }
	}
	faultlessFile struct {
		// whether
		Compress *bool
		// where
		// Default: here
		URL  *string
		CORS struct {
			// from
			// anywhere
			Origin string
		}
		Tokens []struct {
			// text
			Name string `yaml:"its-name,required"`
		}
	}
)

func TestReferenceRefusesWrongComments(t *testing.T) {
	yes, empty := true, ""
	for _, test := range []struct {
		file    any
		problem string
		rows    []row
	}{
		{file: uncommentedFile{&yes},
			problem: "a.yaml: compress: its field needs a comment that says what the key means"},
		{file: repeatedFile{&yes},
			problem: "a.yaml: compress: its comment says \"Default: never\", but config.Default sets `true`: delete the line"},
		{file: defaultlessFile{&empty},
			problem: `a.yaml: url: config.Default sets nothing: its comment needs a line such as "Default: none"`},
		{file: namelessFile{},
			problem: "a.yaml: cors: its comment stands for all keys below it, so it must name `methods`"},
		{file: faultlessFile{Compress: &yes}, rows: []row{
			{"a.yaml", "compress", "`true`", "whether"}, {"a.yaml", "url", "here", "where"},
			{"a.yaml", "cors.origin", "`x`", "from anywhere"},
			{"a.yaml", "tokens[].its-name", "required", "text"}}},
	} {
		if f, ok := test.file.(faultlessFile); ok {
			f.CORS.Origin = "x"
			test.file = f
		}
		w := walker{file: "a.yaml", structs: structsOf(parsePackage(t)...)}
		w.structure(nil, reflect.ValueOf(test.file), "")
		if got := strings.Join(w.problems, "\n"); got != test.problem {
			t.Errorf("%T: got %q, want %q", test.file, got, test.problem)
		}
		if test.problem == "" && !slices.Equal(w.rows, test.rows) {
			t.Errorf("%T: got %q, want %q", test.file, w.rows, test.rows)
		}
	}
}

// A row describes a key of a file of config/.
type row struct{ file, key, initial, meaning string }

// tableOf returns the name of the table that r belongs to, or "".
func tableOf(r row) (name string) {
	for _, table := range tables {
		file, prefix, _ := strings.Cut(table.name, " ")
		if file == r.file && (prefix == "" || r.key == prefix || strings.HasPrefix(r.key, prefix+".")) &&
			len(table.name) > len(name) {
			name = table.name
		}
	}
	return name
}

// replaceTable returns page with the rows in its table of that name.
func replaceTable(page, name string, rows []row, short bool) (string, error) {
	begin, end := "<!-- settings "+name+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("there is no table between %q and %q", begin, end)
	}
	var b strings.Builder
	b.WriteString(before + begin + "| key | default | meaning |\n|---|---|---|\n")
	_, prefix, _ := strings.Cut(name, " ")
	for _, r := range rows {
		if short {
			r.key = strings.TrimPrefix(r.key, prefix+".")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.key, r.initial, r.meaning)
	}
	return b.String() + end + after, nil
}

// settingsRows returns a row for each key of the files of config/, in the order of the fields.
func settingsRows(t *testing.T) []row {
	t.Helper()
	s := Default()
	graphqlDefaults(&s.GraphQL.Limits)
	files := map[string]any{"server": s.Server.file(), "api": s.REST.file(), "plugins": s.file(),
		permissionsName: permissionsFile{}, webhooksName: webhooksFile{}}
	w := walker{structs: structsOf(parsePackage(t)...)}
	for _, name := range fileNames() {
		if files[name] == nil {
			t.Fatalf("settingsRows does not know config/%s.yaml: add the struct that it is decoded into", name)
		}
		w.file = name + ".yaml"
		w.structure(nil, reflect.ValueOf(files[name]), "")
	}
	for _, problem := range w.problems {
		t.Error(problem)
	}
	return w.rows
}

// graphqlDefaults sets the limits that are zero in config.Default to their values in limits.Default, except Bytes,
// whose default is limits.answer.
func graphqlDefaults(l *GraphQLLimits) {
	v := reflect.ValueOf(l).Elem()
	for _, defaults := range []any{limits.Default, limits.Default.Document} {
		for i := range v.NumField() {
			if f := reflect.ValueOf(defaults).FieldByName(v.Type().Field(i).Name); f.IsValid() {
				v.Field(i).Set(f)
			}
		}
	}
	l.Bytes = 0
}

// parsePackage parses the files of this package.
func parsePackage(t *testing.T) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// structsOf returns the structs that files declare, by name.
func structsOf(files ...*ast.File) map[string]*ast.StructType {
	structs := map[string]*ast.StructType{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return structs
}

// A walker makes a row of each key that the decoder of a file accepts. It finds the keys and their defaults in a value
// of the struct that the file is decoded into, as the decoder does, and their meaning in the comments of the struct.
type walker struct {
	file     string
	structs  map[string]*ast.StructType
	rows     []row
	problems []string
}

func (w *walker) problem(key, format string, args ...any) {
	w.problems = append(w.problems, w.file+": "+key+": "+fmt.Sprintf(format, args...))
}

// structure adds the keys of the struct v. source is its source if its type has no name.
func (w *walker) structure(source *ast.StructType, v reflect.Value, prefix string) {
	if name, _, _ := strings.Cut(v.Type().Name(), "["); name != "" { // a generic type is named plugin[…]
		source = w.structs[name]
	}
	if source == nil {
		w.problem(strings.TrimSuffix(prefix, "."), "%s is not declared in this package: its field needs a comment",
			v.Type())
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		w.field(sourceOf(source, f.Name), f, v.Field(i), prefix)
	}
}

// anyKey stands for the keys of a map.
const anyKey = "NAME"

// field adds the key of a field. If the field holds a struct, or a list or map of structs, it stands for the keys of
// the struct. With a comment it is a single row, and the comment must name all keys below it.
func (w *walker) field(source *ast.Field, f reflect.StructField, v reflect.Value, prefix string) {
	name, options := keyOf(f)
	key := prefix + name
	meaning, initial := splitComment(source)
	v, below := target(v)
	switch isStruct := v.Kind() == reflect.Struct && !decodesItself(v.Type()); {
	case isStruct && meaning == "":
		nested, _ := source.Type.(*ast.StructType)
		if array, ok := source.Type.(*ast.ArrayType); ok {
			nested, _ = array.Elt.(*ast.StructType)
		}
		w.structure(nested, v, key+below+".")
		return
	case meaning == "":
		w.problem(key, "its field needs a comment that says what the key means")
	case isStruct:
		for _, below := range keysBelow(v.Type()) {
			if !strings.Contains(meaning, "`"+below+"`") {
				w.problem(key, "its comment stands for all keys below it, so it must name `%s`", below)
			}
		}
	case options == "required":
		initial = "required"
	case !isEmpty(v) && initial != "":
		w.problem(key, "its comment says \"Default: %s\", but config.Default sets `%s`: delete the line", initial,
			render(v))
	case !isEmpty(v):
		initial = "`" + render(v) + "`"
	case initial == "":
		w.problem(key, "config.Default sets nothing: its comment needs a line such as \"Default: none\"")
	}
	w.rows = append(w.rows, row{w.file, key, initial, strings.ReplaceAll(meaning, "|", `\|`)})
}

// target follows the pointers of v: a nil pointer to a struct leads to an empty struct. For a list or map of structs,
// target returns an empty item of it, and what stands for the item in keys.
func target(v reflect.Value) (item reflect.Value, below string) {
	for v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			v = v.Elem()
		} else if v.Type().Elem().Kind() == reflect.Struct {
			v = reflect.Zero(v.Type().Elem())
		} else {
			return v, ""
		}
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && !decodesItself(v.Type()) {
		if item := v.Type().Elem(); item.Kind() == reflect.Struct && !decodesItself(item) {
			if v.Kind() == reflect.Map {
				return reflect.Zero(item), "." + anyKey
			}
			return reflect.Zero(item), "[]"
		}
	}
	return v, ""
}

// isEmpty reports whether v may stand for a default that is not in config.Default, or for none. The values 0s and false
// are defaults.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero() && v.Type() != reflect.TypeFor[time.Duration]() && v.Kind() != reflect.Bool
}

// decodesItself reports whether a value of type t is decoded as a whole, not key by key.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[yamlfile.Node]() || p.Implements(reflect.TypeFor[yamlfile.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// render returns v as a file may say it.
func render(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case ByteSize:
		return x.String()
	case interval:
		return render(reflect.ValueOf(time.Duration(x)))
	case time.Duration:
		text := x.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	if v.Kind() == reflect.Slice {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = render(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// keyOf returns the key of a field and its options, as yamlfile names them.
func keyOf(f reflect.StructField) (name, options string) {
	name, options, _ = strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "" {
		name = strings.ToLower(f.Name)
	}
	return name, options
}

// keysBelow returns the keys of a struct and of those within it.
func keysBelow(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _ := keyOf(f)
		keys = append(keys, name)
		if item, _ := target(reflect.Zero(f.Type)); item.Kind() == reflect.Struct && !decodesItself(item.Type()) {
			keys = append(keys, keysBelow(item.Type())...)
		}
	}
	return keys
}

// sourceOf returns the source of a field.
func sourceOf(s *ast.StructType, name string) *ast.Field {
	for _, f := range s.Fields.List {
		if slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == name }) {
			return f
		}
	}
	panic("the source has no field " + name)
}

// splitComment returns what the comment of a field says, as one line, and what follows "Default:" at the beginning of a
// line.
func splitComment(f *ast.Field) (meaning, initial string) {
	var words []string
	for _, line := range strings.Split(f.Doc.Text(), "\n") {
		if text, ok := strings.CutPrefix(line, "Default: "); ok {
			initial = text
		} else {
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " "), initial
}
