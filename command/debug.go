package command

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

func newDebug(s *session) *cobra.Command {
	return newGroup("debug", "Look into a running server: profiles, traces and goroutines.",
		newDebugProfile(s), newDebugTrace(s), newDebugGoroutines(s))
}

// debugFlags are the flags of all debug commands.
type debugFlags struct {
	output pathFlag
	projectFlags
}

func (f *debugFlags) add(c *cobra.Command) {
	f.output = "-"
	c.Flags().VarP(&f.output, "output", "o", "Write to `FILE`, and replace an existing one; - is the standard output.")
	f.projectFlags.add(c)
}

// record writes a recording of the running server to the output.
func (f *debugFlags) record(s *session, args []string, r admin.Recording) error {
	if r.Kind != admin.Goroutines && f.output == "-" && isTerminal(s.Stdout) {
		return usageError("this is not for a terminal; name a file with --output")
	}
	err := s.output(string(f.output),
		func(w io.Writer) error { return f.directory(s, projectAt(args)).Debug(s.ctx, r, w) })
	if err != nil {
		return inCommand("debug", err)
	}
	return nil
}

func newDebugProfile(s *session) *cobra.Command {
	var flags debugFlags
	var seconds uint16
	var heap bool
	c := &cobra.Command{
		Use:   "profile [DIR]",
		Short: "Record where a running server spends its time, or with --heap what its memory holds, for go tool pprof.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if heap {
				return flags.record(s, args, admin.Recording{Kind: admin.HeapProfile})
			}
			return flags.record(
				s, args, admin.Recording{Kind: admin.CPUProfile, Time: time.Duration(seconds) * time.Second})
		},
	}
	c.Flags().Uint16Var(&seconds, "seconds", 10, "Record for `N` seconds.")
	c.Flags().BoolVar(&heap, "heap", false, "Record what memory is in use, and what allocated it, instead of time.")
	flags.add(c)
	return c
}

func newDebugTrace(s *session) *cobra.Command {
	var flags debugFlags
	var seconds uint16
	c := &cobra.Command{
		Use:   "trace [DIR]",
		Short: "Record when each goroutine of a running server runs and why it waits, for go tool trace.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return flags.record(
				s, args, admin.Recording{Kind: admin.ExecutionTrace, Time: time.Duration(seconds) * time.Second})
		},
	}
	c.Flags().Uint16Var(&seconds, "seconds", 2, "Record for `N` seconds. A busy server records megabytes a second.")
	flags.add(c)
	return c
}

func newDebugGoroutines(s *session) *cobra.Command {
	var flags debugFlags
	c := &cobra.Command{
		Use:   "goroutines [DIR]",
		Short: "Print the stack of each goroutine of a running server.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return flags.record(s, args, admin.Recording{Kind: admin.Goroutines})
		},
	}
	flags.add(c)
	return c
}
