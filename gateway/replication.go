package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/admin"
	"lectern/gateway/internal/paced"
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/internal/admission"
	"lectern/jsontree"
	"lectern/store"
)

// replicationRoutes returns the routes by which replicas follow the server.
func (g *generation) replicationRoutes() []server.Route {
	prefix := g.Settings.REST.Prefix + "/_replica"
	route := func(path string, handle server.LongHandler) server.Route {
		return server.Route{Method: http.MethodGet, Path: prefix + path, Action: auth.FollowAction, Long: g.project.unlessPartial(handle), Streams: true, Unmetered: true}
	}
	return []server.Route{
		route("/log", g.project.sendLog),
		route("/copy", g.project.sendCopy),
		route("/definitions", g.project.sendDefinitions),
		route("/files", g.project.sendFiles),
		route("/position", g.project.sendPosition),
	}
}

var errNoLog = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true,
	Message: "this server keeps no log of changes (log.keep is 0 in config/server.yaml), so that it cannot be followed"}

// errReset returns the answer to a replica that must begin anew with a copy.
func errReset(err error) *apierror.Error {
	return &apierror.Error{Status: http.StatusGone, Name: "GoneError", NoDetails: true, Message: err.Error()}
}

// frames begins an answer that is a stream of frames. Its client must read at limits.answerRate. A pace, if there is one, limits the rate
// at which the frames are sent.
func (p *Project) frames(w http.ResponseWriter, r *http.Request, l *server.LongAnswer, pace *paced.Pace) (*replication.Writer, *bufio.Writer) {
	w.Header()["Content-Type"] = []string{"application/octet-stream"}
	w.Header()["No-Gzip-Compression"] = []string{"1"}
	rate := server.Limits(p.Definition().Settings.Server.Limits.WithDefaults()).AnswerRate
	var to io.Writer = paced.NewWriter(w, l, rate)
	if pace != nil {
		to = pace.Writer(r.Context(), to)
	}
	buffer := bufio.NewWriterSize(to, paced.Part)
	return replication.NewWriter(buffer), buffer
}

// partOf returns the part of the content that a replica asks for.
func (p *Project) partOf(r *http.Request) (store.Part, error) {
	part := replication.PartOf(r.URL.Query())
	if err := part.Check(p.Definition().Model); err != nil {
		return part, &apierror.Error{Status: http.StatusBadRequest, Name: "BadRequestError", NoDetails: true, Message: err.Error()}
	}
	return part, nil
}

// errPartial refuses replicas of a partial replica.
var errPartial = &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true, Reason: apierror.Replica,
	Message: "this server is a replica of a part of the content, which cannot be followed: follow its origin"}

// unlessPartial wraps a handler of the routes of replicas, which a partial replica refuses.
func (p *Project) unlessPartial(handle server.LongHandler) server.LongHandler {
	return func(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
		if !p.Store().Part().All() {
			return errPartial
		}
		return handle(w, r, l)
	}
}

// GET /api/_replica/log: the entries after the position since, and those to come.
func (p *Project) sendLog(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	since, err := store.ParsePosition(r.URL.Query().Get("since"))
	if err != nil {
		return errReset(err)
	}
	part, err := p.partOf(r)
	if err != nil {
		return err
	}
	if p.Definition().Settings.Server.Log.Keep == 0 {
		return errNoLog
	}
	frames, buffer := p.frames(w, r, l, nil)
	sender := &logSender{project: p, frames: frames, part: part, since: since, heartbeat: replication.HeartbeatOf(r.URL.Query().Get("heartbeat")), flush: func() error {
		if err := buffer.Flush(); err != nil {
			return err
		}
		return l.Control.Flush()
	}}
	var remove func()
	sender.follows, remove = p.replicas.add(admission.ClientOf(r.Context()), part, since)
	defer remove()
	return sender.run(r.Context())
}

