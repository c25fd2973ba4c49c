package command

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// TestHelpAndManPageNameEveryCommandAndFlag also holds that each command and each flag is explained.
func TestHelpAndManPageNameEveryCommandAndFlag(t *testing.T) {
	root := newRoot(&session{Program: Program{Name: "lectern", Stdout: os.Stdout}})
	all, man := printed(t, "--help"), printed(t, "man")
	commands, flags := leaves(root), 0
	for _, c := range commands {
		path := pathOf(c)
		if !strings.Contains(all, "\n  "+path+" ") {
			t.Errorf("the help lacks %s", path)
		}
		if !strings.Contains(man, `.SS "lectern `+strings.ReplaceAll(path, "-", `\-`)) {
			t.Errorf("the man page lacks %s", path)
		}
		help := printed(t, append(strings.Fields(path), "--help")...)
		if c.Short == "" || !strings.HasPrefix(help, "Usage: lectern "+path) {
			t.Errorf("%s is not explained: %s", path, help)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			if f.Usage == "" || !strings.Contains(help, "--"+f.Name) {
				t.Errorf("%s does not explain --%s", path, f.Name)
			}
			if !strings.Contains(man, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fR`) {
				t.Errorf("the man page lacks --%s", f.Name)
			}
		})
	}
	if len(commands) < 30 || flags < 80 {
		t.Fatalf("there are only %d commands and %d flags", len(commands), flags)
	}
}

// TestHelpFitsTheTerminal holds that no line of prose is wider than 80 columns where the output is no terminal.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, c := range append(leaves(newRoot(&session{Program: Program{Name: "lectern", Stdout: os.Stdout}})),
		&cobra.Command{}) {
		if c.Name() == "migrate" { // it has a table
			continue
		}
		args := []string{"--help"}
		if c.Name() != "" {
			args = append(strings.Fields(pathOf(c)), "--help")
		}
		for line := range strings.Lines(printed(t, args...)) {
			if len(line) > 81 && !strings.HasPrefix(line, "\t") {
				t.Errorf("%q: a line has %d columns: %s", args, len(line)-1, line)
			}
		}
	}
}

// TestCompletionOffersCommandsFlagsAndChoices asks as the scripts do.
func TestCompletionOffersCommandsFlagsAndChoices(t *testing.T) {
	for _, test := range []struct{ words, want string }{
		{"sch", "schema :4"},
		{"tok", "token :4"},
		{"token r", "revoke rotate :4"},
		{"token create --ty", "--type :4"},
		{"serve --env ", "development production :4"},
		{"move-in a b --misfits ", "keep leave-out :4"},
		{"serve blog --no-w", "--no-watch :4"},
		{"check --ver", "--version :4"},
		{"completion ", "bash fish powershell zsh :4"},
		{"help token l", "list :4"},
		{"schema ", ":0"}, // the shell offers files
		{"backup blog ", ":0"},
		{"debug trace --output ", ":0"},
	} {
		var got []string
		for line := range strings.Lines(
			printed(t, append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Split(test.words, " ")...)...)) {
			got = append(got, strings.TrimSpace(line))
		}
		last := len(got) - 1
		slices.Sort(got[:last])
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%q: %q, want %q", test.words, got, test.want)
		}
	}
}

// TestCompletionScriptsAreValid lets each shell that is installed read its script.
func TestCompletionScriptsAreValid(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			script := printed(t, "completion", shell)
			if !strings.Contains(script, cobra.ShellCompRequestCmd) {
				t.Errorf("it does not ask the program: %s", script)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(err)
			}
			read := exec.Command(shell, "-n")
			read.Stdin = strings.NewReader(script)
			if out, err := read.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestManPageRendersWithoutWarnings renders the man page without a warning.
func TestManPageRendersWithoutWarnings(t *testing.T) {
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
