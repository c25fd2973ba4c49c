package simulation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// A Server is a process that serves a project directory and has printed {"base":…,"tokens":{"full":…}}.
type Server struct {
	Base  string
	Token string
	cmd   *exec.Cmd
	done  chan error
	log   bytes.Buffer
}

// StartServer runs a command and waits for its line. What it prints as errors is kept for Log.
func StartServer(command ...string) (*Server, error) {
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
	s.Base, s.Token = ready.Base, ready.Tokens["full"]
	return s, nil
}

// Stop ends the process in good order.
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

// Kill ends the process at once, as a crash would.
func (s *Server) Kill() {
	s.cmd.Process.Kill()
	<-s.done
}

var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 2 * time.Second}}

// Do sends a request and returns the status and the decoded body.
func (s *Server) Do(method, path string, body any) (int, any, error) {
	var send io.Reader
	if body != nil {
		send = bytes.NewReader([]byte(jsonOf(body)))
	}
	req, err := http.NewRequest(method, s.Base+path, send)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("%w (sent %s)", err, jsonOf(body))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	if len(data) == 0 {
		return resp.StatusCode, nil, nil
	}
	return resp.StatusCode, decode(data), nil
}
