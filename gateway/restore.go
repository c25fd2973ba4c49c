package gateway

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lectern/store"
	"lectern/store/evolve"
)

// Restoring happens in a directory of the data directory: it is filled and checked under its first name, gets its second when
// it is whole, and is then moved into place part by part. From the second name on a restore that was interrupted is
// finished by whoever locks the data directory next.
const (
	restoringName = ".restoring"
	restoredName  = ".restored"
)

// Restore replaces the store and the uploads of the project in dir by those of a backup. What they replace is kept in a
// directory beside them, whose path is returned ("" when there was nothing). It fails, and changes nothing, while a server runs, and when the backup
// is not whole or does not fit the definitions.
func Restore(dir string, backup io.Reader, o Options) (kept string, err error) {
	d, err := Load(dir, o.Extensions)
	if err != nil {
		return "", err
	}
	data, err := lockDataDir(o.dataPath(dir))
	if errors.Is(err, ErrBusy) {
		return "", busyError(o.dataPath(dir))
	}
	if err != nil {
		return "", err
	}
	defer data.release()

	restoring := data.join(restoringName)
	if err := os.RemoveAll(restoring); err != nil {
		return "", err
	}
	defer os.RemoveAll(restoring)
	if err := unpack(backup, restoring); err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	if err := d.checkStore(filepath.Join(restoring, storeName), o); err != nil {
		return "", fmt.Errorf("check the backup: %w", err)
	}
	aside, err := data.asideForRestore(time.Now())
	if err != nil {
		return "", err
	}
	if err := WriteFile(filepath.Join(restoring, asideName), func(w io.Writer) error { _, err := io.WriteString(w, aside); return err }); err != nil {
		return "", err
	}
	if err := syncTree(restoring); err != nil {
		return "", err
	}
	if err := os.Rename(restoring, data.join(restoredName)); err != nil {
		return "", err
	}
	if err := syncDirectory(data.path); err != nil {
		return "", err
	}
	if err := finishRestore(data.path); err != nil {
		return "", err
	}
	if _, err := os.Stat(data.join(aside)); err != nil {
		return "", nil
	}
	return data.join(aside), nil
}

// asideForRestore names a directory, which there is none of yet, for what a restore replaces.
func (d *dataDir) asideForRestore(now time.Time) (string, error) {
	first := "before-restore-" + now.UTC().Format("20060102T150405Z")
	name := first
	for n := 2; ; n++ {
		switch _, err := os.Lstat(d.join(name)); {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		}
		name = first + "-" + strconv.Itoa(n)
	}
}

// asideName is the file within the restored directory that names the directory for what is replaced.
const asideName = "aside"

// finishRestore moves what a whole restore left into place. Each step may be repeated, so that it can be interrupted
// anywhere: a part whose restored copy is gone is in place already.
func finishRestore(data string) error {
	restored := filepath.Join(data, restoredName)
	aside, err := os.ReadFile(filepath.Join(restored, asideName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish the restore that was begun: %w", err)
	}
	for _, name := range []string{uploadsName, storeName, store.MarkerPath(storeName)} {
		if err := moveIn(filepath.Join(restored, name), filepath.Join(data, name), filepath.Join(data, filepath.Base(strings.TrimSpace(string(aside))))); err != nil {
			return fmt.Errorf("finish the restore that was begun: %w", err)
		}
	}
	if err := syncDirectory(data); err != nil {
		return err
	}
	return os.RemoveAll(restored)
}

// moveIn renames from to place, and what was at place into the directory aside.
func moveIn(from, place, aside string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(place); err == nil {
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return err
		}
		if err := os.Rename(place, filepath.Join(aside, filepath.Base(place))); err != nil {
			return err
		}
	}
	return os.Rename(from, place)
}

// unpack writes the files of a backup below dir and compares them with its checksums.
func unpack(backup io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, uploadsName), 0o700); err != nil {
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
				return errors.New("this is not a backup made by lectern backup")
			}
			return errors.New("it is cut off; take another one")
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
		return errors.New("this is not a backup made by lectern backup")
	}
	if h.Version != backupVersion {
		return fmt.Errorf("it is of version %d and this program reads version %d; restore it with the one that made it (%s)", h.Version, backupVersion, h.By)
	}
	sum := sha256.New()
	sum.Write(text)
	sums[head.Name] = hexSum(sum)
	return nil
}

// unpackFile writes one file; root keeps it below the directory whatever its name says.
func unpackFile(root *os.Root, head *tar.Header, r io.Reader, sums map[string]string) error {
	name := filepath.FromSlash(head.Name)
	if head.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || head.Name != storeName && !strings.HasPrefix(head.Name, uploadsName+"/") {
		return fmt.Errorf("%q does not belong in a backup", head.Name)
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o700); err != nil {
			return err
		}
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
			return errors.New("it is cut off; take another one")
		}
		return err
	}
	sums[head.Name] = hexSum(sum)
	return nil
}

func compareSums(r io.Reader, got map[string]string) error {
	var want map[string]string
	if err := json.NewDecoder(io.LimitReader(r, 1<<30)).Decode(&want); err != nil {
		return errors.New("it is cut off; take another one")
	}
	if want[storeName] == "" || !maps.Equal(want, got) {
		return errors.New("it is damaged: what it holds differs from its checksums; take another one")
	}
	return nil
}

// checkStore opens a store that is to be restored, as a server would, reads all of it and closes it again.
func (d *Definition) checkStore(path string, o Options) error {
	st, err := d.openStore(path, o, store.Options{})
	if err != nil {
		var refused *evolve.DefinitionError
		if errors.As(err, &refused) {
			return fmt.Errorf("it was taken under other definitions; restore it with those, then migrate: %w", err)
		}
		return err
	}
	return errors.Join(st.Check(), st.Close())
}

// syncTree makes the names of the files below dir durable; the files are.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}
