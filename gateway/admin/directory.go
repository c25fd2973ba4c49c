package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"lectern/documents"
	"lectern/gateway/config"
	"lectern/internal/shell"
	"lectern/store"
	"lectern/store/evolve"
)

// A Directory is a project as it lies on disk, with its data directory.
type Directory struct {
	Dir     string // of the project
	Data    string // the data directory; "" is data/ in Dir
	Program string // what hints call the program; "" is lectern
	// Load reads the files of the project. The error is a yamlfile.Problems if they have problems.
	Load func() (*config.Definition, error)
	// Open opens the project in this process. The error wraps ErrBusy if another process uses the data directory.
	Open func(context.Context) (Project, error)
}

// DataPath returns the path of the data directory.
func (d *Directory) DataPath() string { return cmp.Or(d.Data, filepath.Join(d.Dir, "data")) }

// Administer opens the project: through the control socket of the server that runs on the data directory, or else in this process.
func (d *Directory) Administer(ctx context.Context) (Project, error) {
	if r, err := dial(ctx, d.DataPath()); err == nil {
		return r, nil
	}
	p, err := d.Open(ctx)
	if errors.Is(err, ErrBusy) {
		if r, dialErr := dial(ctx, d.DataPath()); dialErr == nil { // a server has started in the meantime
			return r, nil
		}
	}
	return p, err
}

// A maintainer works on a store that need not be one that the project could be opened with.
type maintainer interface {
	problems(ctx context.Context) ([]string, error)
	foresee(ctx context.Context, d *config.Definition) (Forecast, error)
	migrate(ctx context.Context, ms evolve.Migrations, progress func(what string, done, total int)) (evolve.Removed, error)
}

var (
	_ maintainer = (*remote)(nil)
	_ maintainer = files{}
)

// files is the maintainer of a data directory that no server runs on.
type files struct {
	*Directory
	data *DataDir // locked
}

// maintain calls f with the server that runs on the data directory, or else with the files, which lock has locked.
func (d *Directory) maintain(ctx context.Context, lock func(string) (*DataDir, error), f func(maintainer) error) error {
	r, err := dial(ctx, d.DataPath())
	if err != nil {
		var data *DataDir
		data, err = lock(d.DataPath())
		if err == nil {
			return errors.Join(f(files{d, data}), data.Release())
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		if r, err = dial(ctx, d.DataPath()); err != nil { // no server has started in the meantime
			return BusyError(d.DataPath())
		}
	}
	defer r.Close()
	return f(r)
}

// Problems reads the whole store and lists what is wrong with it. It changes nothing.
func (d *Directory) Problems(ctx context.Context) (problems []string, err error) {
	err = d.maintain(ctx, lockAsIs, func(m maintainer) error {
		problems, err = m.problems(ctx)
		return err
	})
	return problems, err
}

func (f files) problems(context.Context) ([]string, error) {
	return texts(store.ProblemsOf(f.data.Join(StoreName)))
}

func (r *remote) problems(ctx context.Context) (problems []string, err error) {
	return problems, r.get(ctx, "/problems", &problems)
}

func texts(list []error, err error) (texts []string, _ error) {
	for _, problem := range list {
		texts = append(texts, problem.Error())
	}
	return texts, err
}

// OpenStore opens the store file at path for the definitions of the project. If it refuses them, the error names the commands that
// settle that for this project.
func (d *Directory) OpenStore(path string, def *config.Definition, o store.Options) (*store.Store, error) {
	o.LockTimeout = fileLockWait
	o.DefaultLocale = def.Settings.I18n.DefaultLocale
	st, err := store.Open(path, def.Model, o)
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		return nil, d.WithCommand(err)
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("open the store: %w", err))
	}
	return st, nil
}

// Command returns the beginning of a command line that works on this project.
func (d *Directory) Command(command string) string {
	line := cmp.Or(d.Program, "lectern") + " " + command + " " + shell.Path(d.Dir)
	if d.Data != "" {
		line += " --data " + shell.Path(d.Data)
	}
	return line
}

// WithCommand sets the command line for this project in the error of a store that refuses definitions.
func (d *Directory) WithCommand(err error) error {
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		refused.Command = d.Command("migrate")
	}
	return err
}

// FillCommand returns the command that fills a missing value, or "" if none can.
func (d *Directory) FillCommand(m documents.Misfit) string {
	if !m.Fillable {
		return ""
	}
	line := d.Command("migrate") + " " + evolve.FillCall(m.Attribute).String()
	if !m.Default {
		line += " VALUE"
	}
	return line
}

// DropLocaleCommand returns the command that removes the versions of a type in a locale.
func (d *Directory) DropLocaleCommand(m documents.Misfit) string {
	return d.Command("migrate") + " " + evolve.DropLocaleCall(m.Type, m.Locale).String()
}