// A logSender sends the entries of the log to one replica.
type logSender struct {
	project *Project
	frames  *replication.Writer
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
		g := l.project.generation.Load()
		committed := g.store.NextCommit() // before the snapshot is taken
		all, err := l.send(g)
		switch {
		case errors.Is(err, store.ErrRedefined):
			select {
			case <-g.replaced:
				continue
			case <-ctx.Done():
				return nil
			case <-l.project.stopping():
				return nil
			}
		case err != nil:
			return l.failed(ctx, err)
		case !all:
			continue
		}
		select {
		case <-committed:
		case <-g.replaced:
		case <-heartbeat.C:
		case <-ctx.Done():
			return nil
		case <-l.project.stopping():
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

// send sends the entries that the store has after l.since, maxSent bytes of them at most, and a Status if these are all.
func (l *logSender) send(g *generation) (all bool, err error) {
	status := replication.Status{Definitions: g.files.Hash()}
	next := l.since
	err = g.store.View(func(s *store.Snapshot) error {
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
func (p *Project) sendPosition(w http.ResponseWriter, _ *http.Request, _ *server.LongAnswer) error {
	at, err := positionOf(p.generation.Load().store)
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, jsontree.AppendString(nil, at.String()))
}

// GET /api/_replica/definitions: the definition files.
func (p *Project) sendDefinitions(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	g := p.generation.Load()
	if err := g.checkShared(); err != nil {
		return err
	}
	frames, buffer := p.frames(w, r, l, nil)
	if err := frames.JSON(replication.DefinitionsFrame, g.files); err != nil {
		return err
	}
	return buffer.Flush()
}

// GET /api/_replica/copy: the definition files and the store, at limits.copyRate. The replica checks what it has got for damage, because a
// check of the whole file would delay the origin's other requests.
func (p *Project) sendCopy(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	if p.Definition().Settings.Server.Log.Keep == 0 {
		return errNoLog
	}
	part, err := p.partOf(r)
	if err != nil {
		return err
	}
	begun := false
	g := p.generation.Load()
	if err := g.checkShared(); err != nil {
		return err
	}
	err = g.store.View(func(s *store.Snapshot) error {
		replication.AnnounceCopy(w.Header(), s.Size())
		frames, buffer := p.frames(w, r, l, p.copies)
		begun = true
		if err := frames.JSON(replication.DefinitionsFrame, g.files); err != nil {
			return err
		}
		if part.All() {
			_, err = s.CopyTo(frames.Chunks())
		} else {
			err = s.CopyPart(part, frames.PartEntry)
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
		p.log.Debug("send a copy to a replica", "error", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// loadWithFiles loads the definition of a project together with its definition files.
func loadWithFiles(dir string, load func() (*Definition, error)) (*Definition, error) {
	for range server.MaxRetries {
		before, err := replication.ReadDefinitions(os.DirFS(dir))
		if err != nil {
			before = &replication.Definitions{}
		}
		d, failed := load()
		if failed != nil {
			return nil, failed
		}
		if err != nil {
			return nil, err
		}
		after, err := replication.ReadDefinitions(os.DirFS(dir))
		if err != nil {
			return nil, err
		}
		if d.files = after; before.Hash() == after.Hash() {
			return d, nil
		}
	}
	return nil, errors.New("read the project: its files change while they are read")
}

// checkShared returns an error if a definition file contains a secret, which must not leave the server.
func (g *generation) checkShared() error {
	secrets := map[string]string{"jwtSecret": g.Settings.Users.Secret}
	secrets["the secret of images"] = g.Settings.Upload.Images.Secret
	if s3 := g.Settings.Upload.S3; s3 != nil {
		secrets["the secret key of the bucket"] = s3.SecretKey
	}
	if smtp := g.Settings.Users.Accounts.Mail.SMTP; smtp != nil {
		secrets["the password of the mail server"] = smtp.Password
	}
	for name, secret := range secrets {
		for file, text := range g.files.Files {
			if secret != "" && strings.Contains(text, secret) {
				return &apierror.Error{Status: http.StatusConflict, Name: "ConflictError", NoDetails: true,
					Message: fmt.Sprintf("%s contains %s, which is not sent to replicas; write it as ${NAME} and give the value in the environment or in .env of each server", file, name)}
			}
		}
	}
	return nil
}

// GET /api/_replica/files: the uploaded files with their checksums.
func (p *Project) sendFiles(w http.ResponseWriter, r *http.Request, l *server.LongAnswer) error {
	list, err := p.sums.List(r.Context(), p.Data.Join(admin.UploadsName))
	if err != nil {
		return err
	}
	frames, buffer := p.frames(w, r, l, nil)
	if err := frames.JSON(replication.FilesFrame, list); err != nil {
		return err
	}
	return buffer.Flush()
}
