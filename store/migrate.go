package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// A Migration is something done to stored content on purpose, because definitions changed in a way that a store does not
// follow by itself.
type Migration struct {
	Op   string   `json:"op"`   // the Name of one of Operations
	Args []string `json:"args"` // as many as the operation has
}

// String is the migration as a command line has it.
func (m Migration) String() string {
	words := []string{m.Op}
	for _, arg := range m.Args {
		words = append(words, shellWord(arg))
		if strings.HasPrefix(arg, "-") && words[0] != "--" {
			words = append([]string{"--"}, words...) // it is no option
		}
	}
	return strings.Join(words, " ")
}

// shellWord quotes what a shell would not take as it stands.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-.:/@%+=,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// An Operation is a kind of Migration.
type Operation struct {
	Name string
	Args []string // what they are, in capitals
	Help string
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
)

// Operations are all there are. UID is that of a content-type or component, ATTRIBUTE such a uid, a dot and the name of one of
// its attributes.
var Operations = []Operation{
	{renameType, []string{"UID", "NEW-UID"}, "give a content-type or component another uid"},
	{renameAttribute, []string{"ATTRIBUTE", "NEW-NAME"}, "give an attribute another name"},
	{renameValue, []string{"ATTRIBUTE", "VALUE", "NEW-VALUE"}, "put one value of an enumeration in the place of another"},
	{acceptNames, []string{"UID"}, "take the singular and plural name that the definition has now"},
	{shareValue, []string{"ATTRIBUTE", "LOCALE"}, "give all localizations the value that LOCALE has"},
	{keepFirst, []string{"ATTRIBUTE"}, "leave the first component or link in each list"},
	{keepLocale, []string{"UID", "LOCALE"}, "remove all other localizations, and have no locales any more"},
	{keepDocument, []string{"UID", "DOCUMENT-ID"}, "remove all other documents, and make it a single type"},
	{dropLocale, []string{"UID", "LOCALE"}, "remove one localization"},
	{dropDrafts, []string{"UID"}, "keep what is published, and remove what never was"},
	{dropType, []string{"UID"}, "remove a content-type with its documents"},
	{dropAttribute, []string{"ATTRIBUTE"}, "remove an attribute with its values or links"},
	{dropValue, []string{"ATTRIBUTE", "VALUE"}, "set a value of an enumeration to null wherever it is"},
	{dropItems, []string{"ATTRIBUTE", "COMPONENT"}, "remove the components of one definition from an attribute"},
	{dropLinks, []string{"ATTRIBUTE"}, "remove all links of a relation or media attribute"},
}

func migration(op string, args ...string) Migration { return Migration{Op: op, Args: args} }

// ParseMigration reads the words of a command line.
func ParseMigration(words []string) (Migration, error) {
	if len(words) == 0 {
		return Migration{}, errors.New("no operation is named")
	}
	for _, op := range Operations {
		if op.Name != words[0] {
			continue
		}
		if len(words)-1 != len(op.Args) {
			return Migration{}, fmt.Errorf("%s takes %s; got %s", op.Name, strings.Join(op.Args, " "), plural(len(words)-1, "argument"))
		}
		return Migration{Op: op.Name, Args: words[1:]}, nil
	}
	return Migration{}, fmt.Errorf("there is no operation %q", words[0])
}

// Migrate carries out a migration on a store that no process has open, and returns what it removed. Like all conversions it may
// be interrupted: what is left of it is done by the next Open, or by the same call again.
func Migrate(path string, m Migration, opts Options) (removed Removed, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return removed, fmt.Errorf("there is no store %s, so there is nothing to migrate", path)
	}
	if m, err = ParseMigration(append([]string{m.Op}, m.Args...)); err != nil {
		return removed, err
	}
	db, err := openFile(path, opts.LockTimeout)
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := newFile(db, path)
	c, err := s.loadConversion(opts)
	if err != nil {
		return removed, err
	}
	begun := c.pending.Migration
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("finish the conversion that was begun: %w", err)
	}
	if begun != nil && begun.String() == m.String() {
		return c.pending.Removed, nil
	}
	c.pending = pending{Migration: &m}
	if c.pending.Steps, err = s.planMigration(c.catalog, m); err != nil {
		return removed, err
	}
	if err := c.run(); err != nil {
		return removed, fmt.Errorf("migrate %s: %w", path, err)
	}
	return c.pending.Removed, nil
}
