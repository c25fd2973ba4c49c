package media_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/store"
)

// TestOpenFinishesWhatACrashLeft opens a library after crashes at each step. Files in the journal are deleted unless a
// document names them, replacements are finished unless the file was changed later, and files that are not in the
// journal stay.
func TestOpenFinishesWhatACrashLeft(t *testing.T) {
	s := serve(t, "")
	kept := s.upload(file("kept.png", "image/png", pngOf(picture(600, 400))))[0]
	replaced := s.upload(file("old.png", "image/png", pngOf(picture(600, 400))))[0]
	half := s.upload(file("half.png", "image/png", pngOf(picture(300, 300))))[0]
	changed := s.upload(file("changed.txt", "text/plain", "the latest"))[0]
	s.stop()
	uploads := filepath.Join(s.dir, "data/uploads")
	next := pngOf(picture(30, 20))
	put := func(name, text string) { writeFile(t, filepath.Join(uploads, name), text) }
	note := func(name string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		put(".incoming/"+name+".note", string(text))
	}
	type o = map[string]any
	// One upload was interrupted before its document was written, and one after that.
	put("lost_0123456789.txt", "lost")
	put("thumbnail_lost_0123456789.txt", "lost")
	note("1", o{"provider": "local", "files": []o{
		{"hash": "lost_0123456789", "names": []string{"lost_0123456789.txt", "thumbnail_lost_0123456789.txt"}},
		{"hash": kept.Hash, "names": []string{kept.Hash + ".png", "thumbnail_" + kept.Hash + ".png",
			"medium_" + kept.Hash + ".png"}},
	}})
	put("medium_"+kept.Hash+".png", "no format of it")
	// One replacement was interrupted before its first step, and one after that.
	put(".incoming/next", next)
	put(half.Hash+".png", next)
	data := o{"name": "new.png", "width": 30, "height": 20, "formats": o{}, "mime": "image/png", "size": 0.1}
	for i, f := range []fileAnswer{replaced, half} {
		note(string('2'+rune(i)), o{"provider": "local",
			"files": []o{{"hash": f.Hash, "names": []string{f.Hash + ".png", "thumbnail_" + f.Hash + ".png",
				"small_" + f.Hash + ".png"}}},
			"replace": o{"id": f.ID, "data": data,
				"drop": []string{"thumbnail_" + f.Hash + ".png", "small_" + f.Hash + ".png"},
				"put": []o{{"Name": f.Hash + ".png", "Spooled": ".incoming/" + []string{"next", "gone"}[i],
					"Type": "image/png"}}},
		})
	}
	// One replacement was interrupted, and the file was changed again before the entry is read, which is possible in a
	// cluster.
	put(".incoming/late", "of before")
	note("5", o{"provider": "local", "files": []o{{"hash": changed.Hash, "names": []string{changed.Hash + ".txt"}}},
		"replace": o{"id": changed.ID, "from": "2001-01-01T00:00:00.000Z", "data": o{"size": 0.1},
			"put": []o{{"Name": changed.Hash + ".txt", "Spooled": ".incoming/late", "Type": "text/plain"}}}})
	// A journal entry and an incoming file are incomplete, and one file is not in the journal.
	put(".incoming/4.note", `{"files":[{"hash":"`)
	put(".incoming/0123456789abcdef", "half a fi")
	put("by-hand.txt", "somebody put this here")

	st, l := openLibrary(t, s.dir)
	if err := l.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	files, spooled := listUploads(t, s.dir)
	want := []string{"by-hand.txt", changed.Hash + ".txt", half.Hash + ".png", kept.Hash + ".png", replaced.Hash +
		".png", "small_" + kept.Hash + ".png", "thumbnail_" + kept.Hash + ".png"}
	if diff := cmp.Diff(want, files); diff != "" || len(spooled) > 0 {
		t.Errorf("%s %v", diff, spooled)
	}
	for _, f := range documentsOf(t, st) {
		if f.Hash != kept.Hash && f.Hash != changed.Hash && (f.Size != 0.1 || len(f.Formats) != 0) {
			t.Errorf("%+v", f)
		}
	}
	if got, err := os.ReadFile(filepath.Join(uploads, changed.Hash+".txt")); string(got) != "the latest" {
		t.Errorf("the later content was replaced by %q: %v", got, err)
	}
	for _, f := range []fileAnswer{replaced, half} {
		if got, err := os.ReadFile(filepath.Join(uploads, strings.TrimPrefix(f.URL, "/uploads/"))); string(
			got) != next {
			t.Errorf("%s: %v", f.URL, err)
		}
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
	l.Close()
	st.Close()
}

// TestRecoverCrafted opens a library whose spool has notes that no library has written. No file is removed, moved or
// replaced.
func TestRecoverCrafted(t *testing.T) {
	s := serve(t, "")
	kept := s.upload(file("kept.png", "image/png", pngOf(picture(300, 300))))[0]
	s.stop()
	uploads := filepath.Join(s.dir, "data/uploads")
	name, thumbnail := kept.Hash+".png", "thumbnail_"+kept.Hash+".png"
	writeFile(t, filepath.Join(s.dir, "data/mine.txt"), "mine")
	writeFile(t, filepath.Join(uploads, ".incoming/content"), "another content")
	type o = map[string]any
	put := func(name, spooled string) []o { return []o{{"hash": "x", "Name": name, "Spooled": spooled}} }
	for i, note := range []o{
		{"files": []o{{"hash": "another", "names": []string{name, thumbnail}}}},
		{"files": []o{{"hash": "", "names": []string{name}}}, "removes": true},
		{"files": []o{{"hash": "another", "names": []string{"../mine.txt"}}}},
		{"files": []o{{"hash": "another", "names": []string{".incoming"}}}},
		{"replace": o{"id": kept.ID, "data": o{"size": 0.1}, "put": put("x.png", name)}},
		{"replace": o{"id": kept.ID, "data": o{"size": 0.1}, "put": put("x.png", "../mine.txt")}},
		{"replace": o{"id": kept.ID, "data": o{"size": 0.1}, "put": put("../x.png", ".incoming/content")}},
		{"replace": o{"id": kept.ID, "data": o{"size": 0.1}, "put": put("x.png", ".incoming/../"+name)}},
		{"replace": o{"id": kept.ID, "data": o{"size": 0.1}, "drop": []string{"../mine.txt"}}},
	} {
		note["provider"] = "local"
		text, err := json.Marshal(note)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(uploads, ".incoming", fmt.Sprint(i, ".note")), string(text))
	}
	st, l := openLibrary(t, s.dir)
	if err := l.Recover(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "names files that are none of an upload") {
		t.Errorf("error %v", err)
	}
	files, spooled := listUploads(t, s.dir)
	if diff := cmp.Diff([]string{name, thumbnail}, files); diff != "" || len(spooled) > 0 {
		t.Errorf("%s %v", diff, spooled)
	}
	if docs := documentsOf(t, st); len(docs) != 1 || docs[0].Size == 0.1 {
		t.Errorf("%+v", docs)
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "data/mine.txt")); string(text) != "mine" {
		t.Errorf("a file outside has %q (%v)", text, err)
	}
	l.Close()
	st.Close()
}

