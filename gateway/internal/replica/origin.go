package replica

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/paced"
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/internal/admission"
	"lectern/jsontree"
	"lectern/store"
)

// OriginOptions are what an Origin is made of.
type OriginOptions struct {
	Project  Project
	Uploads  func() string          // returns the directory of the uploaded files
	CopyRate int64                  // of all copies together, in bytes per second; 0: unlimited
	Stopping func() <-chan struct{} // returns a channel that is closed when the server stops
	Log      *slog.Logger
}

// An Origin sends the content of a project to its replicas. Its methods are safe for concurrent use.
type Origin struct {
	options  OriginOptions
	replicas list
	sums     filesync.Sums // of uploaded files
	copies   *paced.Pace
}

// NewOrigin returns the Origin of a project.
func NewOrigin(o OriginOptions) *Origin {
	return &Origin{options: o, copies: paced.NewPace(o.CopyRate)}
}

// Handlers returns the handlers of requests by their paths below /_replica. A server that is itself a replica of a part
// of the content refuses all of them. Those of a nil Origin have names, but cannot answer.
func (s *Origin) Handlers() map[string]server.LongHandler {
	all := map[string]server.LongHandler{"/log": s.sendLog, "/copy": s.sendCopy, "/definitions": s.sendDefinitions,
		"/files": s.sendFiles, "/position": s.sendPosition}
	for path, handle := range all {
		all[path] = s.unlessPartial(handle)
	}
	return all
}

var errNoLog = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true,
	Message: "this server keeps no log of changes (log.keep is 0 in config/server.yaml), so that it cannot be followed"}

// keepsLog reports whether there is a log that replicas can follow.
func (s *Origin) keepsLog() bool {
	content, _ := s.options.Project.Served()
	return content.Definition.Settings.Server.Log.Keep != 0
}

// errReset returns the answer to a replica that must begin anew with a copy.
func errReset(err error) *apierror.Error {
	return &apierror.Error{Status: http.StatusGone, Name: "GoneError", NoDetails: true, Message: err.Error()}
}

// frames begins an answer that is a stream of frames. Its client must read at limits.answerRate. A pace, if there is
// one, limits the rate at which the frames are sent.
func (s *Origin) frames(w http.ResponseWriter, r *http.Request, l *server.LongAnswer,
	pace *paced.Pace) (replication.Writer, *bufio.Writer) {
	w.Header()["Content-Type"] = []string{"application/octet-stream"}
	w.Header()["No-Gzip-Compression"] = []string{"1"}
	content, _ := s.options.Project.Served()
	rate := content.Definition.Settings.Server.Limits.WithDefaults().AnswerRate
	var to io.Writer = paced.NewWriter(w, l, rate)
	if pace != nil {
		to = pace.Writer(r.Context(), to)
	}
	buffer := bufio.NewWriterSize(to, paced.Part)
	return replication.NewWriter(buffer), buffer
}

// partOf returns the part of the content that a replica asks for.
func (s *Origin) partOf(r *http.Request) (store.Part, error) {
	part := replication.PartOf(r.URL.Query())
	content, _ := s.options.Project.Served()
	if err := part.Check(content.Definition.Model); err != nil {
		return part, &apierror.Error{Status: http.StatusBadRequest, Name: "BadRequestError", NoDetails: true,
			Message: err.Error()}
	}
	return part, nil
}

// errPartial refuses replicas of a partial replica.
var errPartial = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true,
	Reason:  apierror.Replica,
	Message: "this server is a replica of a part of the content, which cannot be followed: follow its origin"}

// unlessPartial wraps a handler of the routes of replicas, which a partial replica refuses.
func (s *Origin) unlessPartial(handle server.LongHandler) server.LongHandler {
	return func(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
		if !s.options.Project.Store().Part().All() {
			return errPartial
		}
		return handle(w, r, l)
	}
}

