// Package movein makes a Lectern project from a Strapi 5 project and its content.
//
// The content comes from an archive of `strapi export`. It goes through the line format of `lectern export`
// (docs/export.md) into a new project:
//
//	report, err := movein.Move(ctx, movein.Options{Source: "export.tar.gz", Dir: "blog"})
//
// The project is built in a staging directory beside its place and put there by one rename, so there is either a
// complete project or none. A run that was killed goes on where it stopped. At the end everything in the source is
// counted against what the new store holds; whatever did not come along is in the Report with the reason, and any other
// difference is an error.
//
// Reading the source: movein.go holds the phases, and rehearse.go those of a dry run. index.go is the first pass over
// an archive and spool.go the second; targets.go says what a link of Strapi is here. files.go copies uploaded files,
// settings.go and roles.go write configuration. compare.go compares the store with the source. staging.go is the
// directory that all of it happens in.
package movein

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lectern/contenttypes"
	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/definitions"
)

// Options say what to move, and where to.
type Options struct {
	Source  string // a Strapi project, an archive, or a directory with an unpacked archive
	Archive string // the content of a Strapi project; "" if Source is an archive, or if only the definitions come along
	Key     string // decrypts the archive
	Dir     string // the project to make
	Into    bool   // add the content to the project at Dir, which has the same types, instead of making one
	DryRun  bool   // rehearse all of it in a temporary directory; nothing is written at Dir
	Notes   []Note // what is known to be missing in the source; the report has them
	Misfits Policy // what becomes of values that break a rule of their definition; the report lists them

	Project  gateway.Options // how the new project is opened
	Progress func(Progress)  // may be nil
}

// Progress is how far a phase is.
type Progress struct {
	Phase       string
	Done, Total int // Total is 0 if it is not known
}

// A move is a running Move.
type move struct {
	ctx     context.Context
	o       Options
	source  source
	staging *staging
	counter *counter
	notes   *notes
	report  Report
	files   files
}

// Move makes the project at o.Dir. If the error is a *Difference, the source and the store differ, and nothing is at
// o.Dir.
func Move(ctx context.Context, o Options) (report *Report, err error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	m := &move{ctx: ctx, o: o, counter: newCounter(), notes: newNotes()}
	m.notes.resume(o.Notes)
	if m.source.tree, m.source.path, err = paths(o); err != nil {
		return nil, err
	}
	if o.DryRun {
		return m.rehearse()
	}
	if m.staging, err = openStaging(o.Dir); err != nil {
		return nil, err
	}
	if m.staging.placed() {
		return &m.staging.journal.Report, m.staging.remove()
	}
	err = m.build()
	var difference *Difference
	switch {
	case err == nil:
		return &m.report, m.staging.remove()
	case m.staging.journal.Done == nothingDone:
		return nil, errors.Join(err, m.staging.remove())
	case errors.As(err, &difference) && !o.Into:
		return &m.report, errors.Join(
			err, fmt.Errorf("nothing is in %s; what was built is in %s until the next run on another source", o.Dir,
				m.staging.path), m.staging.close())
	}
	return nil, errors.Join(err, m.staging.close())
}

// build makes the project in the staging directory and puts it in place.
func (m *move) build() error {
	fits := checkVacant
	if m.o.Into {
		fits = func(string) error { return m.directory().RefuseChanges() }
	}
	if err := fits(m.o.Dir); err != nil {
		return err
	}
	identity, err := m.source.identify(fmt.Sprint(m.o.Project.Version, m.o.Into, m.o.Misfits))
	if err != nil {
		return err
	}
	if err := m.staging.begin(identity); err != nil {
		return err
	}
	if err := m.source.openArchive(m.ctx, m.o.Key, m.staging.path); err != nil {
		return err
	}
	defer m.source.close()
	m.report = m.staging.journal.Report
	m.counter.resume(m.report.Census)
	m.notes.resume(m.report.Notes)
	for _, p := range []struct {
		done phase
		do   func() error
	}{{contentRead, m.read}, {filesCopied, m.copyFiles}, {contentImported, m.load}, {allChecked, m.check}} {
		if m.staging.journal.Done >= p.done {
			continue
		}
		if err := p.do(); err != nil {
			return err
		}
		m.report.Census, m.report.Notes = m.counter.census(), m.notes.list()
		m.staging.journal.Report = m.report
		m.o.Progress(Progress{Phase: "saving"})
		if err := m.staging.finish(p.done); err != nil {
			return err
		}
	}
	if m.o.Into || m.o.DryRun {
		return nil
	}
	m.o.Progress(Progress{Phase: "finishing"})
	err = m.staging.place()
	m.o.Progress(Progress{Phase: "finishing"})
	return err
}

