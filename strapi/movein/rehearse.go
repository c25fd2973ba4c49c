package movein

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
)

// rehearse does what Move does in a temporary directory, which it removes. Files are compared and not copied. With
// Into, the content is added to a copy of the project.
func (m *move) rehearse() (report *Report, err error) {
	temp, err := os.MkdirTemp("", "lectern-move-in-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if m.staging, err = openStaging(filepath.Join(temp, projectName)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.staging.close()) }()
	err = m.build()
	var difference *Difference
	if err != nil && !errors.As(err, &difference) {
		return nil, err
	}
	m.report.Census, m.report.Notes = m.counter.census(), m.notes.list()
	return &m.report, err
}

// target returns the project that content is added to, for administration. A dry run leaves it as it is.
func (m *move) target() *admin.Directory { return gateway.Directory(m.o.Dir, m.o.Project) }

// copyTarget copies the project that content is added to, without its uploaded files. A server may run on it.
func (m *move) copyTarget() error {
	dir := m.project()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, name := range []string{"content-types", "components", "config"} {
		from := filepath.Join(m.o.Dir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(from)); err != nil {
			return fmt.Errorf("copy the project: %w", err)
		}
	}
	variables, err := os.ReadFile(filepath.Join(m.o.Dir, ".env"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".env"), variables, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy the project: %w", err)
	}
	return m.copyContent()
}

// copyContent copies the content of the project that content is added to, into its copy.
func (m *move) copyContent() error {
	content, err := os.Create(m.staging.join("target.jsonl"))
	if err != nil {
		return err
	}
	defer content.Close()
	m.o.Progress(Progress{Phase: "copying the project"})
	err = administer(m.ctx, m.target(), func(p admin.Project) error { return p.Export(m.ctx, content) })
	if err != nil {
		return fmt.Errorf("copy the project: %w", err)
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err = m.open(func(p admin.Project) error {
		_, err := p.Import(m.ctx, content, transfer.ImportOptions{Keep: true, KeepTaken: true})
		return err
	})
	if err != nil {
		return fmt.Errorf("copy the project: %w", err)
	}
	return nil
}
