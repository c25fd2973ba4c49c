package evolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Migration is an operation on stored content that a person asks for, to settle a change of definitions that a store
// does not follow by itself.
type Migration struct {
	Op   string   `json:"op"`   // the name of one of Operations
	Args []string `json:"args"` // the arguments of the operation
}

// Migrations are carried out one after the other, all or none.
type Migrations []Migration

// String returns the migration as the words of a command line.
func (m Migration) String() string { return Migrations{m}.String() }

// String returns the migrations as the words of one command line.
func (ms Migrations) String() string {
	var words []string
	option := false
	for _, m := range ms {
		words = append(words, m.Op)
		for _, arg := range m.Args {
			words = append(words, shellWord(arg))
			option = option || strings.HasPrefix(arg, "-")
		}
	}
	if option {
		words = append([]string{"--"}, words...) // so that the argument is not taken for an option
	}
	return strings.Join(words, " ")
}

func (ms Migrations) has(m Migration) bool {
	return slices.ContainsFunc(ms, func(x Migration) bool { return same(x, m) })
}

func same(a, b Migration) bool { return a.Op == b.Op && slices.Equal(a.Args, b.Args) }

// renames reports whether a migration keeps content under another name.
func (m Migration) renames() bool {
	return m.Op == renameType || m.Op == renameAttribute || m.Op == renameValue
}

// Fills returns the fill operations among migrations, and whether there are other operations.
func (ms Migrations) Fills() (fills Migrations, others bool) {
	for _, m := range ms {
		if m.Op == fill {
			fills = append(fills, m)
		} else {
			others = true
		}
	}
	return fills, others
}

// FillCall returns the migration that fills an attribute with a value, or with its default if no value is given.
func FillCall(attribute string, value ...string) Migration {
	return migration(fill, append([]string{attribute}, value...)...)
}

// DropLocaleCall returns the migration that removes the versions of a type in a locale.
func DropLocaleCall(uid, locale string) Migration { return migration(dropLocale, uid, locale) }

// destroys reports whether content may be gone after a migration.
func (m Migration) destroys() bool { return !m.renames() && m.Op != acceptNames }

// shellWord quotes a word if a shell would change it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("_-.:/@%+=,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// An Operation is a kind of Migration.
type Operation struct {
	Name     string
	Args     []string // their names, in capitals
	Optional string   // the name of a last argument that can be left out; "" if there is none
	Help     string
}

// Usage lists the arguments of an operation.
func (op *Operation) Usage() string {
	if op.Optional != "" {
		return strings.Join(op.Args, " ") + " [" + op.Optional + "]"
	}
	return strings.Join(op.Args, " ")
}

// Removed counts what migrations removed.
type Removed struct {
	Documents int `json:"documents"` // documents without any version left
	Versions  int `json:"versions"`
	Values    int `json:"values"` // versions that were kept but lost a value
	Links     int `json:"links"`
}

// Names of the operations.
const (
	renameType      = "rename-type"
	renameAttribute = "rename-attribute"
	renameValue     = "rename-value"
	acceptNames     = "accept-names"
	shareValue      = "share-value"
	keepFirst       = "keep-first"
	keepLocale      = "keep-locale"
	keepDocument    = "keep-document"
	dropLocale      = "drop-locale"
	dropDrafts      = "drop-drafts"
	dropType        = "drop-type"
	dropAttribute   = "drop-attribute"
	dropValue       = "drop-value"
	dropItems       = "drop-items"
	dropLinks       = "drop-links"
	fill            = "fill"
)

// Operations lists all operations. UID is that of a content-type or component; ATTRIBUTE is such a uid, a dot and the
// name of one of its attributes.
var Operations = []Operation{
	{Name: renameType, Args: []string{"UID", "NEW-UID"}, Help: "give a content-type or component another uid"},
	{Name: renameAttribute, Args: []string{"ATTRIBUTE", "NEW-NAME"}, Help: "give an attribute another name"},
	{Name: renameValue, Args: []string{"ATTRIBUTE", "VALUE", "NEW-VALUE"},
		Help: "put one value of an enumeration in the place of another"},
	{Name: acceptNames, Args: []string{"UID"}, Help: "take the singular and plural name that the definition has now"},
	{Name: shareValue, Args: []string{"ATTRIBUTE", "LOCALE"}, Help: "give all localizations the value that LOCALE has"},
	{Name: keepFirst, Args: []string{"ATTRIBUTE"}, Help: "leave the first component or link in each list"},
	{Name: keepLocale, Args: []string{"UID", "LOCALE"},
		Help: "remove all other localizations, and have no locales any more"},
	{Name: keepDocument, Args: []string{"UID", "DOCUMENT-ID"},
		Help: "remove all other documents, and make it a single type"},
	{Name: dropLocale, Args: []string{"UID", "LOCALE"}, Help: "remove one localization"},
	{Name: dropDrafts, Args: []string{"UID"}, Help: "keep what is published, and remove what never was"},
	{Name: dropType, Args: []string{"UID"}, Help: "remove a content-type with its documents"},
	{Name: dropAttribute, Args: []string{"ATTRIBUTE"}, Help: "remove an attribute with its values or links"},
	{Name: dropValue, Args: []string{"ATTRIBUTE", "VALUE"},
		Help: "set a value of an enumeration to null wherever it is"},
	{Name: dropItems, Args: []string{"ATTRIBUTE", "COMPONENT"},
		Help: "remove the components of one definition from an attribute"},
	{Name: dropLinks, Args: []string{"ATTRIBUTE"}, Help: "remove all links of a relation or media attribute"},
	{Name: fill, Args: []string{"ATTRIBUTE"}, Optional: "VALUE",
		Help: "put VALUE, or the default of the attribute, wherever it has none; also while serving"},
}

func migration(op string, args ...string) Migration { return Migration{Op: op, Args: args} }

// ParseMigrations parses the words of a command line with one or more operations, each followed by its arguments.
func ParseMigrations(words []string) (ms Migrations, err error) {
	if len(words) == 0 {
		return nil, errors.New("no operation is named")
	}
	for len(words) > 0 {
		op := operationNamed(words[0])
		if op == nil && len(ms) > 0 {
			before := operationNamed(ms[len(ms)-1].Op)
			return nil, fmt.Errorf("there is no operation %q; %s takes %s", words[0], before.Name, before.Usage())
		}
		if op == nil {
			return nil, fmt.Errorf("there is no operation %q", words[0])
		}
		if len(words)-1 < len(op.Args) {
			return nil, fmt.Errorf("%s takes %s; got %s", op.Name, op.Usage(), plural(len(words)-1, "argument"))
		}
		end := 1 + len(op.Args)
		if op.Optional != "" && len(words) > end && operationNamed(words[end]) == nil {
			end++
		}
		ms = append(ms, Migration{Op: op.Name, Args: words[1:end]})
		words = words[end:]
	}
	return ms, nil
}

func operationNamed(name string) *Operation {
	if i := slices.IndexFunc(Operations, func(op Operation) bool { return op.Name == name }); i >= 0 {
		return &Operations[i]
	}
	return nil
}

// Checked checks migrations that did not come from ParseMigrations, such as those in a request: their names and numbers
// of arguments.
func (ms Migrations) Checked() (Migrations, error) {
	var words []string
	for _, m := range ms {
		words = append(append(words, m.Op), m.Args...)
	}
	return ParseMigrations(words)
}
