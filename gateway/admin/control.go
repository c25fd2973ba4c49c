package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"lectern/auth"
	"lectern/documents/misfits"
	"lectern/documents/transfer"
	"lectern/gateway/internal/audit"
	"lectern/gateway/internal/paced"
	"lectern/internal/budget"
	"lectern/internal/tempfile"
	"lectern/store"
	"lectern/store/evolve"
	"lectern/webhooks"
)

// A Control answers requests on the control socket of a running server. The socket is in the data directory, and only
// the user that runs the server can open it. It speaks HTTP:
//
//	GET    /server          serverInfo
//	GET    /ready           Condition: whether the server should get requests
//	GET    /status          Status
//	GET    /tokens          []auth.Token
//	POST   /tokens          auth.Declaration → createdToken
//	POST   /tokens/{name}/rotate?grace= → createdToken
//	DELETE /tokens/{name}   → auth.Token
//	GET    /users           []auth.Account
//	POST   /users           auth.NewAccount → auth.Account
//	POST   /users/change    sentChange → auth.Account
//	GET    /users/{name}/sessions → []auth.Session
//	POST   /users/end-sessions sentEnd → int
//	POST   /explain         Question → Explained
//	POST   /desk/link?user= → the link
//	GET    /webhooks        []webhooks.Status
//	GET    /webhooks/{name}/log → webhooks.Log
//	POST   /webhooks/{name}/test → webhooks.Test
//	POST   /webhooks/{name}/replay?since= → webhooks.Replayed
//	GET    /uploads         Uploads
//	GET    /backup          a backup, as a tar archive
//	GET    /base            a backup without the uploads
//	GET    /log?after=      backup.Updates: what the log has after a position, and what follows
//	GET    /pin             keeps the uploaded files as they are, as long as the client reads the empty answer
//	GET    /audit?…         JSON Lines: what happened, as the log has it (see AuditFilter)
//	GET    /verify?expect=  store.Chain: whether the log is whole
//	POST   /compact         → compactEvents, one a line
//	GET    /export          JSON Lines
//	GET    /downloads/{id}  why a backup or export failed: controlError
//	GET    /debug/{kind}?time= a Recording
//	GET    /problems        the problems of the store: a list of texts
//	POST   /import?partial=&keep=&taken= JSON Lines → importEvents, one a line
//	POST   /foresee         sentDefinitions → foreseen
//	POST   /fill            []misfits.Filling → misfits.Filled
//	POST   /migrate         evolve.Migrations → evolve.Removed
//	GET    /cluster         ClusterStatus; this and the next are answered by nodes of a cluster
//	POST   /cluster/add, /cluster/remove, /cluster/transfer: ClusterNode → {}
//
// An error is answered by status 400 and a controlError. A download that fails after it has begun ends without its last
// chunk.
type Control struct {
	// Project is the project that the server serves.
	Project *Local
	// Base is the URL of the server.
	Base string
	// Memory is the budget of all requests.
	Memory *budget.Budget
	// Load returns the counters of the server.
	Load func() any
	// Readiness returns why the server should get no requests; nil if it should.
	Readiness func() *Condition
	// Replica returns how far a replica is behind its origin; nil: the server is none.
	Replica func() *ReplicaState
	// Status returns how the server is, and what it has done in the last day.
	Status func(context.Context) Status
	// Replicas lists the replicas that follow the server.
	Replicas func() []Following
	// DeskLink returns a link that logs a browser in at the desk of the server: the user of a name, address or id, or
	// an owner if that is "".
	DeskLink func(user string) (string, error)
	// Explain answers a read and tells how the store found the answer.
	Explain func(context.Context, Question) (Explained, error)
	// Settle carries out migrations that changed files of the project need, and then serves the changed files.
	Settle func(context.Context, evolve.Migrations) (evolve.Removed, error)
	// ByLeader, if set, wraps the handler of the requests that are for the leader of a cluster, which may be another
	// server: that answers them.
	ByLeader func(http.Handler) http.Handler
	// Cluster administers the cluster of which the server is a node; nil: it is alone.
	Cluster Cluster
	// AnswerRate is the rate at which a client must at least read, in bytes a second.
	AnswerRate int64
	Log        *slog.Logger

	ln        *net.UnixListener
	downloads downloads
	recording sync.Mutex // held while a recording is made
}

type serverInfo struct {
	PID     int          `json:"pid"`
	Base    string       `json:"base"`
	Version string       `json:"version"`
	Memory  budget.Stats `json:"memory"` // of Control.Memory
	Load    any          `json:"load"`   // the counters that Control.Load returns
}

