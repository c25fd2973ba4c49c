package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/internal/budget"
	"lectern/store/evolve"
)

// The control socket is a socket in the data directory on which a running server answers those who may open it: the user
// that it runs as. It speaks HTTP:
//
//	GET    /server          serverInfo
//	GET    /tokens          []auth.Token
//	POST   /tokens          auth.Declaration → createdToken
//	POST   /tokens/{name}/rotate?grace= → createdToken
//	DELETE /tokens/{name}   → auth.Token
//	GET    /uploads         Uploads
//	GET    /backup          the file
//	GET    /export          JSON Lines
//	GET    /problems        what is wrong with the store: a list of texts
//	GET    /downloads/{id}  controlError: why a download ended before its end
//	POST   /import?partial= JSON Lines → importEvents, one a line
//	POST   /foresee         definitionsSent → foreseen
//	POST   /fill            []documents.Filling → documents.Filled
//	POST   /migrate         evolve.Migrations → evolve.Removed
//
// What goes wrong is controlError with status 400 or above; a download that fails in the middle ends without its last chunk.
type control struct {
	project   *Project
	ln        *net.UnixListener
	path      string
	base      string
	downloads downloads
}

type serverInfo struct {
	PID     int    `json:"pid"`
	Base    string `json:"base"`
	Version string `json:"version"`
	// Memory is that of all requests together.
	Memory budget.Stats `json:"memory"`
	// Load is what the server has to do now, and what it had to refuse.
	Load Stats `json:"load"`
}

type createdToken struct {
	Token auth.Token `json:"token"`
	Key   string     `json:"key"`
}

type controlError struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

// An importEvent is progress, or the end of an import.
type importEvent struct {
	Progress *documents.ImportProgress `json:"progress,omitempty"`
	Result   *documents.ImportResult   `json:"result,omitempty"`
	Problems documents.LineProblems    `json:"problems,omitempty"`
	Error    string                    `json:"error,omitempty"`
}

// controlPath is the control socket of a data directory.
func controlPath(data string) string { return filepath.Join(data, controlName) }

// listenControl makes the control socket of a server. The data directory is locked, so a socket that is there already was left by
// one that is gone, and is replaced.
func (p *Project) listenControl(base string) (*control, error) {
	// It is made in a directory that is closed to others and moved out when it is closed itself.
	closed, err := os.MkdirTemp(p.data.path, ".control-")
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	defer os.RemoveAll(closed)
	temporary, path := filepath.Join(closed, controlName), controlPath(p.data.path)
	ln, err := listenUnix(temporary)
	if err != nil {
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	ln.SetUnlinkOnClose(false)
	err = os.Chmod(temporary, 0o600)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("make the control socket: %w", err)
	}
	return &control{project: p, ln: ln, path: path, base: base}, nil
}

// Close takes the socket away.
func (c *control) Close() error {
	os.Remove(c.path)
	return c.ln.Close()
}

// serve answers until ctx ends; what is under way is then cut off.
func (c *control) serve(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /server", c.getServer)
	mux.HandleFunc("GET /tokens", c.getTokens)
	mux.HandleFunc("POST /tokens", c.postToken)
	mux.HandleFunc("POST /tokens/{name}/rotate", c.rotateToken)
	mux.HandleFunc("DELETE /tokens/{name}", c.deleteToken)
	mux.HandleFunc("GET /uploads", c.getUploads)
	mux.HandleFunc("GET /backup", c.getBackup)
	mux.HandleFunc("GET /export", c.getExport)
	mux.HandleFunc("GET /problems", c.getProblems)
	mux.HandleFunc("GET /downloads/{id}", c.getDownload)
	mux.HandleFunc("POST /import", c.postImport)
	mux.HandleFunc("POST /foresee", c.postForesee)
	mux.HandleFunc("POST /fill", c.postFill)
	mux.HandleFunc("POST /migrate", c.postMigrate)
	work, cut := context.WithCancel(context.Background())
	defer cut()
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return work },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(c.ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the control socket: %w", err)
	case <-ctx.Done():
	}
	cut()
	drain, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		srv.Close()
		return fmt.Errorf("stop the control socket: %w", err)
	}
	return nil
}

