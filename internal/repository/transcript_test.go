package repository

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// follow writes the files and runs the commands of a page in dir, in their order, against a server, and compares the
// output with the page.
func follow(t *testing.T, page, dir string, server served) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shell, commands := startShell(t, dir), 0
	newFiles := false // whether the server may have yet to take over files that were written
	for _, s := range stepsOf(string(text)) {
		if len(s.files) > 0 {
			// The server sees all of them at once.
			shell.run(t, fmt.Sprintf("kill -STOP %d", server.pid))
			writeFiles(t, dir, s.files)
			shell.run(t, fmt.Sprintf("kill -CONT %d", server.pid))
			newFiles = true
			continue
		}
		commands++
		command := strings.ReplaceAll(s.command, "127.0.0.1:1337", server.addr)
		got := shell.run(t, command)
		for deadline := time.Now().Add(20 * time.Second); newFiles && plain(got) != plain(s.output) &&
			time.Now().Before(deadline); {
			// The server reads the new files when it sees them, so it is asked again.
			time.Sleep(20 * time.Millisecond)
			got = shell.run(t, command)
		}
		if plain(got) != plain(s.output) {
			t.Fatalf("%s\nprints\n%s\nand %s says\n%s", s.command, got, page, s.output)
		}
		newFiles = newFiles && plain(got) == ""
	}
	if commands < 8 {
		t.Errorf("%s has only %d commands", page, commands)
	}
}

// A shell runs one command after the other in the same process, so that they share variables and functions.
type shell struct {
	in  io.Writer
	out *bufio.Reader
	err *bytes.Buffer
}

func startShell(t *testing.T, dir string) *shell {
	t.Helper()
	c := exec.Command("bash")
	c.Dir = dir
	s := &shell{err: &bytes.Buffer{}}
	c.Stderr = s.err
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		c.Wait()
		if t.Failed() {
			t.Logf("the shell says:\n%s", s.err)
		}
	})
	s.in, s.out = in, bufio.NewReader(out)
	return s
}

// run runs a command and returns its output.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	const separator = '\x1e'
	if _, err := io.WriteString(s.in, command+"\nprintf '\\x1e'\n"); err != nil {
		t.Fatal(err)
	}
	out, err := s.out.ReadString(separator)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.TrimSuffix(out, string(separator))
}

// writeFiles writes files with their paths below dir.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A step of a page is either the files to write before what follows, or a command and the output that the page says it
// has.
type step struct {
	files           map[string]string
	command, output string
}

var (
	stepBlock = regexp.MustCompile("(?ms)^```(console|yaml|js)\n(.*?)^```$")
	fileBlock = regexp.MustCompile(`(?s)\A(?:#|//) (\S+/\S+|\S+\.\w+)\n(.*)`)
)

// stepsOf returns the steps of a page. A command is a line of a console block that begins with "$ ", and the lines
// below that are indented by four blanks. A file is a block that begins with a comment of its path alone.
func stepsOf(text string) (steps []step) {
	var files map[string]string
	for _, block := range stepBlock.FindAllStringSubmatch(text, -1) {
		if block[1] != "console" {
			if file := fileBlock.FindStringSubmatch(block[2]); file != nil {
				if files == nil {
					files = map[string]string{}
				}
				files[file[1]] = file[2]
			}
			continue
		}
		if files != nil {
			steps = append(steps, step{files: files})
			files = nil
		}
		for _, part := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			for strings.HasPrefix(output, "    ") {
				var more string
				more, output, _ = strings.Cut(output, "\n")
				command += "\n" + more
			}
			steps = append(steps, step{command: command, output: output})
		}
	}
	return steps
}

var (
	space      = regexp.MustCompile(`\s+`)
	documentID = regexp.MustCompile(`"documentId":"[a-z0-9]{24}"`)
)

// plain removes what may differ between runs: white space and the ids of documents.
func plain(s string) string {
	return documentID.ReplaceAllString(space.ReplaceAllString(s, ""), "")
}
