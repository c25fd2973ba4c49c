package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"lectern/documents/misfits"
	"lectern/gateway/config"
	"lectern/internal/shell"
	"lectern/store"
	"lectern/store/evolve"
)

// A Directory administers a project by its path, whether or not a server runs on it.
type Directory struct {
	Dir     string // the project's directory
	Data    string // the data directory; "" is data/ in Dir
	Program string // the name of the program in suggested commands; "" is lectern
	// Load reads the files of the project. The error is a yamlfile.Problems if they have problems.
	Load func() (*config.Definition, error)
	// Upgrading is called before the store is brought to a newer format, unless the options of OpenStore say what to
	// call; nil: nothing is.
	Upgrading func(store.Upgrade)
	// Open opens the project in this process. The error wraps ErrBusy if another process uses the data directory.
	Open func(context.Context) (Project, error)
}

// DataPath returns the path of the data directory.
func (d *Directory) DataPath() string { return cmp.Or(d.Data, filepath.Join(d.Dir, "data")) }

// Administer opens the project: through the control socket of the server that runs on the data directory, or else in
// this process.
func (d *Directory) Administer(ctx context.Context) (Project, error) {
	var p Project
	r, err := d.server(ctx, func() (err error) {
		p, err = d.Open(ctx)
		return err
	})
	if r != nil {
		return r, nil
	}
	return p, err
}

// server connects to the server that runs on the data directory. If none runs, it calls open, which locks the
// directory, and returns nil.
func (d *Directory) server(ctx context.Context, open func() error) (*remote, error) {
	if r, err := dial(ctx, d.DataPath()); err == nil {
		return r, nil
	}
	err := open()
	if errors.Is(err, ErrBusy) {
		if r, dialErr := dial(ctx, d.DataPath()); dialErr == nil { // a server has started since the first attempt
			return r, nil
		}
	}
	return nil, err
}

// lockStopped calls lock to lock the data directory. If another process uses the directory, the error says which.
func (d *Directory) lockStopped(lock func(string) (*DataDir, error)) (*DataDir, error) {
	data, err := lock(d.DataPath())
	if errors.Is(err, ErrBusy) {
		err = BusyError(d.DataPath())
	}
	return data, err
}

// A maintainer works on a store that the project may not be able to open, since it is damaged or does not fit the
// definitions.
type maintainer interface {
	problems(ctx context.Context) ([]string, error)
	foresee(ctx context.Context, d *config.Definition) (Forecast, error)
	migrate(ctx context.Context, ms evolve.Migrations, progress func(what string, done, total int)) (
		evolve.Removed, error)
}

var (
	_ maintainer = (*remote)(nil)
	_ maintainer = files{}
)

// files is the maintainer for a data directory on which no server runs.
type files struct {
	*Directory
	data *DataDir
}

// maintain calls f with the server that runs on the data directory. If there is none, it locks the directory by lock
// and calls f with the files.
func (d *Directory) maintain(ctx context.Context, lock func(string) (*DataDir, error), f func(maintainer) error) error {
	var data *DataDir
	r, err := d.server(ctx, func() (err error) {
		data, err = d.lockStopped(lock)
		return err
	})
	switch {
	case err != nil:
		return err
	case r != nil:
		defer r.Close()
		return f(r)
	}
	return errors.Join(f(files{d, data}), data.Release())
}

// Problems reads all of the store and lists what is damaged in it. It changes nothing.
func (d *Directory) Problems(ctx context.Context) (problems []string, err error) {
	err = d.maintain(ctx, lockAsIs, func(m maintainer) error {
		problems, err = m.problems(ctx)
		return err
	})
	return problems, err
}

func (f files) problems(ctx context.Context) ([]string, error) {
	return texts(store.ProblemsOf(ctx, f.data.Join(StoreName)))
}

func texts(list []error, err error) (texts []string, _ error) {
	for _, problem := range list {
		texts = append(texts, problem.Error())
	}
	return texts, err
}

// OpenStore opens the store file at path with the definitions in def. If the content does not fit them, the error names
// the commands that migrate it.
func (d *Directory) OpenStore(path string, def *config.Definition, o store.Options) (*store.Store, error) {
	o.LockTimeout = fileLockWait
	if o.Upgrading == nil {
		o.Upgrading = d.Upgrading
	}
	o.DefaultLocale, o.Log = def.Settings.I18n.DefaultLocale, def.Settings.Server.Log.Limits()
	o.Answers = def.Settings.Server.Idempotency.Limits()
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

// Command returns the beginning of a command line for this project, such as "lectern migrate DIR".
func (d *Directory) Command(command string) string {
	line := cmp.Or(d.Program, "lectern") + " " + command + " " + shell.Path(d.Dir)
	if d.Data != "" {
		line += " --data " + shell.Path(d.Data)
	}
	return line
}

// WithCommand returns err. If err is an *evolve.DefinitionError, it sets the command line that its hints begin with.
func (d *Directory) WithCommand(err error) error {
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		refused.Command = d.Command(d.settling())
	}
	return err
}

// settling returns the name of the command that settles content for which changed definitions have no place. Only
// deploy changes the content of a cluster. If it cannot be told whether there is one, it is migrate, which then fails
// for the same reason.
func (d *Directory) settling() string {
	if node, err := d.IsNode(); err == nil && node {
		return "deploy"
	}
	return "migrate"
}

// FillCommand returns the command that fills the missing value that m reports, or "" if no command can.
func (d *Directory) FillCommand(m misfits.Misfit) string {
	if !m.Fillable {
		return ""
	}
	line := d.Command("migrate") + " " + evolve.FillCall(m.Attribute).String()
	if !m.Default {
		line += " VALUE"
	}
	return line
}

// DropLocaleCommand returns the command that removes the versions in the locale of m, which is not configured.
func (d *Directory) DropLocaleCommand(m misfits.Misfit) string {
	return d.Command(d.settling()) + " " + evolve.DropLocaleCall(m.Type, m.Locale).String()
}
