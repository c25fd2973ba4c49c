package repository

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lectern/internal/servertest"
)

// TestClusterExample serves the three nodes of examples/cluster, and writes at one what it reads at another.
func TestClusterExample(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	program := filepath.Join(t.TempDir(), "lectern")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir, api, nodes := filepath.Join(t.TempDir(), "three"), servertest.FreePorts(t, 3), servertest.FreePorts(t, 3)
	script := exec.Command("sh", "examples/cluster/three-nodes.sh", dir)
	script.Env = append(os.Environ(), "LECTERN="+program, "API_PORT="+strconv.Itoa(api),
		"NODE_PORT="+strconv.Itoa(nodes))
	var printed bytes.Buffer
	script.Stdout, script.Stderr = &printed, &printed
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := errors.Join(script.Process.Signal(syscall.SIGTERM), ignoreExit(script.Wait()))
		if err != nil || t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
			for _, name := range logs {
				text, _ := os.ReadFile(name)
				t.Logf("%s:\n%s", name, text)
			}
			t.Errorf("%v\n%s", err, printed.String())
		}
	})
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), program, args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	node1, node3 := filepath.Join(dir, "node1"), filepath.Join(dir, "node3")
	var status struct {
		Leader string
		Nodes  []struct{ Voter bool }
	}
	voters := 0
	servertest.Await(t, "three nodes have a vote", func() error {
		out, err := run("cluster", "status", node3, "--json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &status)
		}
		voters = 0
		for _, m := range status.Nodes {
			if m.Voter {
				voters++
			}
		}
		if voters < 3 {
			return fmt.Errorf("%d have, %v: %s", voters, err, out)
		}
		return nil
	})
	if status.Leader != "node1" {
		t.Errorf("the leader is %q", status.Leader)
	}
	key, err := run("token", "create", node1, "trial", "--type", "full-access")
	if err != nil {
		t.Fatal(key)
	}
	at := func(i int) *client {
		return &client{base: "http://127.0.0.1:" + strconv.Itoa(api+i), keys: map[string]string{"editor": key}}
	}
	for i := range 3 { // a node of the cluster may have yet to open its project
		awaitReady(t, at(i).base)
	}
	made, text := at(1).do(t, "editor", "POST", "/api/articles",
		`{"data": {"title": "Three copies", "slug": "three-copies"}}`)
	if made.StatusCode != http.StatusCreated {
		t.Fatal(text)
	}
	request, err := http.NewRequest("GET", at(2).base+"/api/articles?filters[slug]=three-copies", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Lectern-Revision", made.Header.Get("Lectern-Revision"))
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if body, err := io.ReadAll(got.Body); err != nil || !strings.Contains(string(body), "Three copies") ||
		got.Header.Get("Lectern-Replica-Age") == "" {
		t.Errorf("%v %s %v", err, body, got.Header)
	}
	for _, arguments := range [][]string{{node3}, {node1, "node3"}} { // node3 has no definitions of its own
		if out, err := run(append([]string{"cluster", "transfer"}, arguments...)...); err != nil {
			t.Error(out)
		}
	}
	if out, err := run("cluster", "remove", node3, "node1"); err != nil {
		t.Error(out)
	}
	servertest.Await(t, "the node knows that it was removed", func() error {
		if out, _ := run("health", node1); !strings.HasPrefix(out, "removed: ") {
			return errors.New(out)
		}
		return nil
	})
	if out, err := run("cluster", "status", node3); err != nil || strings.Contains(out, "node1") ||
		!strings.Contains(out, "the leader is node3") {
		t.Errorf("%v %s", err, out)
	}
}

// awaitReady waits until a server is ready for requests.
func awaitReady(t *testing.T, base string) {
	t.Helper()
	servertest.Await(t, base+" is ready", func() error {
		answer, err := http.Get(base + "/_ready")
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
}

// ignoreExit returns nil for the error of a process that was told to stop.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}
