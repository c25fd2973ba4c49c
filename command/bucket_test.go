package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"lectern/command"
	"lectern/internal/servertest"
)

// A bucket is a server of S3 that counts requests and refuses some.
type bucket struct {
	s3     http.Handler
	mu     sync.Mutex
	counts map[string]int    // by what requests do, see work; those that were refused have a "!" before it
	refuse func(string) bool // whether to refuse a request; nil: none
}

// newBucket serves an empty bucket of the name backups until the test ends, and sets the environment for it.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	log.SetOutput(io.Discard) // gofakes3 logs there
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	b := &bucket{s3: gofakes3.New(backend).Server(), counts: map[string]int{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	return b
}

// work returns what a request does: its method, the kind of object, and what it does to an upload in parts.
func work(r *http.Request) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/backups/blog/"), "/")
	q := r.URL.Query()
	switch {
	case q.Has("partNumber"):
		return r.Method + " " + kind + " part " + q.Get("partNumber")
	case q.Has("uploads"):
		return r.Method + " " + kind + " begin"
	case q.Has("uploadId"):
		return r.Method + " " + kind + " end"
	}
	return r.Method + " " + kind
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := work(r)
	b.mu.Lock()
	refused := b.refuse != nil && b.refuse(what)
	b.mu.Unlock()
	if refused {
		what = "!" + what
		_, _ = io.Copy(io.Discard, r.Body) // the client sends all of it before it reads the answer
		w.WriteHeader(http.StatusForbidden)
	} else {
		if err := unchunk(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.s3.ServeHTTP(w, r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[what]++
}

// unchunk takes the body of a request out of the signed chunks in which clients of S3 send it over plain HTTP. gofakes3
// does that for whole objects, and not for parts.
func unchunk(r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return nil
	}
	var body bytes.Buffer
	for in := bufio.NewReader(r.Body); ; { // each chunk: length in hex ";chunk-signature=" … CRLF · bytes · CRLF
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		length, err := strconv.ParseInt(digits, 16, 64)
		if err != nil {
			return err
		}
		if length == 0 {
			break
		}
		if _, err := io.CopyN(&body, in, length); err != nil {
			return err
		}
		if _, err := in.Discard(len("\r\n")); err != nil {
			return err
		}
	}
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Header.Set("Content-Length", strconv.Itoa(body.Len()))
	r.ContentLength, r.Body = int64(body.Len()), io.NopCloser(&body)
	return nil
}

func (b *bucket) refuses(f func(what string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = f
}

func (b *bucket) count(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[what]
}

// awaits waits until requests of a kind have been answered so often.
func (b *bucket) awaits(t *testing.T, what string, times int) {
	t.Helper()
	servertest.Await(t, "the bucket is sent "+what, func() error {
		if n := b.count(what); n < times {
			return fmt.Errorf("%d times instead of %d", n, times)
		}
		return nil
	})
}

// A blog is a project in which commands run in this process.
type blog struct {
	*testing.T
	dir     string
	authors int // that were added
}

// run runs a command with the standard input in, and returns its output.
func (b *blog) run(in string, args ...string) (stdout, stderr string, code int) {
	var out, failed bytes.Buffer
	code = command.Main(b.Context(), args, command.Program{Stdin: strings.NewReader(in), Stdout: &out, Stderr: &failed})
	return out.String(), failed.String(), code
}

func (b *blog) must(in string, args ...string) (stdout string) {
	b.Helper()
	out, failed, code := b.run(in, args...)
	if code != 0 {
		b.Fatalf("%q exits with %d: %s", args, code, failed)
	}
	return out
}

// begin starts a command that runs until stop is called, which returns its standard error.
func (b *blog) begin(args ...string) (stop func() string) {
	ctx, cancel := context.WithCancel(b.Context())
	var failed bytes.Buffer
	exit := make(chan int, 1)
	go func() { exit <- command.Main(ctx, args, command.Program{Stdout: io.Discard, Stderr: &failed}) }()
	stop = sync.OnceValue(func() string {
		cancel()
		if code := <-exit; code != 0 {
			b.Errorf("%q exits with %d: %s", args, code, failed.String())
		}
		return failed.String()
	})
	b.Cleanup(func() { stop() })
	return stop
}

// add imports authors with these texts into the running server, and returns the last sequence of the log and all
// content.
func (b *blog) add(texts ...string) (sequence string, content string) {
	b.Helper()
	lines := `{"format":"lectern-content","version":1}` + "\n"
	for _, text := range texts {
		b.authors++
		lines += fmt.Sprintf(`{"type":"api::author.author","documentId":"a%023d","data":{"name":"someone","bio":%q}}`,
			b.authors, text) + "\n"
	}
	b.must(lines, "import", b.dir, "-")
	audit := strings.Split(strings.TrimSpace(b.must("", "audit", b.dir)), "\n")
	var last struct{ Seq json.Number }
	if err := json.Unmarshal([]byte(audit[len(audit)-1]), &last); err != nil {
		b.Fatal(err)
	}
	return last.Seq.String(), b.must("", "export", b.dir, "-")
}

// awaitsShipped waits until the bucket has an entry of the log. A count of segments does not tell that: one segment is
// sent again whenever it grows.
func (b *blog) awaitsShipped(sequence string) {
	b.Helper()
	servertest.Await(b, "the bucket has entry "+sequence, func() error {
		_, said, code := b.run("", "restore", "--at", sequence, "--data", filepath.Join(b.TempDir(), "data"), b.dir,
			"s3://backups/blog")
		if code != 0 {
			return errors.New(said)
		}
		return nil
	})
}

// restored restores a point in time beside the running server, and returns the content.
func (b *blog) restored(sequence string) (content string) {
	b.Helper()
	data := filepath.Join(b.TempDir(), "data")
	b.must("", "restore", "--at", sequence, "--data", data, b.dir, "s3://backups/blog")
	return b.must("", "export", "--data", data, b.dir, "-")
}

// TestBackupInABucketGoesOnAfterRefusals follows a server into a bucket, with a base that is sent in parts. The second
// part is refused once, and later each segment until the command is stopped. The command is started again, and then
// both points in time can be restored that were written meanwhile.
func TestBackupInABucketGoesOnAfterRefusals(t *testing.T) {
	s3 := newBucket(t)
	b := &blog{T: t, dir: filepath.Join(t.TempDir(), "blog")}
	b.must("", "init", b.dir)
	b.begin("serve", b.dir, "--port", "0")
	servertest.Until(t, "the server is ready", func() bool {
		_, _, code := b.run("", "health", b.dir)
		return code == 0
	})
	rnd := rand.NewChaCha8([32]byte{1})
	random := make([]byte, 50<<10)
	var long []string
	for range 100 { // the store has them twice: as content and in its log
		_, _ = rnd.Read(random) // never fails
		long = append(long, hex.EncodeToString(random))
	}
	b.add(long...)

	const part = "PUT bases part 2"
	s3.refuses(func(what string) bool { return what == part && s3.counts["!"+part] == 0 })
	follow := []string{"backup", "--follow", "s3://backups/blog", b.dir}
	stop := b.begin(follow...)
	s3.awaits(t, "PUT uploads", 1) // the list of uploads completes a base
	if refused, sent := s3.count("!"+part), s3.count(part); refused != 1 || sent != 1 {
		t.Errorf("part 2 of the base was refused %d times and stored %d times", refused, sent)
	}
	if begun, aborted, ended := s3.count("POST bases begin"), s3.count("DELETE bases end"),
		s3.count("POST bases end"); begun != 2 || aborted != 1 || ended != 1 {
		t.Errorf("%d uploads in parts were begun, %d aborted and %d ended", begun, aborted, ended)
	}
	first, firstContent := b.add("First")
	b.awaitsShipped(first)

	s3.refuses(func(what string) bool { return what == "PUT segments" })
	second, secondContent := b.add("Second")
	s3.awaits(t, "!PUT segments", 2) // by the second time, it has said so of the first
	if said := stop(); strings.Count(said, "trying again") < 2 || strings.Count(said, "took a base") != 1 {
		t.Errorf("the first command says %s", said)
	}
	if _, said, code := b.run("", "restore", "--at", second, "--data", t.TempDir(), b.dir,
		"s3://backups/blog"); code != 1 || !strings.Contains(said, "it ends with entry "+first) {
		t.Errorf("an entry that is not there: exit code %d, %s", code, said)
	}

	s3.refuses(nil)
	stop = b.begin(follow...)
	b.awaitsShipped(second)
	if said := stop(); strings.Contains(said, "took a base") {
		t.Errorf("the second command does not go on: %s", said)
	}
	for sequence, want := range map[string]string{first: firstContent, second: secondContent} {
		if got := b.restored(sequence); got != want {
			t.Errorf("entry %s is restored with %d bytes of content, want %d", sequence, len(got), len(want))
		}
	}
	if firstContent == secondContent || !strings.Contains(secondContent, "Second") {
		t.Error("the points in time do not differ")
	}
}
