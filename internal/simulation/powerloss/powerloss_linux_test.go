package powerloss

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lectern/contenttypes"
	"lectern/gateway"
	"lectern/internal/simulation/program"
	"lectern/store"
)

var powerLosses = flag.Int("powerlosses", 60, "how often power is lost in TestAcknowledgedWritesSurvivePowerLoss")

// TestAcknowledgedWritesSurvivePowerLoss records all changes of files while clients write and upload, and then loses
// power at many moments. Each time the changes that were not yet synced survive in part (see disk). The store must open
// and be consistent, with every write that was acknowledged by then, and with the files of all uploads.
func TestAcknowledgedWritesSurvivePowerLoss(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	before, trace := diskOf(t, s), newTrace(t)
	server := s.ServeUnder(t, trace.command())
	l := &program.Load{Server: server, Board: program.NewBoard(t, server), Prefix: "power", Limit: 6}
	var uploads sync.WaitGroup
	uploads.Go(func() {
		for i := range 8 {
			name := fmt.Sprintf("file-%d.txt", i)
			if status, body, err := server.Upload(name, uploadedText(name)); err != nil || status != 201 {
				t.Errorf("upload: %d %s %v", status, body, err)
			}
		}
	})
	l.Run()
	uploads.Wait()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	calls := trace.replay(t, before)
	answers := answersIn(t, calls)
	if len(answers) != 1+len(l.Acks)+8 || len(l.Acks) != program.Writers*l.Limit {
		t.Fatalf("the trace has %d answers to writes; clients got %d", len(answers), 1+len(l.Acks)+8)
	}
	model := modelOf(t, s)
	losePower(t, before, calls, func(dir string, at int) error {
		return verifyAnswers(filepath.Join(dir, "content.db"), model, answers, at)
	})
}

// TestNewStoreSurvivesPowerLoss loses power while the store is made. There is a store afterwards, or the next start
// makes one.
func TestNewStoreSurvivesPowerLoss(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	data := filepath.Join(s.Dir, "data")
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	before, trace := diskOf(t, s), newTrace(t)
	command := append(trace.command(), s.Binary, "token", "create", "--type", "read-only", s.Dir, "power")
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	model := modelOf(t, s)
	losePower(t, before, trace.replay(t, before), func(dir string, at int) error {
		return verifyAnswers(filepath.Join(dir, "content.db"), model, nil, at)
	})
}

