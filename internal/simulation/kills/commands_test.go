package kills

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/internal/simulation/program"
)

// killedNotes is how many notes the store has on which commands are killed.
const killedNotes = 1500

// A killedCommand is a command that a test kills at random moments, and what must be true afterwards.
type killedCommand struct {
	name string
	// args are the arguments of the command for a data directory and a directory for its output.
	args func(data, out string) []string
	// after returns an error unless the content is as it may be after a kill. exported is the content as lines in
	// order.
	after func(exported []string) error
	// again returns an error unless the command can be run again to its end, or has reached it.
	again func(data, out string) error
}

// A killBench is a project with a store, of which each kill gets a copy.
type killBench struct {
	*testing.T
	*program.Notes
	renamed string   // the project with definitions that need a migration
	base    string   // the data directory
	content []string // of base
	more    []string // of base with more notes
	backup  string   // of the data directory with more notes
	file    string   // an export of more notes, and of every second note of base with another board
	changed []string // of base after the import of file
}

// TestKilledCommandsCanRunAgain kills commands that read and change a data directory. After each kill the store is
// consistent, has all that it had or all that the command was to store, and the command can be run again.
func TestKilledCommandsCanRunAgain(t *testing.T) {
	b := newKillBench(t)
	rng := rand.New(rand.NewPCG(*program.Seed, 5))
	for _, c := range b.commands() {
		t.Run(c.name, func(t *testing.T) {
			of := *b
			of.T = t
			took := of.uninterrupted(c)
			killed := 0
			for range *kills {
				if of.kill(c, time.Duration(rng.Int64N(int64(took)+1))) {
					killed++
				}
				if t.Failed() {
					break
				}
			}
			t.Logf("%d kills within %v, %d of them before the end", *kills, took, killed)
		})
	}
}

func newKillBench(t *testing.T) *killBench {
	b := &killBench{T: t, Notes: program.NewNotes(t, program.Released)}
	b.base = filepath.Join(b.Dir, "data")
	dir := t.TempDir()
	b.file, b.backup, b.renamed = filepath.Join(dir, "more.jsonl"), filepath.Join(dir, "more.tar"),
		filepath.Join(dir, "renamed")
	first := filepath.Join(dir, "first.jsonl")
	b.write(first, boardLines+noteLines(0, killedNotes))
	b.must("import", b.Dir, first)
	b.content = b.export(b.base)
	full := filepath.Join(dir, "full")
	b.copyData(b.base, full)
	b.write(first, noteLines(killedNotes, 2*killedNotes))
	b.must("import", "--data", full, b.Dir, first)
	b.must("backup", "--data", full, b.Dir, b.backup)
	b.more = b.export(full)
	changed := strings.Join(linesLacking(b.more, b.content), "")
	for _, line := range b.content {
		if m := noteOfLine.FindStringSubmatch(line); m != nil && m[1][len(m[1])-1]%2 == 0 {
			changed += strings.ReplaceAll(strings.Replace(line, `"key":"k`, `"key":"changed`, 1),
				`"documentId":"board0"`, `"documentId":"board1"`)
		}
	}
	b.write(b.file, changed)
	after := filepath.Join(dir, "after")
	b.copyData(b.base, after)
	b.must("import", "--data", after, b.Dir, b.file)
	b.changed = b.export(after)

	program.WriteProject(t, b.renamed, map[string]string{
		"content-types/board.yaml": `kind: collectionType
info: {singularName: board, pluralName: boards, displayName: Board}
options: {draftAndPublish: false}
attributes:
  name: {type: string}
`,
		"content-types/note.yaml": `kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: true}
attributes:
  key: {type: string, unique: true}
  count: {type: integer}
`,
	})
	return b
}

// noteOfLine matches an exported note; the group is its documentId.
var noteOfLine = regexp.MustCompile(`"type":"api::note.note","documentId":"(note[0-9]+)"`)

// byNote returns exported lines by note, without the positions of links in the lists of boards.
func byNote(lines []string) map[string]string {
	notes := map[string]string{}
	for _, line := range lines {
		if m := noteOfLine.FindStringSubmatch(line); m != nil {
			notes[m[1]] += orderOfLink.ReplaceAllString(line, "")
		}
	}
	return notes
}

var orderOfLink = regexp.MustCompile(`,"order":[0-9]+`)

// boardOfNote matches the link of a note to its board.
var boardOfNote = regexp.MustCompile(`,"board":\{[^}]*\}`)