type createdToken struct {
	Token auth.Token `json:"token"`
	Key   string     `json:"key"`
}

type controlError struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

// An importEvent is a line of the answer to an import. It holds progress or, in the last line, the result.
type importEvent struct {
	Progress *transfer.ImportProgress `json:"progress,omitempty"`
	Result   *transfer.ImportResult   `json:"result,omitempty"`
	Problems transfer.LineProblems    `json:"problems,omitempty"`
	Error    string                   `json:"error,omitempty"`
}

// A compactEvent is a line of the answer to a request to compact. It holds progress in bytes or, in the last line, the
// result or the error.
type compactEvent struct {
	Done   int64             `json:"done,omitempty"`
	Total  int64             `json:"total,omitempty"`
	Result *store.Compaction `json:"result,omitempty"`
	Error  string            `json:"error,omitempty"`
}

// Listen creates the control socket. It replaces an existing socket, which no process can be using, since this process
// has locked the data directory.
func (c *Control) Listen() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make the control socket: %w", err)
		}
	}()
	// Other users cannot enter the temporary directory, so they cannot connect before the mode of the socket is set.
	closed, err := os.MkdirTemp(c.Project.Data.Path, ".control-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(closed)
	temporary := filepath.Join(closed, controlName)
	ln, err := listenUnix(temporary)
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	err = os.Chmod(temporary, 0o600)
	if err == nil {
		err = os.Rename(temporary, c.path())
	}
	if err != nil {
		ln.Close()
		return err
	}
	c.ln = ln
	return nil
}

func (c *Control) path() string { return c.Project.Data.Join(controlName) }

// Close removes the socket.
func (c *Control) Close() error {
	os.Remove(c.path())
	return c.ln.Close()
}

// Serve answers requests until ctx ends. It then cancels the requests that are being answered and waits for them.
func (c *Control) Serve(ctx context.Context) error {
	work, cancelWork := context.WithCancel(context.Background())
	defer cancelWork()
	srv := &http.Server{
		Handler: c.forwarding(c.Handler()), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return work },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(c.ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the control socket: %w", err)
	case <-ctx.Done():
	}
	cancelWork()
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		srv.Close()
		return fmt.Errorf("stop the control socket: %w", err)
	}
	return nil
}

// forwarding wraps the handler of requests: those that change something, or ask about what the leader of a cluster
// alone does, are for the leader.
func (c *Control) forwarding(h http.Handler) http.Handler {
	if c.ByLeader == nil {
		return h
	}
	byLeader := c.ByLeader(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/webhooks")
		switch r.URL.Path {
		case "/compact", "/export/strapi", "/explain": // of this server's own file
			reads = true
		case "/cluster/add", "/cluster/remove", "/cluster/transfer": // Cluster has the leader change the cluster
			reads = true
		}
		if reads {
			h.ServeHTTP(w, r)
		} else {
			byLeader.ServeHTTP(w, r)
		}
	})
}

