package powerloss

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tracedCalls are the system calls that change files, make changes durable, or send answers. The names after the first
// line change files too; the disk cannot model them, so a test fails if the program begins to use one.
const tracedCalls = "openat,write,pwrite64,fsync,fdatasync,ftruncate,fallocate,renameat,renameat2,unlinkat,mkdirat," +
	"open,creat,rename,unlink,mkdir,link,linkat,symlinkat,truncate,writev,pwritev,pwritev2,copy_file_range,splice,msync,sync_file_range"

// A trace is what strace records of a program.
type trace struct {
	strace, pipe string
	text         chan []byte // the whole text, when the program and strace have ended
}

func newTrace(t *testing.T) *trace {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no strace: install it (apt-get install strace)")
		}
		t.Skip("no strace: install it (apt-get install strace)")
	}
	r := &trace{strace, filepath.Join(t.TempDir(), "trace"), make(chan []byte, 1)}
	if err := syscall.Mkfifo(r.pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		text, err := os.ReadFile(r.pipe)
		if err != nil {
			t.Errorf("read the trace: %v", err)
		}
		r.text <- text
	}()
	return r
}

// command returns the command line that runs a program under strace; the program and its arguments are to follow.
func (r *trace) command() []string {
	// With -D the program is our child and strace is not, so signals reach the program.
	return []string{r.strace, "-D", "-f", "-y", "-xx", "-s", "1048576", "-qq", "-e", "signal=none", "-e",
		"trace=" + tracedCalls, "-o", r.pipe}
}

// replay waits for the end of the program, and has the disk take in what it did.
func (r *trace) replay(t *testing.T, d *disk) []*call {
	t.Helper()
	calls, err := readTrace(<-r.text)
	if err == nil {
		err = d.replay(calls)
	}
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// A call is a system call that the program has made.
type call struct {
	name   string
	args   []string // as strace prints them
	result string
	// began and ended are positions in the trace. Another call that ended before this one began has happened before it.
	began, ended int
}

// readTrace reads the calls that strace has recorded, in the order in which they began.
func readTrace(trace []byte) (calls []*call, err error) {
	open := map[string]*call{} // by thread: the calls that have not ended
	at := -1
	for line := range strings.Lines(string(trace)) {
		at++
		thread, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text = strings.TrimLeft(text, " ")
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			continue
		case strings.HasPrefix(text, "<... "):
			_, text, _ = strings.Cut(text, " resumed>")
			c := open[thread]
			if c == nil {
				return nil, fmt.Errorf("line %d: a call ends that has not begun", at+1)
			}
			delete(open, thread)
			err = c.parse(c.args[0]+text, at)
		default:
			name, args, _ := strings.Cut(text, "(")
			c := &call{name: name, began: at}
			calls = append(calls, c)
			if begun, how, ok := strings.Cut(args, " <"); ok && (how == "unfinished ...>" || how == "detached ...>") {
				c.args, c.ended = []string{begun}, never
				open[thread] = c
				continue
			}
			err = c.parse(args, at)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at+1, err)
		}
	}
	return calls, nil
}

// never is the end of a call that has not ended, and the time at which a change becomes durable that nothing makes
// durable.
const never = int(^uint(0) >> 1)

// parse reads the arguments and the result of a call that ended.
func (c *call) parse(text string, at int) error {
	args, result, ok := strings.Cut(text, ") = ")
	if !ok {
		if args, result, ok = strings.Cut(text, ")"); !ok {
			return fmt.Errorf("a call without an end: %.80s", text)
		}
		result = strings.TrimLeft(result, " =")
	}
	c.args, c.result, c.ended = strings.Split(args, ", "), result, at
	return nil
}

func (c *call) failed() bool {
	return strings.HasPrefix(c.result, "-1") || strings.HasPrefix(c.result, "?")
}

// path returns the path of the file that a descriptor refers to, such as 7<\x2f\x74>; "" for a socket.
func path(descriptor string) string {
	_, name, _ := strings.Cut(descriptor, "<")
	text := string(unescape(strings.TrimSuffix(name, ">")))
	if !strings.HasPrefix(text, "/") {
		return ""
	}
	return strings.TrimSuffix(text, " (deleted)")
}

// text returns the bytes of a string argument.
func text(argument string) ([]byte, error) {
	quoted, ok := strings.CutPrefix(argument, `"`)
	if quoted, ok2 := strings.CutSuffix(quoted, `"`); ok && ok2 {
		return unescape(quoted), nil
	}
	return nil, fmt.Errorf("not a whole string: %.80s", argument)
}

// unescape reads \x2f\x74….
func unescape(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return nil
	}
	return b
}

// isAnswer reports whether a call sends the answer of a successful request, and returns the answer.
func (c *call) isAnswer() ([]byte, bool) {
	if c.name != "write" || path(c.args[0]) != "" {
		return nil, false
	}
	b, err := text(c.args[1])
	return b, err == nil && bytes.HasPrefix(b, []byte("HTTP/1.1 20"))
}
