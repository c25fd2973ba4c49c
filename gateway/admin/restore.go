package admin

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lectern/gateway/config"
	"lectern/internal/durable"
	"lectern/store"
	"lectern/store/evolve"
)

// Directories of a restore in the data directory. Restore unpacks and checks the backup in restoringName, renames that
// to restoredName, and then moves the files to where the server reads them. If a restore is interrupted after it has
// renamed the directory, the next process that locks the data directory finishes it.
const (
	restoringName = ".restoring"
	restoredName  = ".restored"
)

var (
	errNoBackup = errors.New("this is not a backup made by lectern backup")
	errCutOff   = errors.New("it is cut off; take another one")
)

// Restore replaces the store and the uploads by those of a backup. It moves the former ones into a directory beside
// them and returns that directory's path, or "" if there were none. While a server runs, or if the backup is incomplete
// or does not fit the definitions, Restore fails and changes nothing.
func (d *Directory) Restore(backup io.Reader) (kept string, err error) {
	return d.replace(func(dir string, _ *config.Definition) error {
		if err := unpack(backup, dir); err != nil {
			return fmt.Errorf("read the backup: %w", err)
		}
		return nil
	})
}

// replace replaces the store and the uploads by those that restore writes into a directory.
func (d *Directory) replace(restore func(dir string, def *config.Definition) error) (kept string, err error) {
	data, err := d.lockStopped(Lock)
	if err != nil {
		return "", err
	}
	defer data.Release()
	if err := d.refuseRestore(); err != nil {
		return "", err
	}
	def, err := d.Load()
	if err != nil {
		return "", err
	}

	restoring := data.Join(restoringName)
	if err := os.RemoveAll(restoring); err != nil {
		return "", err
	}
	defer os.RemoveAll(restoring)
	if err := restore(restoring, def); err != nil {
		return "", err
	}
	if err := d.checkStore(filepath.Join(restoring, StoreName), def); err != nil {
		return "", fmt.Errorf("check the backup: %w", err)
	}
	return data.swapIn(restoring)
}

// refuseRestore returns an error for the directory of a replica, and for that of a node of a cluster: the other nodes
// would not get what was restored.
func (d *Directory) refuseRestore() error {
	if node, err := d.IsNode(); err != nil || node {
		return errors.Join(err,
			fmt.Errorf("%s is a node of a cluster, all nodes of which have the same content: stop all of them, "+
				"move everything out of %s but the certificates and keys in cluster/, restore the backup, "+
				"serve this node so that it begins a cluster, and let the others join anew", d.Dir, d.DataPath()))
	}
	return d.RefuseChanges()
}

// swapIn replaces the store and the uploads by those in a directory, whose files are durable. It returns the directory
// that keeps the former ones, or "" if there were none.
func (d *DataDir) swapIn(restoring string) (kept string, err error) {
	aside, err := d.asideForRestore(time.Now())
	if err != nil {
		return "", err
	}
	if err := WriteFile(filepath.Join(restoring, asideName),
		func(w io.Writer) error { _, err := io.WriteString(w, aside); return err }); err != nil {
		return "", err
	}
	if err := syncTree(restoring); err != nil {
		return "", err
	}
	if err := os.Rename(restoring, d.Join(restoredName)); err != nil {
		return "", err
	}
	if err := durable.SyncDir(d.Path); err != nil {
		return "", err
	}
	if err := finishRestore(d.Path); err != nil {
		return "", err
	}
	if _, err := os.Stat(d.Join(aside)); err != nil {
		return "", nil
	}
	return d.Join(aside), nil
}

