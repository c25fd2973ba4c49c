package admin

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

	"lectern/gateway/config"
	"lectern/store"
	"lectern/store/evolve"
)

// A backup is unpacked into restoringName in the data directory and checked there. Once it is complete the directory is renamed to
// restoredName, and its parts are moved into place one by one. A restore that is interrupted after the renaming is finished by the
// next process that locks the data directory.
const (
	restoringName = ".restoring"
	restoredName  = ".restored"
)

// Restore replaces the store and the uploads by those of a backup. It moves the former ones into a directory beside them and returns
// its path, or "" if there were none. It fails and changes nothing while a server runs, or if the backup is incomplete or does not fit
// the definitions.
func (d *Directory) Restore(backup io.Reader) (kept string, err error) {
	def, err := d.Load()
	if err != nil {
		return "", err
	}
	data, err := Lock(d.DataPath())
	if errors.Is(err, ErrBusy) {
		return "", BusyError(d.DataPath())
	}
	if err != nil {
		return "", err
	}
	defer data.Release()

	restoring := data.Join(restoringName)
	if err := os.RemoveAll(restoring); err != nil {
		return "", err
	}
	defer os.RemoveAll(restoring)
	if err := unpack(backup, restoring); err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	if err := d.checkStore(filepath.Join(restoring, StoreName), def); err != nil {
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
	if err := os.Rename(restoring, data.Join(restoredName)); err != nil {
		return "", err
	}
	if err := syncDirectory(data.Path); err != nil {
		return "", err
	}
	if err := finishRestore(data.Path); err != nil {
		return "", err
	}
	if _, err := os.Stat(data.Join(aside)); err != nil {
		return "", nil
	}
	return data.Join(aside), nil
}

// asideForRestore returns the name of a directory that does not exist yet, for what a restore replaces.
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

// asideName is the file within the restored directory that names the directory for what is replaced.
const asideName = "aside"

// finishRestore moves a restored backup into place. It can be interrupted anywhere and repeated: a part whose restored copy is
// gone is in place already.
func finishRestore(data string) error {
	restored := filepath.Join(data, restoredName)
	aside, err := os.ReadFile(filepath.Join(restored, asideName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("finish the restore that was begun: %w", err)
	}
	for _, name := range []string{UploadsName, StoreName, store.MarkerPath(StoreName)} {
		if err := moveIn(filepath.Join(restored, name), filepath.Join(data, name), filepath.Join(data, filepath.Base(strings.TrimSpace(string(aside))))); err != nil {
			return fmt.Errorf("finish the restore that was begun: %w", err)
		}
	}
	if err := syncDirectory(data); err != nil {
		return err
	}
	return os.RemoveAll(restored)
}

// moveIn renames from to place. It first moves what is at place into the directory aside.
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

// unpackFile writes one file. root keeps it below the directory, whatever its name is.
func unpackFile(root *os.Root, head *tar.Header, r io.Reader, sums map[string]string) error {
	name := filepath.FromSlash(head.Name)
	if head.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || head.Name != StoreName && !strings.HasPrefix(head.Name, UploadsName+"/") {
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
	if want[StoreName] == "" || !maps.Equal(want, got) {
		return errors.New("it is damaged: what it holds differs from its checksums; take another one")
	}
	return nil
}

// checkStore opens a store that is to be restored, as a server would, reads all of it and closes it again.
func (d *Directory) checkStore(path string, def *config.Definition) error {
	st, err := d.OpenStore(path, def, store.Options{})
	if err != nil {
		var refused *evolve.DefinitionError
		if errors.As(err, &refused) {
			return fmt.Errorf("it was taken under other definitions; restore it with those, then migrate: %w", err)
		}
		return err
	}
	return errors.Join(st.Check(), st.Close())
}

// syncTree makes the names of the files below dir durable. Their contents already are.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncDirectory(path)
	})
}