// Handler returns the handler of the requests.
func (c *Control) Handler() http.Handler {
	p := c.Project
	mux := http.NewServeMux()
	mux.Handle("GET /server", answer(func(*http.Request) (serverInfo, error) {
		return serverInfo{PID: os.Getpid(), Base: c.Base, Version: p.Version, Memory: c.Memory.Stats(), Load: c.Load()},
			nil
	}))
	mux.Handle("GET /ready", answer(c.readiness))
	mux.Handle("GET /status", answer(func(r *http.Request) (Status, error) { return c.Status(r.Context()), nil }))
	mux.Handle("GET /replicas", answer(func(*http.Request) ([]Following, error) { return c.Replicas(), nil }))
	mux.Handle("GET /tokens", answer(func(r *http.Request) ([]auth.Token, error) { return p.Tokens(r.Context()) }))
	mux.Handle("POST /tokens", answerJSON(maxJSON, c.createToken))
	mux.Handle("POST /tokens/{name}/rotate", answer(c.rotateToken))
	mux.Handle("DELETE /tokens/{name}",
		answer(func(r *http.Request) (auth.Token, error) { return p.RevokeToken(r.Context(), r.PathValue("name")) }))
	c.userRoutes(mux)
	c.deskRoutes(mux)
	mux.Handle("GET /webhooks",
		answer(func(r *http.Request) ([]webhooks.Status, error) { return p.Webhooks(r.Context()) }))
	mux.Handle("GET /webhooks/{name}/log",
		answer(func(r *http.Request) (webhooks.Log, error) { return p.WebhookLog(r.Context(), r.PathValue("name")) }))
	mux.Handle("POST /webhooks/{name}/test",
		answer(func(r *http.Request) (webhooks.Test, error) { return p.TestWebhook(r.Context(), r.PathValue("name")) }))
	mux.Handle("POST /webhooks/{name}/replay", answer(c.replayWebhook))
	mux.Handle("GET /uploads", answer(func(r *http.Request) (Uploads, error) { return p.Uploads(r.Context()) }))
	mux.HandleFunc("GET /backup", func(w http.ResponseWriter, r *http.Request) { c.download(w, r, p.Backup) })
	mux.HandleFunc("GET /base", func(w http.ResponseWriter, r *http.Request) { c.download(w, r, p.base) })
	mux.HandleFunc("GET /log", c.sendLog)
	mux.HandleFunc("GET /pin", c.pin)
	mux.HandleFunc("GET /audit", func(w http.ResponseWriter, r *http.Request) {
		filter := audit.FilterOf(r.URL.Query())
		c.download(w, r, func(ctx context.Context, w io.Writer) error { return p.Audit(ctx, filter, w) })
	})
	mux.Handle("GET /verify", answer(func(r *http.Request) (store.Chain, error) {
		return p.VerifyLog(r.Context(), r.URL.Query().Get("expect"))
	}))
	mux.HandleFunc("POST /compact", c.compact)
	mux.HandleFunc("GET /export", func(w http.ResponseWriter, r *http.Request) { c.download(w, r, p.Export) })
	mux.HandleFunc("POST /export/strapi", c.exportStrapi)
	mux.Handle("GET /downloads/{id}", answer(func(r *http.Request) (controlError, error) {
		return controlError{Error: c.downloads.reason(r.PathValue("id"))}, nil
	}))
	mux.HandleFunc("GET /debug/{kind}", c.debug)
	mux.Handle("GET /problems", answer(c.problems))
	mux.HandleFunc("POST /import", c.importFile)
	mux.Handle("POST /foresee", answerJSON(maxDefinitions, c.foresee))
	mux.Handle("POST /fill",
		answerJSON(maxFillings, func(ctx context.Context, fillings []misfits.Filling) (misfits.Filled, error) {
			return p.Fill(ctx, fillings, nil)
		}))
	mux.Handle("POST /explain", answerJSON(maxJSON, c.Explain))
	mux.Handle("POST /migrate", answerJSON(maxJSON, c.Settle))
	c.clusterRoutes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := store.Principal{Kind: "command", Name: r.Header.Get(commandHeader)}
		mux.ServeHTTP(w, r.WithContext(store.WithPrincipal(r.Context(), by)))
	})
}

// commandHeader is the header with the name of the command that asks, for the log.
const commandHeader = "Lectern-Command"

// answer returns a handler that answers with the result of f as JSON, or with its error as a controlError.
func answer[T any](f func(*http.Request) (T, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		if err != nil {
			writeError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // fails only if the client is gone
	})
}

// Limits on the JSON of a request, in bytes.
const (
	maxJSON        = 1 << 20
	maxFillings    = 16 << 20 // the values come from a command line, which systems limit to a few MiB
	maxDefinitions = 64 << 20 // all definitions of a project
)

// answerJSON returns a handler that decodes the JSON body of a request, passes it to f and answers as answer does. It
// refuses a body of more than limit bytes.
func answerJSON[In, Out any](limit int64, f func(context.Context, In) (Out, error)) http.Handler {
	return answer(func(r *http.Request) (out Out, err error) {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, limit)).Decode(&in); err != nil {
			return out, fmt.Errorf("read the request: %w", err)
		}
		return f(r.Context(), in)
	})
}

func (c *Control) problems(r *http.Request) ([]string, error) {
	reserve, release, err := c.Project.Reserve(r.Context())
	if err != nil {
		return nil, err
	}
	defer release()
	return texts(c.Project.Current().Store.Problems(r.Context(), reserve))
}

func (c *Control) createToken(ctx context.Context, d auth.Declaration) (createdToken, error) {
	token, key, err := c.Project.CreateToken(ctx, d)
	return createdToken{token, key}, err
}

func (c *Control) rotateToken(r *http.Request) (createdToken, error) {
	grace, err := time.ParseDuration(r.URL.Query().Get("grace"))
	if err != nil {
		return createdToken{}, err
	}
	token, key, err := c.Project.RotateToken(r.Context(), r.PathValue("name"), grace)
	return createdToken{token, key}, err
}