// GET /api/_replica/log: the entries after the position since, and those to come.
func (s *Origin) sendLog(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	since, err := store.ParsePosition(r.URL.Query().Get("since"))
	if err != nil {
		return errReset(err)
	}
	part, err := s.partOf(r)
	if err != nil {
		return err
	}
	if !s.keepsLog() {
		return errNoLog
	}
	frames, buffer := s.frames(w, r, l, nil)
	sender := &logSender{source: s, frames: frames, part: part, since: since,
		heartbeat: replication.HeartbeatOf(r.URL.Query().Get("heartbeat")), flush: func() error {
			if err := buffer.Flush(); err != nil {
				return err
			}
			return l.Control.Flush()
		}}
	var remove func()
	sender.follows, remove = s.replicas.add(admission.ClientOf(r.Context()), part, since)
	defer remove()
	return sender.run(r.Context())
}

// A logSender sends the entries of the log to one replica.
type logSender struct {
	source  *Origin
	frames  replication.Writer
	part    store.Part // what the replica gets
	flush   func() error
	since   store.Position // behind the last entry that was sent
	begun   bool           // something was sent
	follows *following

	heartbeat time.Duration
}

// maxSent bounds the bytes of entries that are sent from one snapshot.
const maxSent = 1 << 20

// run sends entries until ctx ends or the server stops.
func (l *logSender) run(ctx context.Context) error {
	heartbeat := time.NewTicker(l.heartbeat)
	defer heartbeat.Stop()
	for {
		content, files := l.source.options.Project.Served()
		committed := content.Store.NextCommit() // before the snapshot is taken
		all, err := l.send(content.Store, files)
		switch {
		case errors.Is(err, store.ErrRedefined):
			select {
			case <-content.Replaced:
				continue
			case <-ctx.Done():
				return nil
			case <-l.source.options.Stopping():
				return nil
			}
		case err != nil:
			return l.failed(ctx, err)
		case !all:
			continue
		}
		select {
		case <-committed:
		case <-content.Replaced:
		case <-heartbeat.C:
		case <-ctx.Done():
			return nil
		case <-l.source.options.Stopping():
			return nil
		}
	}
}

// failed returns the error of a stream as it can be answered. Once a stream has begun, it can only be cut off.
func (l *logSender) failed(ctx context.Context, err error) error {
	switch {
	case l.mustBeginAnew(err) && l.begun:
		if errors.Join(l.frames.Frame(replication.ResetFrame, []byte(err.Error())), l.flush()) == nil {
			return nil
		}
	case l.mustBeginAnew(err):
		err = errReset(err)
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	if l.begun {
		panic(http.ErrAbortHandler)
	}
	return err
}

// mustBeginAnew reports whether an error means that a replica cannot go on from where it is.
func (*logSender) mustBeginAnew(err error) bool {
	return errors.Is(err, store.ErrOtherEpoch) || errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrConverted)
}

// entry sends an entry of a snapshot's log, reduced to the part of the replica.
func (l *logSender) entry(e *store.Entry, reduce func(*store.Entry) (*store.Entry, error)) (size int, err error) {
	if reduce == nil {
		return len(e.Raw()), l.frames.Entry(e)
	}
	if e, err = reduce(e); err != nil {
		return 0, err
	}
	return len(e.Raw()), l.frames.PartEntry(e)
}

// send sends the entries that the store has after l.since, maxSent bytes of them at most, and a Status if these are
// all.
func (l *logSender) send(st *store.Store, files *replication.Definitions) (all bool, err error) {
	status := replication.Status{Definitions: files.Hash()}
	next := l.since
	err = st.View(func(s *store.Snapshot) error {
		size := 0
		all = true
		found, err := s.Entries(l.since)
		if err != nil {
			return err
		}
		var reduce func(*store.Entry) (*store.Entry, error)
		if !l.part.All() {
			reduce = s.PartEntries(l.part)
		}
		for entry, err := range found {
			if err != nil {
				return err
			}
			if size > maxSent {
				all = false
				break
			}
			sent, err := l.entry(entry, reduce)
			if err != nil {
				return err
			}
			l.begun = true
			size += sent
			next.Sequence = entry.Sequence
		}
		l.begun = true
		l.since = next
		l.follows.sent.Store(&next)
		return nil
	})
	if err != nil {
		return false, err
	}
	if all {
		status.Position = l.since.String()
		if err := l.frames.JSON(replication.StatusFrame, status); err != nil {
			return false, err
		}
		return true, l.flush()
	}
	return false, nil
}

