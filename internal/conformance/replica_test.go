package conformance

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/servertest"
)

var allReplicated = flag.Bool("replicated", false, "put the reads of all suites to a replica, not of a few")

// replicatedSuites are put to a replica without the flag.
var replicatedSuites = []string{"rest-crud-basics", "versions-publish", "graphql-query-shapes"}

// writesBetween is how many writes of a suite there are between two comparisons. Another follows at its end.
const writesBetween = 20

// TestReplicaAnswersSuites replays suites on an origin that a replica follows. Several times, and at the end, it puts
// all reads of the suite so far to both. They must answer the same bytes and headers.
func TestReplicaAnswersSuites(t *testing.T) {
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		t.Fatal(err)
	}
	compared, replayed := 0, 0
	for _, s := range suites {
		if *allReplicated || slices.Contains(replicatedSuites, s.Name) {
			t.Run(s.Name, func(t *testing.T) {
				compared += newReplicated(t, s.ProjectDir()).replay(s)
				replayed++
			})
		}
	}
	t.Logf("%d suites, %d reads compared", replayed, compared)
}

// A replicated project is served by an origin and by a replica that follows it.
type replicated struct {
	*testing.T
	origin, replica *Target
	reads           []suiteRead
}

// A suiteRead is a step that changes nothing, with the values that earlier steps had saved.
type suiteRead struct {
	step *Step
	vars Vars
}

func newReplicated(t *testing.T, project string) *replicated {
	dir, copied := t.TempDir(), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(project)); err != nil {
		t.Fatal(err)
	}
	shareSecret(t, dir, copied)
	origin := serve(t, dir, nil)
	ready, ended := make(chan gateway.Ready, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		ended <- gateway.Serve(ctx, copied, gateway.Options{
			Addr: "127.0.0.1:0", Production: true,
			Follow: &gateway.Follow{URL: origin.Base, Token: origin.Tokens["full"]},
			Log: slog.New(slog.NewTextHandler(servertest.Failing{TB: t},
				&slog.HandlerOptions{Level: slog.LevelError})),
			Ready: func(r gateway.Ready) { ready <- r },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the replica: %v", err)
		}
	})
	select {
	case r := <-ready:
		return &replicated{T: t, origin: origin, replica: &Target{Base: r.Base, Tokens: origin.Tokens}}
	case err := <-ended:
		ended <- nil
		t.Fatalf("the replica has ended: %v", err)
		return nil
	}
}

// shareSecret makes the secret of a project's JWTs a variable, which both servers get. A replica is not given secrets.
func shareSecret(t *testing.T, dirs ...string) {
	const secret = "usersecretusersecretusersecret"
	name := filepath.Join(dirs[0], "config", "plugins.yaml")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.ReplaceAll(string(text), secret, "${TEST_SECRET}")), 0o600)
	}
	for _, dir := range dirs {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, ".env"), []byte("TEST_SECRET="+secret+"\n"), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replay sends the steps of a suite to the origin, and compares reads. It returns how many it has compared.
func (c *replicated) replay(s *Suite) (compared int) {
	m := NewMatcher()
	writes := 0
	for i := range s.Steps {
		step := &s.Steps[i]
		vars := maps.Clone(m.Vars)
		m.exchange(c.origin, step) // TestSuites looks at the answers
		if step.reads() {
			c.reads = append(c.reads, suiteRead{step, vars})
		} else if writes++; writes%writesBetween == 0 {
			compared += c.compare()
		}
	}
	return compared + c.compare()
}

// reads reports whether a step only reads content. Routes of auth have effects of their own, and each server remembers
// persisted queries by itself.
func (s *Step) reads() bool {
	asked := s.Request.Path + string(s.Request.GraphQL)
	return (s.Request.GraphQL != nil || s.Method() == http.MethodGet) &&
		!strings.Contains(asked, "mutation") && !strings.Contains(asked, "persistedQuery") &&
		!strings.HasPrefix(asked, "/api/auth/")
}

// compare puts the reads so far to both servers, and waits until the replica has caught up. It returns how many reads
// it compared.
func (c *replicated) compare() int {
	late := time.Now().Add(20 * time.Second)
	for _, r := range c.reads {
		for {
			want, got := c.answer(c.origin, r), c.answer(c.replica, r)
			if want == got {
				break
			}
			if time.Now().After(late) {
				c.Errorf("%s: %s %s\nthe origin: %.2000s\nthe replica: %.2000s", r.step.Name, r.step.Method(),
					r.step.Request.Path, want, got)
				late = time.Now().Add(time.Second)
				break
			}
			// The replica says nothing when it has caught up, so it is asked again.
			time.Sleep(5 * time.Millisecond)
		}
	}
	return len(c.reads)
}

// ownHeaders differ between two answers of one server, or say that a server is a replica. Each server has ETags of its
// own because the definition files take a value from the environment here.
var ownHeaders = []string{"Date", "Etag", "Lectern-Replica-Age", "X-Request-Id", "X-Response-Time"}

// A nonce is new in each answer with a page.
var nonce = regexp.MustCompile(`nonce(-|=")[A-Z0-9]+`)

// answer returns the status, the headers and the body of an answer as a text.
func (c *replicated) answer(t *Target, r suiteRead) string {
	req, err := t.request(r.step, r.vars)
	if err != nil {
		return err.Error() // a step that needs a value which no answer had
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	text := fmt.Sprintf("%d\n", res.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		if !slices.Contains(ownHeaders, name) {
			text += fmt.Sprintf("%s: %s\n", name, res.Header[name])
		}
	}
	return nonce.ReplaceAllString(text+"\n"+string(body), "nonce")
}