func (c *control) getServer(w http.ResponseWriter, _ *http.Request) {
	writeControl(w, serverInfo{PID: os.Getpid(), Base: c.base, Version: c.project.options.Version, Memory: c.project.memory.Stats(), Load: c.project.server.Load().Stats()})
}

func (c *control) getTokens(w http.ResponseWriter, r *http.Request) {
	tokens, err := c.project.Tokens(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, tokens)
}

func (c *control) postToken(w http.ResponseWriter, r *http.Request) {
	var d auth.Declaration
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&d); err != nil {
		c.fail(w, r, err)
		return
	}
	tok, key, err := c.project.CreateToken(r.Context(), d)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, createdToken{tok, key})
}

func (c *control) rotateToken(w http.ResponseWriter, r *http.Request) {
	grace, err := time.ParseDuration(r.URL.Query().Get("grace"))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	tok, key, err := c.project.RotateToken(r.Context(), r.PathValue("name"), grace)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, createdToken{tok, key})
}

func (c *control) deleteToken(w http.ResponseWriter, r *http.Request) {
	tok, err := c.project.RevokeToken(r.Context(), r.PathValue("name"))
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, tok)
}

func (c *control) getUploads(w http.ResponseWriter, r *http.Request) {
	n, err := c.project.Uploads(r.Context())
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, n)
}

func (c *control) postMigrate(w http.ResponseWriter, r *http.Request) {
	var ms evolve.Migrations
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&ms)
	var removed evolve.Removed
	if err == nil {
		removed, err = c.project.settle(r.Context(), ms)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, removed)
}

func (c *control) postFill(w http.ResponseWriter, r *http.Request) {
	var fillings []documents.Filling
	var filled documents.Filled
	err := json.NewDecoder(io.LimitReader(r.Body, maxDefinitions)).Decode(&fillings)
	if err == nil {
		filled, err = c.project.Fill(r.Context(), fillings, nil)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeControl(w, filled)
}

// postImport copies the file into the data directory first, since it is read several times.
func (c *control) postImport(w http.ResponseWriter, r *http.Request) {
	partial, _ := strconv.ParseBool(r.URL.Query().Get("partial"))
	file, err := spool(r.Body, c.project.data.path)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	defer file.Close()
	events := json.NewEncoder(c.limits().pacedWriter(r.Context(), w)) // progress is written with a snapshot held
	flush := http.NewResponseController(w)
	result, err := c.project.Import(r.Context(), file, partial, func(p documents.ImportProgress) {
		events.Encode(importEvent{Progress: &p})
		flush.Flush()
	})
	end := importEvent{Result: &result}
	if err != nil && !errors.As(err, &end.Problems) {
		end.Error = err.Error()
	}
	events.Encode(end)
}

func (c *control) fail(w http.ResponseWriter, _ *http.Request, err error) {
	e := controlError{Error: err.Error()}
	for code, known := range controlCodes {
		if errors.Is(err, known) {
			e.Code = code
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	json.NewEncoder(w).Encode(e)
}

// controlCodes are the errors that pass through the socket as what they are.
var controlCodes = map[string]error{"exists": auth.ErrTokenExists, "missing": auth.ErrNoToken, "unasked": evolve.ErrNotAsked}

func writeControl(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// spool copies r into a file of dir that goes away when it is closed.
func spool(r io.Reader, dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, ".import-")
	if err != nil {
		return nil, fmt.Errorf("copy the file: %w", err)
	}
	os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return nil, fmt.Errorf("copy the file: %w", err)
	}
	_, err = f.Seek(0, io.SeekStart)
	return f, err
}

// maxSocketPath is how long the path of a socket may be everywhere.
const maxSocketPath = 100

// listenUnix listens at a path of any length: a longer one than the kernel takes is named by way of the open directory.
func listenUnix(path string) (*net.UnixListener, error) {
	short, done, err := shortSocketPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
}

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
