package command

import (
	"fmt"
	"os"
	"path/filepath"

	"lectern/internal/shell"
	"lectern/strapi/definitions"
)

// A preview is a Lectern project in a temporary directory, converted from the files of a Strapi project. It is for a
// first look: it has definitions and settings, and no content.
type preview struct {
	source  string // the Strapi project; nothing writes to it
	root    string // the temporary directory
	Project *definitions.Converted
}

// previewOf converts the Strapi project in dir. It returns nil if dir is none. The caller must remove the preview.
func previewOf(dir string) (*preview, error) {
	tree := os.DirFS(dir)
	if !definitions.IsTree(tree) {
		return nil, nil
	}
	project, err := definitions.FromTree(tree)
	if err != nil {
		return nil, fmt.Errorf("read the Strapi project %s: %w", shell.Path(display(dir)), err)
	}
	root, err := os.MkdirTemp("", "lectern-strapi-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory for the converted project: %w", err)
	}
	p := &preview{source: dir, root: root, Project: project}
	if err := project.Write(p.Dir()); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

// Dir returns the directory of the converted project.
func (p *preview) Dir() string { return filepath.Join(p.root, "project") }

// remove removes the temporary directory.
func (p *preview) remove() error { return os.RemoveAll(p.root) }

// announce prints that the command uses a preview instead of the Strapi project itself, and how to make a project of
// it. what says what the command does with the preview.
func (p *preview) announce(s *session, what string) {
	dir := shell.Path(display(p.source))
	fmt.Fprintf(s.Stderr, "%s is a Strapi project: %s. Its files stay as they are\n", dir, what)
	fmt.Fprintf(s.Stderr, "what has no exact counterpart in it: %s check %s\n", s.Name, dir)
	fmt.Fprintf(s.Stderr, "to make a project of it, with its content: %s move-in %s NEW\n", s.Name, dir)
}

// inPreview calls do with the directory of a project: dir itself, or a preview of it if it is a Strapi project. It
// announces the preview unless what is "".
func (s *session) inPreview(dir, what string, do func(dir string, preview *preview) error) (err error) {
	p, err := previewOf(dir)
	if err != nil {
		return err
	}
	if p == nil {
		return do(dir, nil)
	}
	defer func() {
		if removed := p.remove(); err == nil {
			err = removed
		}
	}()
	if what != "" {
		p.announce(s, what)
	}
	return do(p.Dir(), p)
}
