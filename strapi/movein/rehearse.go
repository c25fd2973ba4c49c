package movein

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// rehearse reads the source as Move does, and writes nothing but temporary files, which it removes.
func (m *move) rehearse() (report *Report, err error) {
	temp, err := os.MkdirTemp("", "lectern-move-in-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := m.source.openArchive(m.ctx, m.o.Key, temp); err != nil {
		return nil, err
	}
	defer m.source.close()
	convert := m.convert
	if m.o.Into {
		convert = m.convertInto
	}
	if err := convert(filepath.Join(temp, projectName), bufio.NewWriter(io.Discard)); err != nil {
		return nil, err
	}
	m.report.Census, m.report.Notes = m.counter.census(), m.notes.list()
	m.report.Census.Files.Source = len(m.files.wanted)
	return &m.report, nil
}
