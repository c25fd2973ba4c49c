package gateway_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
)

// An entry is a file of a backup that the test writes itself.
type entry struct {
	name, text string
	kind       byte // 0 means a regular file
}

const backupHead = `{"format":"lectern-backup","version":1,"made":"2026-01-01T00:00:00Z"}`

// makeBackup writes an archive of entries, followed by their checksums unless noSums is set.
func makeBackup(t *testing.T, entries []entry, noSums bool) []byte {
	t.Helper()
	var out bytes.Buffer
	w, sums := tar.NewWriter(&out), map[string]string{}
	add := func(e entry) {
		h := &tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o600, Typeflag: e.kind}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			h.Linkname, h.Size = e.text, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(e.text)); err != nil {
				t.Fatal(err)
			}
		}
		sums[e.name] = fmt.Sprintf("%x", sha256.Sum256([]byte(e.text)))
	}
	for _, e := range entries {
		add(e)
	}
	if !noSums {
		text, err := json.Marshal(sums)
		if err != nil {
			t.Fatal(err)
		}
		add(entry{name: "checksums.json", text: string(text)})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRestoreRefusesMaliciousBackups restores malicious and damaged backups. Each is refused; no file is written
// outside the data directory, and none is left behind in it.
func TestRestoreRefusesMaliciousBackups(t *testing.T) {
	head := entry{name: "lectern-backup.json", text: backupHead}
	db := entry{name: "content.db", text: strings.Repeat("no store ", 1000)}
	cases := []struct {
		name    string
		backup  []byte
		message string
	}{
		{"nothing", nil, "not a backup"},
		{"no archive", []byte(strings.Repeat("x", 2000)), "not a backup"},
		{"another archive", makeBackup(t, []entry{db}, false), "not a backup"},
		{"a later version", makeBackup(t,
			[]entry{{name: "lectern-backup.json", text: strings.Replace(backupHead, ":1,", ":2,", 1)}, db}, false),
			"of version 2"},
		{"no checksums", makeBackup(t, []entry{head, db}, true), "cut off"},
		{"no store", makeBackup(t, []entry{head, {name: "uploads/a", text: "a"}}, false), "damaged"},
		{"a store that is none", makeBackup(t, []entry{head, db}, false), "check the backup"},
		{"a way out", makeBackup(t, []entry{head, {name: "uploads/../../evil", text: "x"}, db}, false),
			"does not belong in a backup"},
		{"an absolute path", makeBackup(t, []entry{head, {name: "/tmp/evil", text: "x"}, db}, false),
			"does not belong in a backup"},
		{"another file", makeBackup(t, []entry{head, {name: "evil", text: "x"}, db}, false),
			"does not belong in a backup"},
		{"the name of another step", makeBackup(t, []entry{head, {name: "aside", text: "x"}, db}, false),
			"does not belong in a backup"},
		{"a symbolic link", makeBackup(t,
			[]entry{head, {name: "uploads/evil", text: "/etc/passwd", kind: tar.TypeSymlink}, db}, false),
			"does not belong in a backup"},
		{"a hard link", makeBackup(t, []entry{head, {name: "uploads/evil", text: "content.db", kind: tar.TypeLink}, db},
			false), "does not belong in a backup"},
		{"a device", makeBackup(t, []entry{head, {name: "uploads/evil", kind: tar.TypeChar}, db}, false),
			"does not belong in a backup"},
		{"a note for the next start", makeBackup(t, []entry{head, {name: "uploads/.incoming/x.note", text: "{}"}, db},
			false), "does not belong in a backup"},
		{"a hidden directory", makeBackup(t, []entry{head, {name: "uploads/a/.b/c", text: "x"}, db}, false),
			"does not belong in a backup"},
		{"a name that is not clean", makeBackup(t, []entry{head, {name: "uploads/./.incoming/x.note", text: "{}"}, db},
			false), "does not belong in a backup"},
		{"the spool", makeBackup(t, []entry{head, {name: "uploads/.incoming", text: "x"}, db}, false),
			"check the backup"}, // left out
		{"a file twice", makeBackup(t, []entry{head, {name: "uploads/a", text: "x"}, {name: "uploads/a", text: "y"},
			db}, false), "exists"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := writeProject(t, map[string]string{"data/uploads/mine": "mine"})
			if _, err := gateway.Directory(dir, gateway.Options{}).Restore(bytes.NewReader(c.backup)); err == nil ||
				!strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want …%s…", err, c.message)
			}
			entries, err := os.ReadDir(filepath.Join(dir, "data"))
			if err != nil || len(entries) != 1 || entries[0].Name() != "uploads" {
				t.Errorf("left behind: %v %v", entries, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
				t.Error("it got out")
			}
		})
	}
}