// project returns the directory of the project that is filled: where it is built or rehearsed, or the one that content
// is added to.
func (m *move) project() string {
	if m.o.Into && !m.o.DryRun {
		return m.o.Dir
	}
	return m.staging.join(projectName)
}

// directory returns the project for administration.
func (m *move) directory() *admin.Directory { return gateway.Directory(m.project(), m.o.Project) }

// uploads returns the directory of uploaded files. A dry run that adds to a project compares with its files.
func (m *move) uploads() string {
	d := m.directory()
	if m.o.Into {
		d = m.target()
	}
	return filepath.Join(d.DataPath(), admin.UploadsName)
}

// read writes the files of a new project, and the lines of its content.
func (m *move) read() error {
	if !m.o.Into {
		if err := os.RemoveAll(m.project()); err != nil {
			return err
		}
	} else if m.o.DryRun {
		if err := m.copyTarget(); err != nil {
			return err
		}
	}
	spool, err := os.Create(m.staging.join(spoolName))
	if err != nil {
		return err
	}
	defer spool.Close()
	w := bufio.NewWriterSize(spool, 256<<10)
	if m.o.Into {
		err = m.convertInto(m.staging.join("definitions"), w)
	} else {
		err = errors.Join(m.convert(m.project(), w), syncTree(m.project()))
	}
	m.staging.journal.Files = m.files.wanted
	return errors.Join(err, w.Flush(), spool.Sync())
}

// convert writes the definitions and settings of the source to dir, and its content as lines to w.
func (m *move) convert(dir string, w *bufio.Writer) error {
	var set settings
	if err := m.readSettings(&set); err != nil {
		return err
	}
	project, err := m.define(dir)
	if err != nil {
		return err
	}
	definition, err := gateway.Load(dir, m.o.Project.Extensions)
	if err != nil {
		return err
	}
	roles := newRoles()
	if m.source.archive != nil {
		if err := m.spool(definition.Definition, &set, roles, w); err != nil {
			return err
		}
	}
	set.write(project, m.notes)
	m.report.Roles = roles.list(definition.Model, m.notes)
	writeRoles(project, m.report.Roles)
	if err := os.RemoveAll(dir); err != nil { // Write replaces no file
		return err
	}
	return project.Write(dir)
}

// readSettings reads the settings in the archive.
func (m *move) readSettings(set *settings) error {
	if m.source.archive == nil {
		return nil
	}
	for line, err := range m.source.archive.Configuration(m.ctx) {
		if err != nil {
			return err
		}
		set.add(line)
	}
	return nil
}

