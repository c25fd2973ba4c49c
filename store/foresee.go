package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"lectern/contenttypes"
)

// An Outlook says what Open would do with content for a model that it does not refuse.
type Outlook struct {
	Converts bool // what content was written under is not what the model says
	// First is what the next Open does before it compares, where the content has no definitions to compare with until then.
	First string
}

// Foresee says what Open would do with the store file at path for a model, and refuses with the *DefinitionError with which Open
// would. It changes nothing. A file that is not there is one without content; one that a process has open is ErrLocked.
func Foresee(path string, model *contenttypes.Model, opts Options) (o Outlook, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return o, checkThere(path)
	}
	db, err := openBolt(path, bolt.Options{Timeout: max(opts.LockTimeout, 50*time.Millisecond), ReadOnly: true}, os.Open)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return newFile(db, path).foresee(model, opts)
}

// Foresee says and refuses what Redefine would.
func (s *Store) Foresee(model *contenttypes.Model, opts Options) (Outlook, error) {
	return s.file.foresee(model, opts)
}

// foresee reads one state of the file, definitions and content.
func (s *file) foresee(model *contenttypes.Model, opts Options) (o Outlook, err error) {
	err = s.read(func(tx *bolt.Tx) error {
		meta := s.meta(tx)
		if meta.pages == nil {
			return fmt.Errorf("open store %s: this is no Lectern store", s.path)
		}
		switch f := getNumber(meta, keyFormat); {
		case f > formatNumber:
			return fmt.Errorf("open store %s: format %d, this version of Lectern reads format %d", s.path, f, formatNumber)
		case f < formatNumber:
			o.First = fmt.Sprintf("brings the store from format %d to format %d", f, formatNumber)
			return nil
		}
		cat, locales, err := loadCatalog(meta)
		if err != nil {
			return err
		}
		s.locales.current.CompareAndSwap(nil, locales)
		left, err := loadPending(meta)
		switch {
		case err != nil:
			return err
		case len(left.Steps) > 0:
			o.First = "goes on with a conversion that was interrupted"
			return nil
		case !changed(model, cat):
			return nil
		}
		o.Converts = true
		_, err = s.planIn(tx, model, cat, opts)
		return err
	})
	return o, err
}
