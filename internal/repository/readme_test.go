package repository

import (
	"bytes"
	"context"
	"io"
	"lectern/internal/servertest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestREADME runs the commands of README.md in order on the example project, and compares their output with README.md.
func TestREADME(t *testing.T) {
	dir := t.TempDir()
	lectern := filepath.Join(dir, "lectern")
	run(t, exec.Command("go", "build", "-o", lectern, "."))
	init := exec.Command(lectern, "init", "blog")
	init.Dir = dir
	run(t, init)
	follow(t, "README.md", dir, serve(t, dir, lectern, "blog"))
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestFirstCommands runs the first command of guides on the example project, and looks for what its output must have.
func TestFirstCommands(t *testing.T) {
	dir := t.TempDir()
	lectern := filepath.Join(dir, "lectern")
	run(t, exec.Command("go", "build", "-o", lectern, "."))
	project := filepath.Join(dir, "blog")
	run(t, exec.Command(lectern, "init", project))
	permissions := filepath.Join(project, "config/permissions.yaml")
	text, err := os.ReadFile(permissions)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.Replace(text, []byte("\ntokens:\n"), []byte("\ntokens:\n  - {name: all, type: full-access}\n"), 1)
	if err := os.WriteFile(permissions, all, 0o644); err != nil {
		t.Fatal(err)
	}
	addr := serve(t, dir, lectern, "blog")
	key := strings.TrimSpace(run(t, exec.Command(lectern, "token", "create", project, "all")))
	for guide, wants := range map[string][]string{
		"docs/streams.md": {`"readingMinutes":6`, `"name":"Tomás Rey"`},
		"docs/batch.md":   {`{"status":201,`, `"title":"Soup"}`, `{"status":204,"data":null}],"meta":{}}`},
	} {
		c := exec.Command("bash", "-c", strings.ReplaceAll(blocksOf(t, filepath.Base(guide), shellBlock)[0], "localhost:1337", addr))
		c.Env = append(os.Environ(), "TOKEN="+key)
		got := run(t, c)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("the first command of %s prints\n%s\nwithout %s", guide, got, want)
			}
		}
	}
}

// follow runs the commands of a README in dir against the server at addr, and compares their output with the README.
func follow(t *testing.T, readme, dir, addr string) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	script, outputs := transcript(string(text))
	c := exec.Command("bash", "-c", strings.ReplaceAll(script, "127.0.0.1:1337", addr))
	c.Dir = dir
	got := strings.Split(run(t, c), separator)
	for i, want := range outputs {
		if plain(got[i]) != plain(want) {
			t.Errorf("command %d prints\n%s\nand %s says\n%s", i+1, got[i], readme, want)
		}
	}
}

// serve runs a program in dir that serves a project until the test ends.
func serve(t *testing.T, dir, program, project string) (addr string) {
	t.Helper()
	addr = servertest.FreeAddress(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	serve := exec.CommandContext(ctx, program, "serve", project, "--addr", addr)
	serve.Dir = dir
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	awaitLine(t, log, "msg=serving")
	t.Cleanup(func() {
		cancel()
		if err := serve.Wait(); serve.ProcessState.ExitCode() != 0 {
			t.Errorf("serve: %v", err)
		}
	})
	return addr
}

// awaitLine reads until a line contains text, and drains the reader afterwards.
func awaitLine(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var seen bytes.Buffer
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), text) {
		n, err := r.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			t.Fatalf("the server has ended: %s", seen.String())
		}
	}
	go io.Copy(io.Discard, r)
}

const separator = "\x1e"

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// transcript returns the commands of all console blocks as a script that prints a separator after each, and the expected
// outputs.
func transcript(text string) (script string, outputs []string) {
	var b strings.Builder
	for _, block := range consoleBlock.FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			for strings.HasSuffix(command, `\`) {
				var more string
				more, output, _ = strings.Cut(output, "\n")
				command += "\n" + more
			}
			b.WriteString(command + "\nprintf '\\x1e'\n")
			outputs = append(outputs, output)
		}
	}
	return b.String(), outputs
}

var (
	space      = regexp.MustCompile(`\s+`)
	documentID = regexp.MustCompile(`"documentId":"[a-z0-9]{24}"`)
)

// plain removes what may differ between runs: white space and the ids of documents.
func plain(s string) string {
	return documentID.ReplaceAllString(space.ReplaceAllString(s, ""), "")
}

func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, stderr.String())
	}
	return stdout.String()
}