// partlyImported returns an error unless each note is as it was or as it is in the file. A note that is new may have no
// links yet.
func (b *killBench) partlyImported(exported []string) error {
	before, now, after := byNote(b.content), byNote(exported), byNote(b.changed)
	for note, is := range now {
		was, existed := before[note]
		if is != after[note] && is != was && (existed || is != boardOfNote.ReplaceAllString(after[note], "")) {
			return fmt.Errorf("%s is\n%swas\n%swill be\n%s", note, is, was, after[note])
		}
	}
	for note := range before {
		if now[note] == "" {
			return fmt.Errorf("%s is gone", note)
		}
	}
	return nil
}

// linesLacking returns the lines that are not among others.
func linesLacking(lines, others []string) (left []string) {
	for _, line := range lines {
		if _, found := slices.BinarySearch(others, line); !found {
			left = append(left, line)
		}
	}
	return left
}

// boardLines are the boards as lines of an import.
const boardLines = `{"type":"api::board.board","documentId":"board0","data":{"name":"Board 0"}}
{"type":"api::board.board","documentId":"board1","data":{"name":"Board 1"}}
{"type":"api::board.board","documentId":"board2","data":{"name":"Board 2"}}
`

// noteLines returns notes with a board as lines of an import, each as a draft and published.
func noteLines(from, to int) string {
	var lines strings.Builder
	for i := from; i < to; i++ {
		for _, status := range []string{"draft", "published"} {
			fmt.Fprintf(&lines, `{"type":"api::note.note","documentId":"note%d","status":%q,"data":{"key":"k%d","number":%d,"board":{"documentId":"board%d"}}}`+"\n", i, status, i, i, i%3)
		}
	}
	return lines.String()
}

