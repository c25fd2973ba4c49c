package contenttypes

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"lectern/internal/yamlfile"
)

// Options are the settings of Load. The zero value loads a project with all plugins on.
type Options struct {
	Lookup yamlfile.Lookup // environment variables for ${NAME}; nil leaves references as they are

	// A plugin that is switched off does not define its types.
	WithoutUsersPermissions bool
	WithoutUpload           bool
	WithoutI18N             bool // localized types then have a single locale and no locale attribute
}

// Load reads the content-types and components of a project directory, checks them and links them to a Model. When
// anything is wrong it returns no Model, but every problem.
func Load(dir string, opts Options) (*Model, yamlfile.Problems) { return LoadFS(os.DirFS(dir), opts) }

// LoadFS does what Load does, on any file system.
func LoadFS(fsys fs.FS, opts Options) (*Model, yamlfile.Problems) {
	o, problems := LoadOutline(fsys, opts)
	if len(problems) > 0 {
		return nil, problems
	}
	return o.Model, nil
}

// An Outline is a Model that may lack the parts whose files have problems. It is good for checking names that refer to
// definitions, but not for storing content.
type Outline struct {
	Model    *Model
	Complete bool            // every type of the project is in Model: each file could be read and has a valid name
	wrong    map[string]bool // keyed by uid: whether the type's file has a problem
}

// HasProblem reports whether the file of a type has a problem, so that Model may lack some of its attributes.
func (o Outline) HasProblem(uid string) bool { return o.wrong[uid] }

// LoadOutline does what LoadFS does, and returns an Outline even when there are problems.
func LoadOutline(fsys fs.FS, opts Options) (Outline, yamlfile.Problems) {
	l := &loader{
		fsys: fsys, opts: opts,
		model:  &Model{types: map[string]*ContentType{}, components: map[string]*Component{}},
		byAttr: map[*Attribute]*attributeDefinition{}, unread: map[string]bool{},
	}
	files := l.extensions(l.contentTypeFiles())
	l.builtIns()
	for _, root := range files {
		l.contentType(root, builtIn{})
	}
	l.componentFiles()
	l.clashes()
	l.link()
	l.cycles()
	slices.SortFunc(l.model.Types, func(a, b *ContentType) int { return cmp.Compare(a.UID, b.UID) })
	slices.SortFunc(l.model.Components, func(a, b *Component) int { return cmp.Compare(a.UID, b.UID) })
	return l.outline(), l.problems.Sort()
}

func (l *loader) outline() Outline {
	o := Outline{Model: l.model, Complete: true, wrong: map[string]bool{}}
	for file := range l.unread {
		o.Complete = o.Complete && !strings.HasPrefix(file, "content-types")
	}
	for _, d := range l.schemas {
		file := d.root.File
		if d.extension != nil {
			file = d.extension.root.File
		}
		o.wrong[d.schema.UID] = slices.ContainsFunc(l.problems, func(p yamlfile.Problem) bool { return p.File == file })
	}
	return o
}

// A loader reads all definitions of a project, then links and checks them.
type loader struct {
	fsys     fs.FS
	opts     Options
	model    *Model
	schemas  []*definition // of types and components, in the order they were read
	byAttr   map[*Attribute]*attributeDefinition
	extended map[string]*extension // keyed by the uid of the built-in type
	unread   map[string]bool       // files, without their extension, that could not be read; see notRead
	problems yamlfile.Problems
}

// A definition is a content-type or a component together with the file that defines it.
type definition struct {
	schema     *Schema
	typ        *ContentType // nil for a component
	comp       *Component   // nil for a content-type
	root       *yamlfile.Node
	nameless   bool       // the content-type's singular name is missing or not valid
	extension  *extension // the extension of a built-in type; nil if there is none
	attributes []*attributeDefinition
}

func (l *loader) report(p yamlfile.Problem) { l.problems = append(l.problems, p) }

// contentTypeFiles reads the files of content-types/.
func (l *loader) contentTypeFiles() (roots []*yamlfile.Node) {
	files, ok := l.list("content-types")
	if !ok {
		l.notRead("content-types",
			yamlfile.Problems{{File: "content-types",
				Message: "there is no such directory; a project keeps its content-types there, one a file"}})
		return nil
	}
	for _, f := range files {
		name := path.Join("content-types", f.Name())
		if f.IsDir() {
			l.notRead(name, yamlfile.Problems{{File: name,
				Message: "is a directory; content-types are files that lie directly in content-types/"}})
			continue
		}
		if root, problems := yamlfile.Read(l.fsys, name, l.opts.Lookup); problems != nil {
			l.notRead(name, problems)
		} else {
			roots = append(roots, root)
		}
	}
	return roots
}

// componentFiles reads the components of components/, a directory that may be missing.
func (l *loader) componentFiles() {
	categories, _ := l.list("components")
	for _, category := range categories {
		dir := path.Join("components", category.Name())
		if !category.IsDir() {
			l.report(yamlfile.Problem{File: dir,
				Message: "lies outside of a category; components are files components/<category>/<name>.yaml"})
			continue
		}
		files, _ := l.list(dir)
		for _, f := range files {
			name := path.Join(dir, f.Name())
			if f.IsDir() {
				l.report(yamlfile.Problem{File: name,
					Message: "is a directory; components are files components/<category>/<name>.yaml"})
				continue
			}
			if root, problems := yamlfile.Read(l.fsys, name, l.opts.Lookup); problems != nil {
				l.notRead(name, problems)
			} else {
				l.component(root, category.Name(), strings.TrimSuffix(f.Name(), path.Ext(f.Name())))
			}
		}
	}
}

// notRead reports the problems of a file that could not be read, and remembers the file, so that references to its
// definition are not reported as unknown.
func (l *loader) notRead(name string, problems yamlfile.Problems) {
	l.problems = append(l.problems, problems...)
	l.unread[strings.TrimSuffix(name, path.Ext(name))] = true
}

// list returns the directories and definition files in a directory, sorted by name. It skips hidden files and files
// with another extension, such as the backup copies of editors.
func (l *loader) list(dir string) (entries []fs.DirEntry, exists bool) {
	info, err := fs.Stat(l.fsys, dir)
	if err == nil && !info.IsDir() { // reading a named pipe would wait for its writer
		l.report(yamlfile.Problem{File: dir, Message: "is " + yamlfile.FileKind(info.Mode()) +
			", not a directory; remove it, and make a directory in its place"})
		return nil, true
	}
	all, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.report(yamlfile.Problem{File: dir, Message: "cannot be read: " + yamlfile.Reason(err)})
			return nil, true
		}
		return nil, false
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if e.IsDir() || yamlfile.HasExtension(e.Name()) {
			entries = append(entries, e)
		}
	}
	return entries, true
}
