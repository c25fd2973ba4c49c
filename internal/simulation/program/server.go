package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A Server is a process that serves a project, and the tokens of its clients.
type Server struct {
	Base    string
	Token   string
	Limited string            // token with limited permissions
	Users   map[string]string // tokens of users who logged in, by name
	cmd     *exec.Cmd
	done    chan error
	log     bytes.Buffer
}

// Start runs a command and waits until the server is ready: until it has printed {"base":…,"tokens":{"full":…}}. If
// that fails, the error contains the standard error of the command.
func Start(command ...string) (*Server, error) {
	s := &Server{cmd: exec.Command(command[0], command[1:]...), done: make(chan error, 1)}
	s.cmd.Stderr = &s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	go func() {
		io.Copy(io.Discard, out)
		s.done <- s.cmd.Wait()
	}()
	var ready struct {
		Base   string
		Tokens map[string]string
	}
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("start %v: %w: %s", command, err, s.log.String())
	}
	s.Base, s.Token, s.Limited = ready.Base, ready.Tokens["full"], ready.Tokens["limited"]
	return s, nil
}

// Stop asks the process to end and waits for it.
func (s *Server) Stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
		return nil
	case <-time.After(20 * time.Second):
		s.cmd.Process.Kill()
		return fmt.Errorf("server did not stop when asked to")
	}
}

// Kill ends the process at once, like a crash.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.done
}

// KillAfter ends the process at once when a time has passed. Ended tells when that was.
func (s *Server) KillAfter(d time.Duration) {
	time.AfterFunc(d, func() { _ = s.cmd.Process.Kill() }) // it may have ended
}

// Ended returns a channel with one value once the process has ended.
func (s *Server) Ended() <-chan error { return s.done }

// Client sends the requests of all clients.
var Client = &http.Client{
	Timeout:   30 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 2 * time.Second},
}

// Do sends a request and returns the status and the decoded body.
func (s *Server) Do(method, path string, body any) (int, any, error) {
	status, data, err := s.Send(s.Token, method, path, body)
	if err != nil || len(data) == 0 {
		return status, nil, err
	}
	return status, Decode(data), nil
}

// GraphQL sends an operation and returns the status and the body.
func (s *Server) GraphQL(limited bool, query string, variables map[string]any) (int, []byte, error) {
	token := s.Token
	if limited {
		token = s.Limited
	}
	return s.Send(token, "POST", "/graphql", map[string]any{"query": query, "variables": variables})
}

// Send sends a request with a token, or none if it is "". body is sent as JSON, unless it is nil.
func (s *Server) Send(token, method, path string, body any) (int, []byte, error) {
	if body == nil {
		return s.sendAs(token, method, path, "", nil)
	}
	return s.sendAs(token, method, path, "application/json", bytes.NewReader([]byte(JSON(body))))
}

func (s *Server) sendAs(token, method, path, typ string, send io.Reader) (int, []byte, error) {
	req, err := http.NewRequest(method, s.Base+path, send)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if typ != "" {
		req.Header.Set("Content-Type", typ)
	}
	resp, err := Client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

// Upload uploads a file.
func (s *Server) Upload(name string, content []byte) (int, []byte, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("files", name)
	if err != nil {
		return 0, nil, err
	}
	if _, err := part.Write(content); err != nil {
		return 0, nil, err
	}
	if err := form.Close(); err != nil {
		return 0, nil, err
	}
	return s.sendAs(s.Token, "POST", "/api/upload", form.FormDataContentType(), &body)
}

// JSON returns a value as JSON, without escapes for HTML.
func JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Decode returns the value that a text says in JSON, with numbers as json.Number; or else the text.
func Decode(data []byte) any {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(data)
	}
	return v
}
