package replicas

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/store"
)

var (
	kills  = flag.Int("kills", 5, "how often the replica is killed")
	writes = flag.Int("writes", 300, "how many writes the origin gets")
	seed   = flag.Uint64("seed", 0, "of the random choices; 0: a new one")
)

// replicaEnv makes the test program a replica: "URL KEY DIR ADDR", followed by the uids of types if it is to have only
// those, published.
const replicaEnv = "LECTERN_TEST_REPLICA"

func TestMain(m *testing.M) {
	if arguments := strings.Fields(os.Getenv(replicaEnv)); len(arguments) >= 4 {
		err := gateway.Serve(context.Background(), arguments[2], gateway.Options{
			Addr: arguments[3], LockWait: 10 * time.Second,
			Follow: &gateway.Follow{URL: arguments[0], Token: arguments[1], Silence: time.Second,
				Part: store.Part{Types: arguments[4:], Published: len(arguments) > 4}},
		})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// A world is an origin, a proxy before it, and a replica that follows it through the proxy.
type world struct {
	*testing.T
	rnd         *rand.Rand
	dir, base   string
	key         string
	project     *gateway.Project
	reloaded    chan error
	stop        func()
	link        *servertest.Link
	proxy       *servertest.Proxy
	replicaDir  string
	replicaAddr string
	replica     *servertest.Process
	documents   []string
	secret      string // the documentId of a secret
	attributes  int
	types       []string // that the replica has; nil: all
	reads       []string // that are put to both servers
}

func newWorld(t *testing.T, types []string, reads []string) *world {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	w := &world{T: t, types: types, reads: reads, rnd: rand.New(rand.NewPCG(*seed, 1)), dir: t.TempDir(),
		replicaDir: t.TempDir(), reloaded: make(chan error, 100)}
	w.define()
	w.permit()
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(w.dir, gateway.Options{
		Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Ready: func(r gateway.Ready) { ready <- r }, Reloaded: func(err error) { w.reloaded <- err },
	})
	w.must(err)
	w.project = p
	_, w.key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "sync", Kind: auth.FullAccess})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	w.stop = func() {
		cancel()
		w.must(errors.Join(<-ended, p.Close()))
	}
	w.base = (<-ready).Base
	status, answer, err := ask(http.MethodPost, w.base+"/api/secrets", w.key, `{"data":{"text":"hidden secret"}}`)
	if _, id, ok := strings.Cut(answer, `"documentId":"`); ok {
		w.secret, _, _ = strings.Cut(id, `"`)
	}
	if w.must(err); w.secret == "" {
		t.Fatal(status, answer)
	}
	w.link = &servertest.Link{}
	w.proxy = servertest.NewProxy(t, strings.TrimPrefix(w.base, "http://"),
		func(net.Conn) (forth, back *servertest.Link) { return w.link, w.link })
	w.replicaAddr = servertest.FreeAddress(t)
	w.replica = servertest.NewProcess(
		t, replicaEnv+"="+strings.Join(append([]string{"http://" + w.proxy.Addr(), w.key, w.replicaDir, w.replicaAddr},
			types...), " "), w.replicaDir)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	name = filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(name), 0o755))
	w.must(os.WriteFile(name+"~", []byte(text), 0o644))
	w.must(os.Rename(name+"~", name))
}

// define writes a definition with one attribute more than the last.
func (w *world) define() {
	text := "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\noptions: {draftAndPublish: true}\nattributes:\n  title: {type: string}\n" +
		"  next: {type: relation, relation: manyToMany, target: 'api::note.note', inversedBy: before}\n" +
		"  before: {type: relation, relation: manyToMany, target: 'api::note.note', mappedBy: next}\n"
	for i := range w.attributes {
		text += fmt.Sprintf("  extra%d: {type: integer, default: %d, index: %v}\n", i, i, i%2 == 0)
	}
	w.attributes++
	text += "  secret: {type: relation, relation: manyToMany, target: 'api::secret.secret'}\n"
	w.write("content-types/note.yaml", text)
	w.write("content-types/secret.yaml",
		"kind: collectionType\ninfo: {singularName: secret, pluralName: secrets, displayName: Secret}\nattributes: {text: {type: string}}\n")
}

