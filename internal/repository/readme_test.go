package repository

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"lectern/internal/servertest"
	"lectern/shadowcrud/params"
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

// TestGuidesFromAnEmptyProject writes the files of guides to an empty project while it is served, runs their commands,
// and compares the output with the guides.
func TestGuidesFromAnEmptyProject(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "lectern")
	run(t, exec.Command("go", "build", "-o", program, "."))
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	for guide, project := range executedGuides {
		t.Run(guide, func(t *testing.T) {
			dir := t.TempDir()
			run(t, exec.Command(program, "init", "--empty", filepath.Join(dir, project)))
			follow(t, guide, dir, serve(t, dir, program, project))
		})
	}
}

// executedGuides are the guides that begin with an empty project, and its name in them.
var executedGuides = map[string]string{"docs/permissions.md": "site", "docs/rest.md": "town", "docs/tutorial.md": "club"}

// TestRESTReferenceIsComplete looks for every operator and every parameter in the commands of docs/rest.md.
func TestRESTReferenceIsComplete(t *testing.T) {
	var commands strings.Builder
	for _, block := range blocksOf(t, "rest.md", consoleBlock) {
		for line := range strings.Lines(block) {
			if strings.HasPrefix(line, "$ ") {
				commands.WriteString(line)
			}
		}
	}
	wants := []string{"[$and]", "[$or]", "[$not]", "filters[", "sort=", "sort[", "fields=", "fields[", "populate=",
		"populate[", "[on]", "[count]",
		"pagination[page]", "pagination[pageSize]", "pagination[start]", "pagination[limit]", "pagination[withCount]",
		"_q=", "status=", "locale=",
		"publicationFilter=", "hasPublishedVersion=", `"connect"`, `"disconnect"`, `"set"`, `"start"`, `"end"`,
		`"before"`, `"after"`, `"__component"`, `"__type"`}
	for operator := range params.Operators {
		wants = append(wants, "["+operator+"]")
	}
	for _, want := range wants {
		if !strings.Contains(commands.String(), want) {
			t.Errorf("no command of docs/rest.md has %s", want)
		}
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

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
	addr := serve(t, dir, lectern, "blog").addr
	key := strings.TrimSpace(run(t, exec.Command(lectern, "token", "create", project, "all")))
	for guide, wants := range map[string][]string{
		"docs/streams.md": {`"readingMinutes":6`, `"name":"Tomás Rey"`},
		"docs/batch.md":   {`{"status":201,`, `"title":"Soup"}`, `{"status":204,"data":null}],"meta":{}}`},
	} {
		c := exec.Command("bash", "-c", strings.ReplaceAll(blocksOf(t, filepath.Base(guide), shellBlock)[0],
			"localhost:1337", addr))
		c.Env = append(os.Environ(), "TOKEN="+key)
		got := run(t, c)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("the first command of %s prints\n%s\nwithout %s", guide, got, want)
			}
		}
	}
}

// A served project.
type served struct {
	addr string
	pid  int
}

// serve runs a program in dir that serves a project until the test ends.
func serve(t *testing.T, dir, program, project string) served {
	t.Helper()
	addr := servertest.FreeAddress(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
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
	return served{addr, serve.Process.Pid}
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

func run(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, stderr.String())
	}
	return stdout.String()
}
