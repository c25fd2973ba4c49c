package attack

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lectern/internal/servertest"
)

// TestReadOnlyDisk makes a file system read-only under a server, as the kernel does after an error of the disk. Reads
// must go on, and writes must be refused. When the disk is writable again, a start must bring back all that was
// acknowledged.
func TestReadOnlyDisk(t *testing.T) {
	disk := newImage(t, "ext4", 48)
	p := newProject(t, filepath.Join(disk.dir, "data"), noteFiles)
	s := p.serve()
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 20)
	disk.run(t, "mount -o remount,abort "+disk.dir)
	for range 3 {
		if a := n.add(t, 2000); !a.is(503, "ServiceUnavailableError") {
			t.Errorf("a write on a read-only disk: %d %s", a.status, a.body)
		}
	}
	if a, _, _ := s.upload(t, 1000); !a.is(503, "ServiceUnavailableError") {
		t.Errorf("an upload on a read-only disk: %d %s", a.status, a.body)
	}
	n.verify(t)
	s.health(t, "damaged")
	s.kill()
	if s := p.start(); s.base != "" || !strings.Contains(s.log.String(), "read-only file system") {
		t.Errorf("a start on a read-only disk: %s", s.log.String())
	}
	disk.run(t, fmt.Sprintf("umount %[1]s && e2fsck -fy %[2]s; mount -o loop %[2]s %[1]s", disk.dir, disk.image))
	s = p.serve()
	n.server = s
	n.verify(t)
	n.addSome(t, 3)
	s.stop(t)
}

// An image is a file system in a file.
type image struct{ dir, image string }

func newImage(t *testing.T, fileSystem string, megabytes int) image {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a file system")
	}
	m := image{t.TempDir(), filepath.Join(t.TempDir(), "image")}
	m.run(t, fmt.Sprintf("truncate -s %dm %s && mkfs.%s -q %[2]s && mount -o loop %[2]s %[4]s", megabytes, m.image,
		fileSystem, m.dir))
	t.Cleanup(func() { m.run(t, "umount "+m.dir) })
	return m
}

func (m image) run(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestLostPermission takes the data directory away from the user of a server, and gives it back.
func TestLostPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files to another user")
	}
	const nobody = 65534
	ordinary := []string{"setpriv", "--bounding-set=-dac_override,-dac_read_search"} // permissions hold for root, too
	p := newProject(t, "", noteFiles)
	give := func(uid int) {
		t.Helper()
		err := filepath.WalkDir(p.data,
			func(path string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chown(path, uid, uid)) })
		if err := errors.Join(err, os.Chmod(p.data, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	s := p.serve(ordinary...)
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 20)
	give(nobody)
	if a := n.add(t, 2000); !a.is(503, "ServiceUnavailableError") {
		t.Errorf("a write without the permission: %d %s", a.status, a.body)
	}
	if a, _, _ := s.upload(t, 1000); !a.is(503, "ServiceUnavailableError") {
		t.Errorf("an upload without the permission: %d %s", a.status, a.body)
	}
	n.verify(t)
	s.health(t, "lost")
	if s := p.start(ordinary...); s.base != "" || !strings.Contains(s.log.String(), "permission denied") {
		t.Errorf("a start without the permission: %s", s.log.String())
	}
	give(0)
	s.becomesWell(t)
	n.addSome(t, 3)
	if a, _, _ := s.upload(t, 1000); a.status != 201 {
		t.Errorf("an upload once all is well: %d %s", a.status, a.body)
	}
	n.verify(t)
	s.stop(t)
}

// TestLostUploads removes the directory of uploads under a server. Documents must be served and written as before, new
// files must be stored, and the log must say what happened.
func TestLostUploads(t *testing.T) {
	p := newProject(t, "", noteFiles)
	s := p.serve()
	n := &notes{server: s, names: map[string]string{}}
	a, id, url := s.upload(t, 1000)
	if a.status != 201 {
		t.Fatal(a)
	}
	if err := os.RemoveAll(filepath.Join(p.data, "uploads")); err != nil {
		t.Fatal(err)
	}
	n.addSome(t, 3)
	if a := s.do(t, "GET", url, "", nil); a.status != 404 {
		t.Errorf("a file that is gone: %d %s", a.status, a.body)
	}
	a, _, next := s.upload(t, 1000)
	if a.status != 201 {
		t.Errorf("an upload without the directory: %d %s", a.status, a.body)
	}
	if a := s.do(t, "GET", next, "", nil); a.status != 200 || len(a.body) != 1000 {
		t.Errorf("the new file: %d, %d bytes", a.status, len(a.body))
	}
	if log := s.log.String(); !strings.Contains(log, "uploads was removed or replaced while it was in use") {
		t.Errorf("the log does not tell: %s", log)
	}
	if a := s.do(t, "DELETE", fmt.Sprint("/api/upload/files/", id), "", nil); a.status != 200 {
		t.Errorf("a deletion of a file that is gone: %d %s", a.status, a.body)
	}
	n.verify(t)
	s.stop(t)
}

// TestLongPath serves from a data directory whose path is longer than the name of a socket may be. Commands must reach
// the server.
func TestLongPath(t *testing.T) {
	data := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 20), "data")
	p := newProject(t, data, noteFiles)
	s := p.serve()
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 3)
	if out, stderr, err := p.run("token", "list", "--data", p.data, p.dir); err != nil ||
		!strings.Contains(out, "full") {
		t.Errorf("a command while the server runs: %v %s %s", err, out, stderr)
	}
	if _, stderr, err := p.run("backup", "--data", p.data, p.dir, filepath.Join(p.dir, "backup.tar")); err != nil {
		t.Errorf("a backup while the server runs: %v %s", err, stderr)
	}
	s.stop(t)
}

// TestFewDescriptors serves a process that may have 64 descriptors, under more clients than that. The connections
// beyond the limit are closed; the descriptors that are left must do for uploads and the store.
func TestFewDescriptors(t *testing.T) {
	p := newProject(t, "", noteFiles)
	s := p.serve("sh", "-c", `ulimit -n 64; exec "$@"`, "sh")
	n := &notes{server: s, names: map[string]string{}}
	n.addSome(t, 3)
	answered := 0
	clients := make([]*http.Client, 100)
	for i := range clients { // each keeps its connection
		clients[i] = &http.Client{Transport: &http.Transport{}}
		if res, err := clients[i].Get(s.base + "/api/notes"); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			answered++
		}
	}
	if answered < 10 || answered > 32 {
		t.Errorf("%d of %d clients were answered at the same time", answered, len(clients))
	}
	if a, _, _ := s.upload(t, 1000); a.status != 201 {
		t.Errorf("an upload with few descriptors: %d %s", a.status, a.body)
	}
	n.addSome(t, 3)
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	servertest.Await(t, "a client is answered after the others have left", func() error {
		res, err := clients[99].Get(s.base + "/api/notes")
		if err == nil {
			res.Body.Close()
		}
		return err
	})
	n.verify(t)
	s.stop(t)
}
