package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// printed returns what the program prints for a command line.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(t.Context(), args, Program{Stdout: &out, Stderr: &errs}); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, &errs)
	}
	return out.String()
}

// TestUsageIsComplete looks for each command and flag of kong's model in the completion scripts and in the man page.
func TestUsageIsComplete(t *testing.T) {
	parser, err := kong.New(&line{}, kong.Name("lectern"), kong.Vars{"version": ""})
	if err != nil {
		t.Fatal(err)
	}
	var commands, flags, roffFlags, fishFlags []string
	var visit func(n *kong.Node, path string)
	visit = func(n *kong.Node, path string) {
		for _, f := range n.Flags {
			flags = append(flags, "--"+f.Name)
			roffFlags = append(roffFlags, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`))
			fishFlags = append(fishFlags, "-l "+f.Name+" ")
		}
		for _, sub := range n.Children {
			commands = append(commands, path+" "+sub.Name)
			visit(sub, path+" "+sub.Name)
		}
	}
	visit(parser.Model.Node, "")
	if len(commands) < 20 || len(flags) < 20 {
		t.Fatalf("the model has %d commands and %d flags", len(commands), len(flags))
	}
	expect := func(what, text string, words []string) {
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s lacks %q", what, word)
			}
		}
	}
	for shell, flags := range map[string][]string{"bash": flags, "zsh": flags, "fish": fishFlags} {
		script := printed(t, "completion", shell)
		expect(shell, script, flags)
		for _, command := range commands {
			expect(shell, script, []string{"'" + command + "'"})
		}
	}
	man := printed(t, "man")
	expect("the man page", man, roffFlags)
	for _, leaf := range parser.Model.Leaves(true) {
		expect("the man page", man, []string{`.SS "` + strings.ReplaceAll(leaf.FullPath(), "-", `\-`)})
	}
}

// script writes the completion script for a shell to a file. It skips the test if the shell is not installed.
func script(t *testing.T, shell string) (file string) {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip(err)
	}
	file = filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(file, []byte(printed(t, "completion", shell)), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// completions maps words on a command line to those that are offered for the last one.
var completions = []struct{ words, want string }{
	{"lectern sch", "schema"},
	{"lectern tok", "token"},
	{"lectern token r", "revoke rotate"},
	{"lectern token create --ty", "--type"},
	{"lectern serve --env ", "development production"},
	{"lectern serve blog --no-w", "--no-watch"},
	{"lectern check --ver", "--version"},
	{"lectern completion ", "bash fish zsh"},
	{"lectern schema token ", ""},
}

// inOrder returns the words of a shell's output in order.
func inOrder(out []byte) string {
	return strings.Join(slices.Sorted(strings.FieldsSeq(string(out))), " ")
}

func TestBashCompletion(t *testing.T) {
	file := script(t, "bash")
	if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, test := range completions {
		words := strings.Split(test.words, " ")
		ask := fmt.Sprintf(`source %s; COMP_WORDS=(%s ""); COMP_WORDS[%[3]d]=%[4]q; COMP_CWORD=%[3]d; _lectern; printf '%%s\n' "${COMPREPLY[@]}"`,
			file, strings.Join(words[:len(words)-1], " "), len(words)-1, words[len(words)-1])
		out, err := exec.Command("bash", "-c", ask).CombinedOutput()
		if got := inOrder(out); err != nil || got != test.want {
			t.Errorf("%q: %q, %v; want %q", test.words, got, err, test.want)
		}
	}
}

func TestFishCompletion(t *testing.T) {
	file := script(t, "fish")
	for _, test := range completions {
		if test.want == "" {
			continue // fish offers files
		}
		out, err := exec.Command("fish", "--no-config", "-c", fmt.Sprintf("source %s; complete -C %q | cut -f1", file, test.words)).CombinedOutput()
		if got := inOrder(out); err != nil || got != test.want {
			t.Errorf("%q: %q, %v; want %q", test.words, got, err, test.want)
		}
	}
}

// TestZshCompletion runs the completion function with stand-ins for the functions of zsh's completion system, which need a terminal.
func TestZshCompletion(t *testing.T) {
	file := script(t, "zsh")
	const standIns = `compdef() { }; _files() { echo FILES }
compadd() { shift; print -l -- "$@" }
_describe() { local list=${@[-1]}; print -l -- ${${(P)list}%%:*} }
`
	for _, test := range completions {
		words := strings.Split(test.words, " ")
		last := words[len(words)-1]
		ask := fmt.Sprintf(`%s source %s; words=(%s); words+=(%q); CURRENT=%d; PREFIX=%[4]q; _lectern | grep -- '^%[6]s'`,
			standIns, file, strings.Join(words[:len(words)-1], " "), last, len(words), last)
		out, _ := exec.Command("zsh", "-f", "-c", ask).CombinedOutput() // grep fails if it finds nothing
		want := test.want
		if want == "" {
			want = "FILES"
		}
		if got := inOrder(out); got != want {
			t.Errorf("%q: %q, want %q", test.words, got, want)
		}
	}
}

// TestManPage renders the man page without a warning.
func TestManPage(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip(err)
	}
	render := exec.Command("groff", "-man", "-ww", "-Tutf8", "-P-cbou")
	render.Stdin = strings.NewReader(printed(t, "man"))
	var out, warnings bytes.Buffer
	render.Stdout, render.Stderr = &out, &warnings
	if err := render.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%v: %s", err, &warnings)
	}
	if !strings.Contains(out.String(), "export [DIR] FILE") {
		t.Errorf("the page has no synopsis of export:\n%s", &out)
	}
}
