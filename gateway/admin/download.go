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

// Backups and exports are sent while they are read from a snapshot. An open snapshot keeps the store from reusing
// pages, so the client must read at the rate limits.answerRate. The server closes the connection of a slower client,
// which can then ask for the reason.

// downloadHeader is the header with the id of a download. GET /downloads/{id} answers why that download failed.
const downloadHeader = "Lectern-Download"

// maxDownloads is the number of failed downloads whose reasons are kept.
const maxDownloads = 16

// downloads keeps the errors of the last downloads that failed. The zero value is ready for use.
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

// reason returns why a download failed, or "" if it is not among the last failed ones.
func (d *downloads) reason(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.failed, func(f failedDownload) bool { return f.id == id }); i >= 0 {
		return d.failed[i].reason
	}
	return ""
}

// download sends the output of write as the answer. If write fails after the answer has begun, download closes the
// connection, which tells the client that the download is incomplete, and keeps the reason for GET /downloads/{id}.
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

// A begunWriter records whether Write was called.
type begunWriter struct {
	io.Writer
	begun bool
}

func (b *begunWriter) Write(p []byte) (int, error) {
	b.begun = true
	return b.Writer.Write(p)
}

// errSlowReader returns the error for a client that reads more slowly than limits.answerRate.
func (c *Control) errSlowReader() error {
	return fmt.Errorf("the server let go of a reader that took less than %s in %s: "+
		"a snapshot of the store is held while it reads (limits.answerRate is %s a second); write to a file, "+
		"or to something that reads faster", config.ByteSize(paced.Part), paced.PartTime(c.AnswerRate),
		config.ByteSize(c.AnswerRate))
}

// reasonOf asks the server why a download ended early, and returns that as an error. err is the error of the
// connection.
func (r *remote) reasonOf(ctx context.Context, id string, err error) error {
	ended, failed := call[controlError](ctx, r, http.MethodGet, "/downloads/"+id, nil)
	if failed != nil || ended.Error == "" {
		return fmt.Errorf("the running server broke off, and its log may say why: %w", err)
	}
	return errors.New(ended.Error)
}