// asideForRestore returns an unused name for the directory that is to keep the replaced files.
func (d *DataDir) asideForRestore(now time.Time) (string, error) {
	first := "before-restore-" + now.UTC().Format("20060102T150405Z")
	name := first
	for n := 2; ; n++ {
		switch _, err := os.Lstat(d.Join(name)); {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
		name = first + "-" + strconv.Itoa(n)
	}
}

// asideName is a file in the restored directory. It holds the name of the directory that is to keep the replaced files.
const asideName = "aside"

// finishRestore moves the files of a restored backup to where the server reads them. It can be interrupted and
// repeated: a file that is no longer in the restored directory has been moved already.
func finishRestore(data string) error {
	restored := filepath.Join(data, restoredName)
	aside, err := os.ReadFile(filepath.Join(restored, asideName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish the restore that was interrupted: %w", err)
	}
	for _, name := range []string{UploadsName, StoreName, store.MarkerPath(StoreName)} {
		if err := moveIn(filepath.Join(restored, name), filepath.Join(data, name),
			filepath.Join(data, filepath.Base(strings.TrimSpace(string(aside))))); err != nil {
			return fmt.Errorf("finish the restore that was interrupted: %w", err)
		}
	}
	if err := durable.SyncDir(data); err != nil {
		return err
	}
	return os.RemoveAll(restored)
}

// moveIn renames the path from to the path to. If a file or directory is there already, it first moves that into the
// directory aside.
func moveIn(from, to, aside string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(to); err == nil {
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return err
		}
		if err := os.Rename(to, filepath.Join(aside, filepath.Base(to))); err != nil {
			return err
		}
	}
	return os.Rename(from, to)
}

// unpack writes the files of a backup below dir and compares them with the backup's checksums.
func unpack(backup io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, UploadsName), 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive, sums := tar.NewReader(backup), map[string]string{}
	for first := true; ; first = false {
		head, err := archive.Next()
		if err != nil {
			if first {
				return errNoBackup
			}
			return errCutOff
		}
		switch {
		case first:
			if err := checkBackupHead(head, archive, sums); err != nil {
				return err
			}
		case head.Name == checksumsAt:
			return compareSums(archive, sums)
		default:
			if err := unpackFile(root, head, archive, sums); err != nil {
				return err
			}
		}
	}
}

func checkBackupHead(head *tar.Header, r io.Reader, sums map[string]string) error {
	var h backupHead
	text, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil || head.Name != backupHeadAt || json.Unmarshal(text, &h) != nil || h.Format != backupFormat {
		return errNoBackup
	}
	if h.Version != backupVersion {
		return fmt.Errorf("it is of version %d and this program reads version %d; "+
			"restore it with the one that made it (%s)", h.Version, backupVersion, h.By)
	}
	sum := sha256.New()
	sum.Write(text)
	sums[head.Name] = hexSum(sum)
	return nil
}

// isBackedUp reports whether a backup may have a file of this name. Hidden directories of uploads are those of files
// that are not complete, with notes on what the next start does about them; Backup leaves them out.
func isBackedUp(name string) bool {
	upload, isUpload := strings.CutPrefix(name, UploadsName+"/")
	return fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) &&
		(name == StoreName || isUpload && !isHidden(path.Dir(upload)))
}

// isHidden reports whether a file, or a directory above it, has a name that begins with a dot.
func isHidden(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || strings.Contains(name, "/."))
}

// unpackFile writes one file of a backup. No name in the backup can make it write outside root. Hidden files, which
// former versions added to backups, are no uploads, and are left out.
func unpackFile(root *os.Root, head *tar.Header, r io.Reader, sums map[string]string) error {
	name := head.Name
	if head.Typeflag != tar.TypeReg || !isBackedUp(name) {
		return fmt.Errorf("%q does not belong in a backup", name)
	}
	if isHidden(name) {
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return errCutOff
		}
		sums[name] = hexSum(sum)
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), r)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errCutOff
		}
		return err
	}
	sums[head.Name] = hexSum(sum)
	return nil
}

func compareSums(r io.Reader, got map[string]string) error {
	var want map[string]string
	if err := json.NewDecoder(io.LimitReader(r, 1<<30)).Decode(&want); err != nil {
		return errCutOff
	}
	if want[StoreName] == "" || !maps.Equal(want, got) {
		return errors.New("it is damaged: what it holds differs from its checksums; take another one")
	}
	return nil
}

// checkStore opens the store of a backup as a server would, reads all of it for damage, begins a new epoch in its log,
// and closes it.
func (d *Directory) checkStore(path string, def *config.Definition) error {
	st, err := d.openRestored(path, def)
	if err != nil {
		return err
	}
	err = st.Check()
	if err == nil {
		by := store.WithPrincipal(context.Background(), store.Principal{Kind: "command", Name: "restore"})
		err = st.BeginEpoch(by) // what comes now differs from what followed the backup
	}
	return errors.Join(err, st.Close())
}

// openRestored opens the store of a backup as a server would.
func (d *Directory) openRestored(path string, def *config.Definition) (*store.Store, error) {
	st, err := d.OpenStore(path, def, store.Options{NoUpgradeCopy: true}) // the backup is the copy
	var refused *evolve.DefinitionError
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("it was taken under other definitions; restore it with those, then migrate: %w", err)
	}
	return st, err
}

// syncTree makes the names of the files below dir durable. Their contents must be durable already.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return durable.SyncDir(path)
	})
}
