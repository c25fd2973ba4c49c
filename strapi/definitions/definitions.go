// Package definitions converts the definitions of a Strapi 5 project to the files of a Lectern project.
//
// The definitions come from the project's own tree (the schemas and the files of config/), from the schemas in an
// export archive, or from both: an archive knows each type as Strapi has built it, a tree has the configuration.
//
//	project, err := definitions.Convert(definitions.Source{Tree: os.DirFS("my-strapi")})
//	…
//	for _, note := range project.Notes {
//		fmt.Println(note)
//	}
//	err = project.Write("my-lectern")
//
// Convert drops nothing silently. A part of a definition that Lectern has no counterpart for becomes a comment in the
// file that is written, and a Note says what happens instead. No code of the project runs: package staticjs reads the
// values of config/*.js and config/*.ts as far as the text alone tells them.
//
// The result always passes `lectern check`. If the loader of Lectern refuses a part that Strapi accepts, settle leaves
// that part out, with the message of the loader as the reason.
//
// Reading the source: tree.go and archive.go find schemas, schema.go and attribute.go convert them, config.go,
// middlewares.go and plugins.go convert settings, code.go lists code, and settle.go makes the result pass the check.
package definitions

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// A Source says where definitions are read from. At least one of the two must be set.
type Source struct {
	Tree    fs.FS   // the directory of a Strapi project
	Archive Schemas // the schemas of an archive; they take precedence over those of Tree
}

// Schemas calls line with each schema of an archive: one JSON object. It returns the first error of line.
type Schemas func(line func(schema []byte) error) error

// FromTree converts a Strapi project by its files.
func FromTree(tree fs.FS) (*Converted, error) { return Convert(Source{Tree: tree}) }

// A Converted holds the files of a Lectern project, converted from definitions of Strapi.
type Converted struct {
	Notes []Note // in the order of files, each once

	files map[string]*yamlfile.Node // keyed by their paths in the project
	env   []byte                    // the file .env with the variables that the configuration refers to; nil if there is none
}

// A Note says what differs between a definition and what it was converted to.
type Note struct {
	Level  Level
	File   string // the file of the source; of an archive "schemas"
	Path   string // what it is about, such as api::article.article.reviewer or upload.config.provider
	What   string // what the source says, and what became of it
	Advice string // what to do about it; empty if there is nothing to do
}

// A Level says how much a Note matters.
type Level uint8

const (
	Ignored Level = iota // the part has no effect on the content API
	Changed              // the part has been converted to something that differs
	Lost                 // the part was left out, and the content API lacks it
)

// String returns the name of the level.
func (l Level) String() string { return [...]string{"ignored", "changed", "left out"}[l] }

func (n Note) String() string {
	s := fmt.Sprintf("%s: %s: %s", n.File, n.Path, n.What)
	if n.Path == "" {
		s = fmt.Sprintf("%s: %s", n.File, n.What)
	}
	if n.Advice != "" {
		s += "; " + n.Advice
	}
	return s
}

// ErrNoDefinitions means that a source holds no content-type.
var ErrNoDefinitions = errors.New(
	"there is no content-type: a Strapi project has them in src/api/*/content-types/*/schema.json")

// Convert reads the definitions of a source and converts them. The error says why the source cannot be read; parts that
// cannot be converted are Notes.
func Convert(source Source) (*Converted, error) {
	c := newConverter()
	if source.Archive != nil {
		if err := c.readArchive(source.Archive); err != nil {
			return nil, err
		}
	}
	if source.Tree != nil {
		if err := c.readTree(source.Tree); err != nil {
			return nil, err
		}
	}
	if len(c.types) == 0 {
		return nil, ErrNoDefinitions
	}
	for _, s := range c.components {
		c.component(s)
	}
	for _, s := range c.types {
		if s.uid == contenttypes.UserUID {
			c.users(s)
		} else {
			c.contentType(s)
		}
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	c.noteIgnored()
	c.project.Notes = sorted(c.project.Notes)
	return c.project, nil
}

// A converter collects schemas and converts them.
type converter struct {
	project    *Converted
	types      []*schema
	components []*schema
	names      map[string]bool // the uids of types and components
	code       map[string]bool // the files with schemas that are code
	ignored    ignoredKeys
	private    []string // the attributes that config/api makes private in all types

	// keyed by the path of a file of the project: the file it was made from, and what the Path of its notes begins with
	origins, paths map[string]string
}

// sorted returns notes in the order of files, each once.
func sorted(notes []Note) (list []Note) {
	seen := map[Note]bool{}
	for _, n := range notes {
		if !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b Note) int { return strings.Compare(a.File, b.File) })
	return list
}

func newConverter() *converter {
	return &converter{
		project: &Converted{files: map[string]*yamlfile.Node{}}, names: map[string]bool{}, code: map[string]bool{},
		origins: map[string]string{}, paths: map[string]string{},
	}
}

// note adds a note about a part of a schema or a file.
func (c *converter) note(level Level, file, path, advice, format string, args ...any) {
	c.project.Notes = append(c.project.Notes,
		Note{Level: level, File: file, Path: path, What: fmt.Sprintf(format, args...), Advice: advice})
}

// ignoredKeys counts keys without an effect, so that one Note stands for all places that have such a key.
type ignoredKeys []struct {
	key, why string
	places   []string
}

// ignore counts a key of a file that has no effect in Lectern.
func (c *converter) ignore(key, why, place string) {
	for i := range c.ignored {
		if k := &c.ignored[i]; k.key == key {
			k.places = append(k.places, place)
			return
		}
	}
	c.ignored = append(c.ignored, struct {
		key, why string
		places   []string
	}{key, why, []string{place}})
}

// noteIgnored adds a note for each key without an effect.
func (c *converter) noteIgnored() {
	for _, k := range c.ignored {
		where := k.places[0]
		if n := len(k.places) - 1; n > 0 {
			where += fmt.Sprintf(" and %d more", n)
		}
		c.note(Ignored, "schemas", k.key, "", "%s (in %s)", k.why, where)
	}
}

// put adds the file made from a schema.
func (c *converter) put(file string, s *schema, n *yamlfile.Node) {
	c.project.files[file], c.origins[file], c.paths[file] = n, s.file, s.uid
}

// componentFile returns the path of a component's file in a Lectern project.
func componentFile(uid string) string {
	category, name, _ := strings.Cut(uid, ".")
	return path.Join("components", category, name+".yaml")
}
