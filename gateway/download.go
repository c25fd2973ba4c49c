package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"lectern/gateway/config"
)

// A backup or an export is sent while it is made, out of one snapshot. A snapshot keeps the store from using pages again, so the client has to
// take what is sent at the rate of limits.answerRate. A slower one is let go, and asks why with another request.

// downloadHeader names a download, by the number under which getDownload tells why it ended.
const downloadHeader = "Lectern-Download"

// maxDownloads is how many downloads that failed are remembered.
const maxDownloads = 16

// downloads remember why the last downloads that failed did. The zero value is ready for use.
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

// reason is why a download failed, "" where that is not known.
func (d *downloads) reason(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.failed, func(f failedDownload) bool { return f.id == id }); i >= 0 {
		return d.failed[i].reason
	}
	return ""
}

func (c *control) getBackup(w http.ResponseWriter, r *http.Request) {
	c.download(w, r, c.project.Backup)
}

func (c *control) getExport(w http.ResponseWriter, r *http.Request) {
	c.download(w, r, c.project.Export)
}

// download sends what write writes. When it fails in the middle, the connection is closed so that the client notices, and getDownload tells
// the reason.
func (c *control) download(w http.ResponseWriter, r *http.Request, write func(context.Context, io.Writer) error) {
	id := c.downloads.begin()
	w.Header().Set(downloadHeader, id)
	w.Header().Set("Content-Type", "application/octet-stream")
	to := c.limits().pacedWriter(r.Context(), w)
	buffer := bufio.NewWriterSize(to, answerPart)
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
		err = c.limits().errSlowReader()
	case r.Context().Err() != nil || isReaderGone(r, err):
		level = slog.LevelDebug
	}
	c.project.log.Log(r.Context(), level, "control socket", "path", r.URL.Path, "error", err)
	if !to.begun {
		c.fail(w, r, err)
		return
	}
	c.downloads.fail(id, err)
	panic(http.ErrAbortHandler)
}

// getDownload tells why a download failed.
func (c *control) getDownload(w http.ResponseWriter, r *http.Request) {
	writeControl(w, controlError{Error: c.downloads.reason(r.PathValue("id"))})
}

// limits are those of the server.
func (c *control) limits() *requestLimits { return &c.project.server.Load().limits }

// errSlowReader says that a client took what it is sent more slowly than the limits ask for.
func (l *requestLimits) errSlowReader() error {
	return fmt.Errorf("the server let go of a reader that took less than %s in %s: a snapshot of the store is held while it reads (limits.answerRate is %s a second); "+
		"write to a file, or to something that reads faster", config.ByteSize(answerPart), l.partTime(), config.ByteSize(l.AnswerRate))
}

// reasonOf asks the server why a download failed in its middle.
func (r *remote) reasonOf(ctx context.Context, id string, err error) error {
	var ended controlError
	if asked := r.get(ctx, "/downloads/"+id, &ended); asked != nil || ended.Error == "" {
		return fmt.Errorf("the running server broke off, and its log may say why: %w", err)
	}
	return errors.New(ended.Error)
}