// define writes the definitions of the source to dir.
func (m *move) define(dir string) (*definitions.Converted, error) {
	var from definitions.Source
	if m.source.tree != "" {
		from.Tree = os.DirFS(m.source.tree)
	}
	if a := m.source.archive; a != nil {
		m.report.Version, m.report.ExportedAt = a.Metadata.Version, a.Metadata.CreatedAt
		from.Archive = func(schema func([]byte) error) error {
			for s, err := range a.Schemas(m.ctx) {
				if err != nil {
					return err
				}
				if err := schema(jsontree.Append(nil, s.Data)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	project, err := definitions.Convert(from)
	if err != nil {
		return nil, err
	}
	for _, n := range project.Notes {
		m.report.Definitions = append(m.report.Definitions, DefinitionNote{n.Level.String(), n.String()})
	}
	return project, project.Write(dir)
}

// spool writes the content of the archive as lines.
func (m *move) spool(definition *config.Definition, set *settings, roles *roles, w *bufio.Writer) error {
	bucket := definition.Settings.Upload.S3 != nil
	x := newIndex(definition.Model, set.defaultLocale(), m.counter, m.notes, newMisfits(m.o.Misfits))
	rows, elsewhere := 0, false
	for e, err := range m.source.archive.Entities(m.ctx) {
		if err != nil {
			return err
		}
		switch e.Type {
		case contenttypes.FileUID:
			elsewhere = elsewhere || isElsewhere(e.Data)
			x.addEntity(e)
		case contenttypes.LocaleUID:
			set.addLocale(e.Data)
		case contenttypes.PermissionUID, apiTokenUID:
			roles.addEntity(e)
		case contenttypes.RoleUID:
			roles.addEntity(e)
			x.addEntity(e)
		default:
			x.addEntity(e)
		}
		rows++
		m.o.Progress(Progress{"reading documents", rows, 0})
	}
	links := 0
	for l, err := range m.source.archive.Links(m.ctx) {
		if err != nil {
			return err
		}
		if !roles.addLink(l) {
			x.addLink(l)
		}
		links++
		m.o.Progress(Progress{"reading links", links, 0})
	}
	x.sort()
	m.files = files{wanted: map[string]fileSize{}, notes: m.notes, has: map[string]bool{}}
	if elsewhere && !bucket { // with a bucket in the settings, files stay there
		if err := m.eachAsset(func(a archive.Asset) error { m.files.has[a.Name] = true; return nil }); err != nil {
			return err
		}
	}
	sp := &spooler{index: x, w: w, files: &m.files, now: time.Now().UTC().Format(contenttypes.TimeFormat),
		unique: map[uint64]bool{}}
	done := 0
	for e, err := range m.source.archive.Entities(m.ctx) {
		if err != nil {
			return err
		}
		if err := sp.addEntity(e); err != nil {
			return err
		}
		done++
		m.o.Progress(Progress{"writing documents", done, rows})
	}
	sp.finish()
	m.report.Misfits = sp.misfits.list()
	return sp.misfits.refusal()
}

// load imports the lines into the store of the project.
func (m *move) load() error {
	if !m.o.Into {
		if err := m.clearStore(); err != nil {
			return err
		}
	}
	return m.open(func(p admin.Project) error {
		if own, ok := p.(*gateway.Project); ok && !m.o.Into {
			if err := m.setRoles(own); err != nil {
				return err
			}
		}
		spool, err := os.Open(m.staging.join(spoolName))
		if err != nil {
			return err
		}
		defer spool.Close()
		_, err = p.Import(m.ctx, spool, transfer.ImportOptions{Keep: true, KeepTaken: m.o.Misfits != KeepOrStop,
			Progress: func(at transfer.ImportProgress) {
				m.o.Progress(Progress{at.Phase, at.Done, at.Total})
			}})
		if err != nil {
			return m.explain(err)
		}
		return nil
	})
}

// clearStore removes what an import that was killed has stored. The uploads stay.
func (m *move) clearStore() error {
	data := m.directory().DataPath()
	entries, err := os.ReadDir(data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != admin.UploadsName {
			if err := os.RemoveAll(filepath.Join(data, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// explain returns the error of an import. Lines that were refused become a Difference.
func (m *move) explain(err error) error {
	var problems transfer.LineProblems
	if !errors.As(err, &problems) {
		return fmt.Errorf("import the content: %w", err)
	}
	lines, readErr := linesOf(m.staging.join(spoolName), problems)
	if m.o.Into && m.o.Misfits == KeepOrStop {
		lines = append(lines, "--misfits keep adds unique values that documents of the project have already")
	}
	return errors.Join(&Difference{lines}, readErr)
}

// open opens the project that is filled for the time of do, or reaches the server that has it open.
func (m *move) open(do func(admin.Project) error) error {
	return administer(m.ctx, m.directory(), do)
}

func administer(ctx context.Context, d *admin.Directory, do func(admin.Project) error) error {
	p, err := d.Administer(ctx)
	if err != nil {
		return fmt.Errorf("open the project: %w", err)
	}
	return errors.Join(do(p), p.Close())
}