func (b *killBench) write(path, text string) {
	b.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// run runs a command to its end.
func (b *killBench) run(args ...string) (stdout string, err error) {
	var out, errs bytes.Buffer
	cmd := exec.Command(b.Binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%v: %w\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String(), nil
}

func (b *killBench) must(args ...string) string {
	b.Helper()
	out, err := b.run(args...)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// export returns the content of a data directory as lines in order.
func (b *killBench) export(data string) []string {
	b.Helper()
	return slices.Sorted(strings.Lines(b.must("export", "--data", data, b.Dir, "-")))
}

func (b *killBench) copyData(from, to string) {
	b.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
}

// commands returns the commands to kill.
func (b *killBench) commands() []killedCommand {
	unchanged := func(exported []string) error { return sameAsOne(exported, b.content) }
	repeat := func(args func(data, out string) []string, want []string) func(data, out string) error {
		return func(data, out string) error {
			if _, err := b.run(args(data, out)...); err != nil {
				return err
			}
			return sameAsOne(b.export(data), want)
		}
	}
	backup := func(data, out string) []string {
		return []string{"backup", "--force", "--data", data, b.Dir, filepath.Join(out, "made.tar")}
	}
	restore := func(data, _ string) []string { return []string{"restore", "--data", data, b.Dir, b.backup} }
	load := func(data, _ string) []string { return []string{"import", "--data", data, b.Dir, b.file} }
	compact := func(data, _ string) []string { return []string{"compact", "--data", data, b.Dir} }
	migrate := func(data, _ string) []string {
		return []string{"migrate", "--data", data, b.renamed, "rename-attribute", "api::note.note.number", "count",
			"drop-attribute", "api::note.note.board"}
	}
	return []killedCommand{
		{"backup", backup, unchanged, func(data, out string) error {
			made := filepath.Join(out, "made.tar")
			if _, err := os.Stat(made); err == nil { // it is whole
				if _, err := b.run("restore", "--data", filepath.Join(out, "restored"), b.Dir, made); err != nil {
					return err
				}
			}
			return repeat(backup, b.content)(data, out)
		}},
		{"restore", restore, func(exported []string) error { return sameAsOne(exported, b.content, b.more) },
			repeat(restore, b.more)},
		{"import", load, b.partlyImported, func(data, out string) error {
			if _, err := b.run(load(data, out)...); err != nil {
				return err
			}
			if got, want := byNote(b.export(data)), byNote(b.changed); !maps.Equal(got, want) {
				return fmt.Errorf("the repeated import leaves %d notes, of which some are not those of one that was not killed (%d)", len(got), len(want))
			}
			return nil
		}},
		{"compact", compact, unchanged, repeat(compact, b.content)},
		{"migrate", migrate, nil, func(data, out string) error {
			if _, err := b.run(migrate(data, out)...); err != nil &&
				!strings.Contains(err.Error(), `has no attribute "number"`) { // it was done
				return err
			}
			return b.migrated(data)
		}},
	}
}

// migrated returns an error unless the content is that of base under the definitions after the migration.
func (b *killBench) migrated(data string) error {
	exported, err := b.run("export", "--data", data, b.renamed, "-")
	if err != nil {
		return err
	}
	counts := strings.Count(exported, `"count":`)
	if want := 2 * killedNotes; counts != want || strings.Contains(exported, `"number":`) ||
		strings.Contains(exported, `"board":`) {
		return fmt.Errorf("after the migration %d versions have a count, want %d, and none a number or board", counts,
			want)
	}
	return nil
}

// sameAsOne returns an error unless content is one of those that it may be.
func sameAsOne(content []string, allowed ...[]string) error {
	sizes := []int{}
	for _, a := range allowed {
		if slices.Equal(content, a) {
			return nil
		}
		sizes = append(sizes, len(a))
	}
	return fmt.Errorf("the content has %d lines, and is none of those with %v", len(content), sizes)
}

// uninterrupted runs a command that is not killed, and returns how long it took.
func (b *killBench) uninterrupted(c killedCommand) time.Duration {
	b.Helper()
	data, out := filepath.Join(b.TempDir(), "data"), b.TempDir()
	b.copyData(b.base, data)
	began := time.Now()
	b.must(c.args(data, out)...)
	return time.Since(began)
}

// kill runs a command, kills it after a while, and checks what it leaves. It reports whether the command had not ended
// before.
func (b *killBench) kill(c killedCommand, after time.Duration) (killed bool) {
	b.Helper()
	data, out := filepath.Join(b.TempDir(), "data"), b.TempDir()
	b.copyData(b.base, data)
	cmd := exec.Command(b.Binary, c.args(data, out)...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	timer := time.AfterFunc(after, func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			b.Error(err)
		}
	})
	killed = cmd.Wait() != nil
	timer.Stop()
	if _, err := b.run("check", "--store", "--data", data, b.Dir); err != nil {
		b.Errorf("killed after %v: %v", after, err)
	}
	if c.after != nil {
		if err := c.after(b.export(data)); err != nil {
			b.Errorf("killed after %v: %v", after, err)
		}
	}
	if err := c.again(data, out); err != nil {
		b.Errorf("killed after %v, run again: %v", after, err)
	}
	if _, err := b.run("check", "--store", "--data", data, b.Dir); err != nil {
		b.Errorf("killed after %v and run again: %v", after, err)
	}
	b.leftOver(data)
	return killed
}

// leftOver fails the test if there are files in a data directory that no document of the project names.
func (b *killBench) leftOver(data string) {
	b.Helper()
	entries, err := os.ReadDir(data)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		known := []string{"content.db", "content.db.id", "uploads", "jwt-secret", "control.sock", "lock"}
		if !slices.Contains(known, e.Name()) && !strings.HasPrefix(e.Name(), "before-restore-") {
			b.Errorf("%s is left over", e.Name())
		}
	}
}

// TestKilledCompactionLosesNothing kills a server at random moments while it compacts its store and clients write.
// Every acknowledged write must be there after the next start, which removes what the compaction has left.
func TestKilledCompactionLosesNothing(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	rng := rand.New(rand.NewPCG(*program.Seed, 6))
	acknowledged, compacted := 0, 0
	for round := range *kills {
		server := s.Serve(t)
		l := &program.Load{Server: server, Board: program.NewBoard(t, server), Prefix: fmt.Sprintf("c%d", round)}
		server.KillAfter(time.Duration(50+rng.IntN(400)) * time.Millisecond) // the next start finds out
		ended := make(chan int)
		go func() {
			n := 0
			for exec.Command(s.Binary, "compact", s.Dir).Run() == nil {
				select {
				case <-server.Ended():
					ended <- n // a compaction without the server
					return
				default:
					n++
				}
			}
			<-server.Ended()
			ended <- n
		}()
		l.Run()
		compacted += <-ended
		s.Check(t)
		server = s.Serve(t)
		l.Verify(t, server)
		if out, err := exec.Command(s.Binary, "compact", s.Dir).CombinedOutput(); err != nil {
			t.Errorf("compact again: %v\n%s", err, out)
		}
		l.Verify(t, server)
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		(&killBench{T: t, Notes: s}).leftOver(filepath.Join(s.Dir, "data"))
		acknowledged += len(l.Acks)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	t.Logf("%d kills, %d compactions, %d acknowledged writes, none lost", *kills, compacted, acknowledged)
}