// diskOf returns the data directory as a disk.
func diskOf(t *testing.T, s *program.Notes) *disk {
	t.Helper()
	d, err := newDisk(filepath.Join(s.Dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// modelOf returns the definitions of the project.
func modelOf(t *testing.T, s *program.Notes) *contenttypes.Model {
	t.Helper()
	d, err := gateway.Load(s.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Model
}

// losePower loses power at moments spread over the trace. verify gets a data directory as it may be then.
func losePower(t *testing.T, d *disk, calls []*call, verify func(dir string, at int) error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(*program.Seed, 5))
	first, last := calls[0].began, calls[len(calls)-1].began
	memory := "/dev/shm" // a file system in memory: what the test syncs there costs nothing
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	partial := 0
	for n := range *powerLosses {
		from := first + (last-first)*n / *powerLosses
		l := loss{at: from + rng.IntN(max(1, (last-first) / *powerLosses)), rng: rng}
		switch n % 4 {
		case 0: // nothing survives that was not synced
		case 1: // everything
			l.keep = 1
		case 2:
			l.keep = 0.5
		case 3:
			l.keep, l.torn = 0.5, 0.5
		}
		dir, err := os.MkdirTemp(memory, "lectern-power-")
		if err != nil {
			t.Fatal(err)
		}
		files := d.after(l)
		if err = d.write(files, dir); err == nil {
			err = verify(dir, l.at)
		}
		if err != nil {
			t.Errorf("power lost at line %d of the trace, with %v of the changes kept and %v torn: %v", l.at, l.keep,
				l.torn, err)
		}
		partial += d.pending(l.at)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if partial == 0 {
		t.Error("there was never a change that was not durable")
	}
	t.Logf("power lost %d times within %d calls; %d changes were pending on average", *powerLosses, len(calls),
		partial / *powerLosses)
}

// An acknowledged write, as its answer shows it.
type acknowledged struct {
	at         int // the position in the trace at which it was sent
	DocumentID string
	Key        string
	Number     int
	URL        string // of an uploaded file
}

// answersIn returns the answers to writes.
func answersIn(t *testing.T, calls []*call) (answers []acknowledged) {
	t.Helper()
	for _, c := range calls {
		b, ok := c.isAnswer()
		if !ok {
			continue
		}
		_, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
		var one struct{ Data acknowledged }
		var files []acknowledged
		switch {
		case json.Unmarshal(body, &one) == nil && one.Data.DocumentID != "":
			one.Data.at = c.began
			answers = append(answers, one.Data)
		case json.Unmarshal(body, &files) == nil && len(files) == 1:
			files[0].at = c.began
			answers = append(answers, files[0])
		default:
			t.Errorf("not an answer to a write: %.200s", b)
		}
	}
	return answers
}

// verifyAnswers checks the store of a data directory, and that it holds what was acknowledged before a position in the
// trace.
func verifyAnswers(path string, model *contenttypes.Model, answers []acknowledged, at int) (err error) {
	s, err := store.Open(path, model, store.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	if err := s.Check(); err != nil {
		return err
	}
	numbers := map[string]int{}
	for _, status := range []store.Status{store.Published, store.Draft} {
		clear(numbers)
		err := s.View(func(snap *store.Snapshot) error { return readNumbers(snap, model, status, numbers) })
		if err != nil {
			return err
		}
		for _, a := range answers {
			if n, ok := numbers[a.DocumentID]; a.Key != "" && a.at <= at && (!ok || n < a.Number) {
				return fmt.Errorf("the note %s was acknowledged with number %d; stored is %d, %v", a.Key, a.Number, n,
					ok)
			}
		}
	}
	return s.View(func(snap *store.Snapshot) error { return verifyFiles(snap, model, filepath.Dir(path), answers, at) })
}

// readNumbers reads the number of each note.
func readNumbers(snap *store.Snapshot, model *contenttypes.Model, status store.Status, into map[string]int) error {
	notes := model.Type("api::note.note")
	page, err := snap.Find(&store.Query{Type: notes, Status: status, Limit: -1})
	for _, row := range page.Rows {
		var id string
		var n int
		if err := json.Unmarshal(row.JSON(notes.Attribute("documentId")), &id); err != nil {
			return err
		}
		if err := json.Unmarshal(row.JSON(notes.Attribute("number")), &n); err != nil {
			return err
		}
		into[id] = n
	}
	return err
}

func uploadedText(name string) []byte { return []byte(strings.Repeat("The text of "+name+".\n", 300)) }

// verifyFiles checks that each stored file is there in full, and that none is missing that was acknowledged.
func verifyFiles(snap *store.Snapshot, model *contenttypes.Model, data string, answers []acknowledged, at int) error {
	files := model.Type("plugin::upload.file")
	page, err := snap.Find(&store.Query{Type: files, Limit: -1})
	stored := map[string]bool{}
	for _, row := range page.Rows {
		var name, url string
		if err := json.Unmarshal(row.JSON(files.Attribute("name")), &name); err != nil {
			return err
		}
		if err := json.Unmarshal(row.JSON(files.Attribute("url")), &url); err != nil {
			return err
		}
		stored[url] = true
		content, err := os.ReadFile(filepath.Join(data, filepath.FromSlash(url)))
		if err != nil || !bytes.Equal(content, uploadedText(name)) {
			return fmt.Errorf("the file %s has %d bytes of %d: %v", name, len(content), len(uploadedText(name)), err)
		}
	}
	for _, a := range answers {
		if a.URL != "" && a.at <= at && !stored[a.URL] {
			return fmt.Errorf("the upload %s was acknowledged and is gone", a.URL)
		}
	}
	return err
}
