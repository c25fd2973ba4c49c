package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version and Commit are those of Lectern. A release build sets them: -ldflags "-X lectern/command.Version=v1.2.3". If
// they are empty, what the Go command noted in the binary counts.
var Version, Commit string

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version.",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.Stdout, versions())
			return err
		},
	}
}

// versions returns what version and --version print. The version is always that of Lectern, even in a program with
// another name.
func versions() string {
	return fmt.Sprintf("lectern %s\ncommit  %s\n%s %s/%s", version(), commit(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
}

func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == "lectern" && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// commit returns the commit that the program was built from.
func commit() string {
	if Commit != "" {
		return Commit
	}
	id, changed := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				id = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
	}
	return id + changed
}
