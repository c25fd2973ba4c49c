package command

import (
	"io"
	"time"

	"lectern/gateway/admin"
)

type debugCommand struct {
	Profile    debugProfileCommand    `cmd:"" help:"Record where a running server spends its time, or with --heap what its memory holds, for go tool pprof."`
	Trace      debugTraceCommand      `cmd:"" help:"Record when each goroutine of a running server runs and why it waits, for go tool trace."`
	Goroutines debugGoroutinesCommand `cmd:"" help:"Print the stack of each goroutine of a running server."`
}

// debugFlags are the arguments and flags of all debug commands.
type debugFlags struct {
	Dir    string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	Output string `short:"o" help:"The file to write; an existing one is replaced (default: the standard output)." default:"-" placeholder:"FILE" type:"path"`
	projectFlags
}

// record writes a recording of the running server to the output.
func (f *debugFlags) record(s *session, r admin.Recording) error {
	if r.Kind != admin.Goroutines && f.Output == "-" && isTerminal(s.Stdout) {
		return usageError("this is not for a terminal; name a file with --output")
	}
	err := s.output(f.Output, func(w io.Writer) error { return f.directory(s, f.Dir).Debug(s.ctx, r, w) })
	if err != nil {
		return inCommand("debug", err)
	}
	return nil
}

type debugProfileCommand struct {
	Seconds uint16 `help:"How long to record." default:"10" placeholder:"N"`
	Heap    bool   `help:"Record what memory is in use, and what allocated it, instead of time."`
	debugFlags
}

func (c *debugProfileCommand) Run(s *session) error {
	if c.Heap {
		return c.record(s, admin.Recording{Kind: admin.HeapProfile})
	}
	return c.record(s, admin.Recording{Kind: admin.CPUProfile, Time: time.Duration(c.Seconds) * time.Second})
}

type debugTraceCommand struct {
	Seconds uint16 `help:"How long to record. A busy server records megabytes a second." default:"2" placeholder:"N"`
	debugFlags
}

func (c *debugTraceCommand) Run(s *session) error {
	return c.record(s, admin.Recording{Kind: admin.ExecutionTrace, Time: time.Duration(c.Seconds) * time.Second})
}

type debugGoroutinesCommand struct{ debugFlags }

func (c *debugGoroutinesCommand) Run(s *session) error {
	return c.record(s, admin.Recording{Kind: admin.Goroutines})
}