// TestFilesOfAnUnreadableJournalEntryStay cannot read an entry of the journal at first. The files that it needs stay
// until it can.
func TestFilesOfAnUnreadableJournalEntryStay(t *testing.T) {
	s := serve(t, "")
	f := s.upload(file("a.txt", "text/plain", "old"))[0]
	s.stop()
	incoming := filepath.Join(s.dir, "data/uploads/.incoming")
	writeFile(t, filepath.Join(incoming, "next"), "new content")
	if err := os.Mkdir(filepath.Join(incoming, "1.note"), 0o700); err != nil { // reading it fails
		t.Fatal(err)
	}
	open := func(wantErr bool) {
		t.Helper()
		st, l := openLibrary(t, s.dir)
		if err := l.Recover(t.Context()); (err != nil) != wantErr {
			t.Error(err)
		}
		l.Close()
		st.Close()
	}
	open(true)
	if err := os.Remove(filepath.Join(incoming, "1.note")); err != nil {
		t.Fatal(err)
	}
	type o = map[string]any
	entry, err := json.Marshal(
		o{"provider": "local", "files": []o{{"hash": f.Hash, "names": []string{f.Hash + ".txt"}}}, "replace": o{
			"id": f.ID, "data": o{"size": 0.01},
			"put": []o{{"Name": f.Hash + ".txt", "Spooled": ".incoming/next", "Type": "text/plain"}}}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(incoming, "1.note"), string(entry))
	open(false)
	if got, err := os.ReadFile(filepath.Join(s.dir, "data", f.URL)); string(got) != "new content" {
		t.Errorf("it has %q: %v", got, err)
	}
	if _, spooled := listUploads(t, s.dir); len(spooled) > 0 {
		t.Errorf("left: %v", spooled)
	}
}

func ignore(*store.Snapshot, store.Record) error { return nil }

// TestPinnedFilesOutliveTheirDocuments deletes a file while all files are pinned.
func TestPinnedFilesOutliveTheirDocuments(t *testing.T) {
	dir := writeProject(t, "")
	s := &server{T: t, dir: dir}
	s.start()
	f := s.upload(file("a.txt", "text/plain", "hello"))[0]
	s.stop()
	st, l := openLibrary(t, dir)
	defer st.Close()
	defer l.Close()
	release := l.Pin()
	release2 := l.Pin()
	if err := l.Delete(t.Context(), nil, uint64(f.ID), ignore, nil); err != nil {
		t.Fatal(err)
	}
	if len(documentsOf(t, st)) > 0 {
		t.Error("the document is still there")
	}
	release()
	if files, spooled := listUploads(t, dir); len(files) != 1 || len(spooled) != 1 {
		t.Errorf("while it is pinned: %v %v", files, spooled)
	}
	release2()
	if files, spooled := listUploads(t, dir); len(files) > 0 || len(spooled) > 0 {
		t.Errorf("after that: %v %v", files, spooled)
	}
}