func (c *Control) replayWebhook(r *http.Request) (webhooks.Replayed, error) {
	var since time.Time
	if text := r.URL.Query().Get("since"); text != "" {
		if err := since.UnmarshalText([]byte(text)); err != nil {
			return webhooks.Replayed{}, err
		}
	}
	return c.Project.ReplayWebhook(r.Context(), r.PathValue("name"), since)
}

// importFile imports the body of a request. It first copies the body to a file, since an import reads it several times.
func (c *Control) importFile(w http.ResponseWriter, r *http.Request) {
	is := func(name string) bool {
		v, _ := strconv.ParseBool(r.URL.Query().Get(name))
		return v
	}
	file, err := spool(r.Body, c.Project.Data.Path)
	if err != nil {
		writeError(w, err)
		return
	}
	defer file.Close()
	control := http.NewResponseController(w)
	events := json.NewEncoder(
		paced.NewWriter(w, control, c.AnswerRate)) // the import holds a snapshot while it writes progress
	o := transfer.ImportOptions{Partial: is("partial"), Keep: is("keep"), KeepTaken: is("taken"),
		Progress: func(p transfer.ImportProgress) {
			events.Encode(importEvent{Progress: &p})
			control.Flush()
		}}
	result, err := c.Project.Import(r.Context(), file, o)
	end := importEvent{Result: &result}
	if err != nil && !errors.As(err, &end.Problems) {
		end.Error = describe(err)
	}
	events.Encode(end)
}

// compact compacts the store, and answers with the progress and the result.
func (c *Control) compact(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	events := json.NewEncoder(paced.NewWriter(w, control, c.AnswerRate))
	send := func(e compactEvent) {
		_ = events.Encode(e) // fails only if the client is gone
		_ = control.Flush()
	}
	result, err := c.Project.Compact(
		r.Context(), func(done, total int64) { send(compactEvent{Done: done, Total: total}) })
	if err != nil {
		send(compactEvent{Error: err.Error()})
		return
	}
	c.Log.Info("compacted the store", "before", result.Before, "after", result.After)
	send(compactEvent{Result: &result})
}

// writeError answers with an error as a controlError.
func writeError(w http.ResponseWriter, err error) {
	e := controlError{Error: describe(err)}
	for code, known := range controlCodes {
		if errors.Is(err, known) {
			e.Code = code
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(e)
}

// LostMajority says what to do if a cluster has no leader and gets none.
const LostMajority = "If a majority of the nodes of the cluster is lost for good, see `lectern cluster recover --help`"

// describe returns what the user of a command is told of an error.
func describe(err error) string {
	if errors.Is(err, store.ErrNotLeader) {
		return err.Error() + ". Repeat the command once the cluster has a leader, as `lectern cluster status` shows. " +
			LostMajority
	}
	return err.Error()
}

// controlCodes maps the codes in a controlError to the errors that they stand for, so that errors.Is works on the
// client's side.
var controlCodes = map[string]error{
	"exists": auth.ErrTokenExists, "missing": auth.ErrNoToken, "undeclared": auth.ErrUndeclared,
	"unasked": evolve.ErrNotAsked, "no-user": auth.ErrNoAccount, "many-users": auth.ErrManyAccounts,
	"no-sessions": auth.ErrNoSessions,
	"trimmed":     store.ErrTrimmed, "epoch": store.ErrOtherEpoch,
}

// spool copies r to an unnamed file in dir, whose space is freed when it is closed.
func spool(r io.Reader, dir string) (*os.File, error) {
	f, err := tempfile.New(dir)
	if err != nil {
		return nil, fmt.Errorf("copy the file: %w", err)
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy the file: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

// maxSocketPath is the longest path of a socket, in bytes, that every system accepts.
const maxSocketPath = 100

// listenUnix listens on a Unix socket. Its path may be longer than the kernel accepts.
func listenUnix(path string) (*net.UnixListener, error) {
	short, done, err := shortSocketPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
}

// DialControl connects to the control socket of the server that runs on a data directory, whose path may be longer than
// the kernel accepts.
func DialControl(ctx context.Context, data string) (net.Conn, error) {
	short, done, err := shortSocketPath(filepath.Join(data, controlName))
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", short)
}

// shortSocketPath returns another path of the same socket that is short enough for the kernel. The path is valid until
// done is called. On Linux it goes through /proc to the opened directory; other systems get path itself.
func shortSocketPath(path string) (short string, done func(), err error) {
	if len(path) <= maxSocketPath || runtime.GOOS != "linux" {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