// permit grants other permissions to the public than before.
func (w *world) permit() {
	actions := []string{"find", "findOne", "create", "update", "delete"}
	w.rnd.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
	actions = actions[:1+w.rnd.IntN(len(actions))]
	w.write("config/permissions.yaml", fmt.Sprintf("roles: {public: {api::note.note: [%s]}}\n# %d\n",
		strings.Join(actions, ", "), w.rnd.Uint64()))
}

func (w *world) awaitReload() {
	w.Helper()
	select {
	case err := <-w.reloaded:
		w.must(err)
	case <-time.After(20 * time.Second):
		w.Fatal("the origin does not reload")
	}
}

func ask(method, url, key, body string) (int, string, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// change makes a random change of content.
func (w *world) change(i int) {
	w.Helper()
	pick := func() string { return w.documents[w.rnd.IntN(len(w.documents))] }
	method, path, body := http.MethodPost, "/api/notes", fmt.Sprintf(`{"data":{"title":"published note %d"}}`, i)
	if w.rnd.IntN(2) == 0 {
		path, body = path+"?status=draft", fmt.Sprintf(`{"data":{"title":"hidden draft %d"}}`, i)
	}
	if len(w.documents) > 5 {
		switch w.rnd.IntN(10) {
		case 0:
			method, path, body = http.MethodDelete, "/api/notes/"+pick(), ""
			w.documents = slices.DeleteFunc(w.documents, func(id string) bool { return strings.HasSuffix(path, id) })
		case 1, 2, 3:
			method, path = http.MethodPut, "/api/notes/"+pick()
			body = fmt.Sprintf(`{"data":{"title":"changed %d","next":{"connect":["%s"],"disconnect":["%s"]},"secret":["%s"]}}`, i, pick(), pick(), w.secret)
		case 4:
			method, path, body = http.MethodPost, "/api/notes/"+pick()+"/actions/unpublish", "{}"
		case 5:
			method, path, body = http.MethodPut, "/api/notes/"+pick()+"?status=draft",
				fmt.Sprintf(`{"data":{"title":"hidden draft %d"}}`, i)
		case 6:
			method, path, body = http.MethodPut, "/api/secrets/"+w.secret,
				fmt.Sprintf(`{"data":{"text":"hidden secret %d"}}`, i)
		}
	}
	status, answer, err := ask(method, w.base+path, w.key, body)
	w.must(err)
	if status >= 300 && status != 404 { // a document that is not published cannot be unpublished
		w.Fatalf("%s %s %s: %d %s", method, path, body, status, answer)
	}
	if _, id, ok := strings.Cut(answer, `"documentId":"`); ok && method == http.MethodPost && status == 201 {
		w.documents = append(w.documents, id[:strings.IndexByte(id, '"')])
	}
}

// allReads are put to both servers at the end if the replica has all content, noteReads if it has published notes.
var allReads = append([]string{
	"/api/notes?populate=*&sort=title&pagination[pageSize]=100",
	"/api/notes?status=draft&sort=id&pagination[pageSize]=100&pagination[page]=2",
	"/api/secrets?sort=id&pagination[pageSize]=100",
}, noteReads...)

var noteReads = []string{
	"/api/notes?populate[0]=next&populate[1]=before&sort=title&pagination[pageSize]=100",
	"/api/notes?sort=id&pagination[pageSize]=100&pagination[page]=2",
	"/api/notes?filters[next][title][$contains]=1&fields[0]=title", "/api/notes?filters[extra0][$gte]=0&sort=title",
	"/api/i18n/locales",
	"/api/users-permissions/roles", "/api/users-permissions/permissions",
	"/graphql?query={notes(sort:\"title\"){documentId,title,next{title},before{title}}}",
}

// equal waits until the replica answers all reads as the origin does.
func (w *world) equal() {
	w.Helper()
	servertest.Await(w, "the replica answers as the origin does", func() error {
		different := ""
		for _, path := range w.reads {
			path = strings.ReplaceAll(strings.ReplaceAll(path, `"`, "%22"), "$", "%24")
			for _, key := range []string{w.key, ""} {
				status, want, err := ask(http.MethodGet, w.base+path, key, "")
				w.must(err)
				got, answer, err := ask(http.MethodGet, "http://"+w.replicaAddr+path, key, "")
				if err != nil || got != status || answer != want {
					different = fmt.Sprintf("GET %s: %d %.300s %v\nwant %d %.300s", path, got, answer, err, status,
						want)
				}
			}
		}
		if different != "" {
			return fmt.Errorf("%s\n%s", different, w.replica.Log())
		}
		return nil
	})
}

// TestKilledAndCutOff changes content, definitions and permissions of an origin, while its replica is killed and cut
// off, and expects the replica to end equal.
func TestKilledAndCutOff(t *testing.T) {
	w := newWorld(t, nil, allReads)
	written := w.run(*writes, *kills)
	w.sameLogs(written)
}

// TestPartKilledAndCutOff does the same with a replica that has published notes only, and looks for other content in
// its files.
func TestPartKilledAndCutOff(t *testing.T) {
	w := newWorld(t, []string{"api::note.note"}, noteReads)
	w.run((*writes+1)/2, (*kills+1)/2)
	d, err := gateway.Load(w.replicaDir, nil)
	w.must(err)
	st, err := store.Open(filepath.Join(w.replicaDir, "data", "content.db"), d.Model, store.Options{Origin: w.base})
	w.must(err)
	w.must(st.Check())
	w.must(st.Close())
	raw, err := os.ReadFile(filepath.Join(w.replicaDir, "data", "content.db"))
	w.must(err)
	for text, there := range map[string]bool{"published note": true, "hidden draft": false, "hidden secret": false} {
		if strings.Contains(string(raw), text) != there {
			t.Errorf("%q is in the file of the replica: %v", text, !there)
		}
	}
}

// run changes the origin while its replica is killed and cut off, waits until the replica is equal, and stops both. It
// returns the revision at which the replica was equal.
func (w *world) run(writes, kills int) (written uint64) {
	w.replica.Start()
	done := map[string]int{}
	for i := range writes {
		w.change(i)
		switch turn := w.rnd.IntN(writes); {
		case turn < kills:
			done["kills"]++
			w.replica.Kill()
			w.replica.Start()
		case turn < 4*kills:
			done["changes of the network"]++
			w.link.Set(servertest.Fault(w.rnd.IntN(int(servertest.Faults))))
		case turn < 5*kills && w.attributes < 100:
			done["changes of definitions"]++
			w.define()
			w.awaitReload()
		case turn < 6*kills:
			done["changes of permissions"]++
			w.permit()
			w.awaitReload()
		}
	}
	w.Logf("%d writes, %v", writes, done)
	w.link.Set(servertest.None)
	w.equal()
	w.replica.Kill() // at a moment that it did not choose
	w.replica.Start()
	written = w.project.Store().Revision()
	w.equal()
	w.replica.Kill()
	w.stop() // which writes when the token was last used
	return written
}

// sameLogs compares the logs of both stores byte for byte, of which the replica must have all up to a sequence, and
// checks both stores.
func (w *world) sameLogs(written uint64) {
	w.Helper()
	open := func(dir string, o store.Options) *store.Store {
		d, err := gateway.Load(dir, nil)
		w.must(err)
		st, err := store.Open(filepath.Join(dir, "data", "content.db"), d.Model, o)
		w.must(err)
		w.Cleanup(func() { w.must(st.Close()) })
		w.must(st.Check())
		return st
	}
	origin, replica := open(w.dir, store.Options{}), open(w.replicaDir, store.Options{Origin: w.base})
	servertest.SameLogs(w, origin, replica, written)
}