// GET /api/_replica/position: the position behind the last write.
func (s *Origin) sendPosition(w http.ResponseWriter, _ *http.Request, _ *server.LongAnswer) error {
	at, err := PositionOf(s.options.Project.Store())
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, jsontree.AppendString(nil, at.String()))
}

// GET /api/_replica/definitions: the definition files.
func (s *Origin) sendDefinitions(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	content, files := s.options.Project.Served()
	if err := checkShared(content.Definition, files); err != nil {
		return err
	}
	frames, buffer := s.frames(w, r, l, nil)
	if err := frames.JSON(replication.DefinitionsFrame, files); err != nil {
		return err
	}
	return buffer.Flush()
}

// GET /api/_replica/copy: the definition files and the store, at limits.copyRate. The replica checks what it has got
// for damage, because a check of the whole file would delay the origin's other requests.
func (s *Origin) sendCopy(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	if !s.keepsLog() {
		return errNoLog
	}
	part, err := s.partOf(r)
	if err != nil {
		return err
	}
	begun := false
	content, files := s.options.Project.Served()
	if err := checkShared(content.Definition, files); err != nil {
		return err
	}
	err = content.Store.View(func(snapshot *store.Snapshot) error {
		replication.AnnounceCopy(w.Header(), snapshot.Size())
		frames, buffer := s.frames(w, r, l, s.copies)
		begun = true
		if err := frames.JSON(replication.DefinitionsFrame, files); err != nil {
			return err
		}
		if part.All() {
			_, err = snapshot.CopyTo(frames.Chunks())
		} else {
			err = snapshot.CopyPart(part, frames.PartEntry)
		}
		if err != nil {
			return err
		}
		if err := frames.Frame(replication.EndFrame); err != nil {
			return err
		}
		return buffer.Flush()
	})
	if err != nil && begun {
		s.options.Log.Debug("send a copy to a replica", "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// checkShared returns an error if a definition file contains a secret, which must not leave the server.
func checkShared(d *config.Definition, files *replication.Definitions) error {
	secrets := map[string]string{"jwtSecret": d.Settings.Users.Secret}
	secrets["the secret of images"] = d.Settings.Upload.Images.Secret
	if s3 := d.Settings.Upload.S3; s3 != nil {
		secrets["the secret key of the bucket"] = s3.SecretKey
	}
	if smtp := d.Settings.Users.Accounts.Mail.SMTP; smtp != nil {
		secrets["the password of the mail server"] = smtp.Password
	}
	for _, p := range d.Settings.Users.Providers {
		secrets["the client secret of "+p.Name] = p.ClientSecret
	}
	for name, secret := range secrets {
		for file, text := range files.Files {
			if secret != "" && strings.Contains(text, secret) {
				return &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true,
					Message: fmt.Sprintf("%s contains %s, which is not sent to replicas; write it as ${NAME} and "+
						"give the value in the environment or in .env of each server", file, name)}
			}
		}
	}
	return nil
}

// GET /api/_replica/files: the uploaded files with their checksums.
func (s *Origin) sendFiles(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	list, err := s.sums.List(r.Context(), s.options.Uploads())
	if err != nil {
		return err
	}
	frames, buffer := s.frames(w, r, l, nil)
	if err := frames.JSON(replication.FilesFrame, list); err != nil {
		return err
	}
	return buffer.Flush()
}
