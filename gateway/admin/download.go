package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"lectern/gateway/config"
	"lectern/gateway/internal/paced"
)

// A backup or an export is sent while it is made, from one snapshot. A snapshot keeps the store from reusing pages, so the client has
// to read at the rate of limits.answerRate. The server closes the connection of a slower one, which then asks for the reason.

// downloadHeader is the header with the id of a download, under which GET /downloads/{id} tells why it failed.
const downloadHeader = "Lectern-Download"

// maxDownloads is how many downloads that failed are remembered.
const maxDownloads = 16

// downloads keep the reasons of the last downloads that failed. The zero value is ready for use.
type downloads struct {
	mu     sync.Mutex
	last   uint64
	failed []failedDownload
}

type failedDownload struct{ id, reason string }

func (d *downloads) begin() (id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	return strconv.FormatUint(d.last, 10)
}

func (d *downloads) fail(id string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = append(d.failed[max(0, len(d.failed)-maxDownloads+1):], failedDownload{id, err.Error()})
}

// reason returns why a download failed, or "" if that is not known.
func (d *downloads) reason(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.failed, func(f failedDownload) bool { return f.id == id }); i >= 0 {
		return d.failed[i].reason
	}
	return ""
}

// download sends what write writes. If write fails in the middle, the connection is closed so that the client notices, and the
// client can then ask for the reason.
func (c *Control) download(w http.ResponseWriter, r *http.Request, write func(context.Context, io.Writer) error) {
	id := c.downloads.begin()
	w.Header().Set(downloadHeader, id)
	w.Header().Set("Content-Type", "application/octet-stream")
	to := &begunWriter{Writer: paced.NewWriter(w, http.NewResponseController(w), c.AnswerRate)}
	buffer := bufio.NewWriterSize(to, paced.Part)
	err := write(r.Context(), buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		return
	}
	level := slog.LevelError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		level = slog.LevelWarn
		err = c.errSlowReader()
	case r.Context().Err() != nil || isWrite(err):
		level = slog.LevelDebug
	}
	c.Log.Log(r.Context(), level, "control socket", "path", r.URL.Path, "error", err)
	if !to.begun {
		writeError(w, err)
		return
	}
	c.downloads.fail(id, err)
	panic(http.ErrAbortHandler)
}

// isWrite reports whether err comes from writing to a connection.
func isWrite(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "write"
}

// A begunWriter knows whether something was written.
type begunWriter struct {
	io.Writer
	begun bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.Writer.Write(p)
}

// errSlowReader says that a client read more slowly than limits.answerRate asks for.
func (c *Control) errSlowReader() error {
	return fmt.Errorf("the server let go of a reader that took less than %s in %s: a snapshot of the store is held while it reads (limits.answerRate is %s a second); "+
		"write to a file, or to something that reads faster", config.ByteSize(paced.Part), paced.PartTime(c.AnswerRate), config.ByteSize(c.AnswerRate))
}

// reasonOf asks the server why a download failed in its middle.
func (r *remote) reasonOf(ctx context.Context, id string, err error) error {
	var ended controlError
	if asked := r.get(ctx, "/downloads/"+id, &ended); asked != nil || ended.Error == "" {
		return fmt.Errorf("the running server broke off, and its log may say why: %w", err)
	}
	return errors.New(ended.Error)
}
