package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/internal/simulation/program"
)

// A couple is two servers whose content differs only in what an Asker may not see.
type couple struct {
	run           *Run // that made the content
	asker         *Asker
	rules         *Coverage // what the rules of the asker have
	world, other  *World    // contents of the servers
	first, second *lectern
	since         map[string]string // positions in the change feed before the difference, by status
	copied        time.Time         // before the difference
	listeners     []*listener
}

// writesBefore and writesOutside are the numbers of writes that make the content of a couple, and that are tried to
// make the difference.
const (
	writesBefore  = 110
	writesOutside = 60
)

// newCouple makes a couple from a seed.
func newCouple(t *testing.T, seed uint64) (*couple, error) {
	model := ModelOf(seed, Quirks{})
	model.Permitted, model.Signed = nil, true
	c := &couple{first: serveLectern(t, model)}
	if err := c.first.addUsers(); err != nil {
		return nil, err
	}
	run := NewRun(seed, Quirks{}, model, c.first)
	o := run.writer(6)
	for range writesBefore {
		if err := run.writeOne(o, o.sign(o.write())); err != nil {
			return nil, err
		}
	}
	c.run, c.world = run, run.world
	rules := newRuleGenerator(seed, c.world)
	c.asker, c.rules = rules.Asker(), rules.made
	if err := c.first.admit(c.asker, model); err != nil {
		return nil, err
	}
	if err := c.copy(t); err != nil {
		return nil, err
	}
	if err := errors.Join(c.startFeeds(), c.listen()); err != nil {
		return nil, err
	}
	return c, c.differ(seed, o)
}

// writer returns a generator of writes for the content of a run.
func (r *Run) writer(stream uint64) *operationGenerator {
	return &operationGenerator{generator: generator{rng: rand.New(rand.NewPCG(r.Seed, stream)), world: r.world,
		cover: r.Cover}}
}

// writeOne does one write of a run.
func (r *Run) writeOne(o *operationGenerator, op *Operation) error {
	r.Done = append(r.Done, op)
	return r.do(op, o)
}

// admit gives the server of a model the rules of an asker, and the asker a key.
func (l *lectern) admit(a *Asker, m *Model) error {
	if err := l.end(); err != nil {
		return err
	}
	files := map[string]string{"config/permissions.yaml": a.permissions(m), "content-types/user.yaml": userAttributes(m)}
	if a.Granted {
		api, err := os.ReadFile(filepath.Join(l.dir, "config/api.yaml"))
		if err != nil {
			return err
		}
		files["config/api.yaml"] = string(api) + "drafts: granted\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	err := errors.Join(openDoors(l.dir), l.start())
	switch {
	case err != nil:
		return fmt.Errorf("%w\n%s", err, a.permissions(m))
	case a.Role == token:
		_, a.Key, err = l.project.CreateToken(context.Background(), auth.Declaration{Name: "asker"})
	case a.Role != public:
		a.Key, err = l.logIn(a)
	}
	return err
}

// addUsers makes two users, one of whom may become an asker.
func (l *lectern) addUsers() error {
	role, err := l.roleID("authenticated")
	for _, name := range []string{"asker", "other"} {
		if err != nil {
			return err
		}
		var status int
		var answer any
		status, answer, err = l.Do("POST", "/api/users", map[string]any{"username": name, "confirmed": true, "role": role,
			"email": name + "@people.test", "password": "secret of " + name})
		if err == nil && status != 201 {
			err = fmt.Errorf("a user was refused: %d %v", status, answer)
		}
	}
	return err
}

// roleID returns the id of the role of a type.
func (l *lectern) roleID(typ string) (any, error) {
	_, roles, err := l.Do("GET", "/api/users-permissions/roles", nil)
	if err != nil {
		return nil, err
	}
	list, _ := roles.(map[string]any)["roles"].([]any)
	for _, r := range list {
		if role := r.(map[string]any); role["type"] == typ {
			return role["id"], nil
		}
	}
	return nil, fmt.Errorf("there is no role %s", typ)
}

// logIn gives the user of an asker a role and attributes, and logs the user in.
func (l *lectern) logIn(a *Asker) (jwt string, err error) {
	user := map[string]any{}
	if user["role"], err = l.roleID(a.Role); err != nil {
		return "", err
	}
	for name, v := range a.User {
		user[name] = v
	}
	if status, answer, err := l.Do("PUT", fmt.Sprintf("/api/users/%v", askersID), user); err != nil || status != 200 {
		return "", errors.Join(err, fmt.Errorf("a user was refused: %d %v", status, answer))
	}
	status, answer, err := l.Do("POST", "/api/auth/local",
		map[string]any{"identifier": "asker", "password": "secret of asker"})
	if err != nil || status != 200 {
		return "", errors.Join(err, fmt.Errorf("log in: %d %v", status, answer))
	}
	return answer.(map[string]any)["jwt"].(string), nil
}

// copy starts the second server on a copy of the data of the first.
func (c *couple) copy(t *testing.T) error {
	if err := c.first.end(); err != nil {
		return err
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(data, os.DirFS(c.first.data)); err != nil {
		return err
	}
	c.second = &lectern{t: t, dir: c.first.dir, data: data}
	c.second.Token = c.first.Token
	c.other, c.copied = c.world.clone(), time.Now()
	return errors.Join(c.first.start(), c.second.start())
}

// differ writes to the second server what the asker does not see.
func (c *couple) differ(seed uint64, o *operationGenerator) error {
	run := NewRun(seed, Quirks{}, c.world.Model, c.second)
	run.world = c.other
	outside := run.writer(7)
	outside.documents, outside.items = o.documents, o.items
	shown := func(w *World) string { return w.shownTo(c.asker) + w.writesShownTo(c.asker) }
	before := shown(c.other)
	for range writesOutside {
		op := outside.sign(outside.write())
		if op.Number == c.asker.Team && op.Kind != "update" {
			continue // the asker's variable would not have the same value
		}
		then := c.other.clone()
		if out := then.Apply(op); out.Status >= 400 {
			continue
		}
		if then.nameNew(c.other); shown(then) != before {
			continue
		}
		if err := run.writeOne(outside, op); err != nil {
			return err
		}
		if shown(c.other) != before {
			return fmt.Errorf("a write was expected to change nothing that the asker sees: %s", op.describe(c.other))
		}
	}
	if run.Writes == 0 {
		return errors.New("nothing was written that the asker does not see")
	}
	return nil
}

// nameNew gives documents and rows that another World does not have an id, so that rules find them as they will in the
// server.
func (w *World) nameNew(other *World) {
	known := map[*Generated]bool{}
	for _, d := range other.Docs {
		for _, r := range d.Rows {
			known[r.ID] = true
		}
	}
	for _, d := range w.Docs {
		if d.ID.Value == nil {
			d.ID = &Generated{Kind: d.ID.Kind, Value: "anewdocumentanewdocument"}
		}
		for _, r := range d.Rows {
			if !known[r.ID] && r.ID.Value == nil {
				r.ID = &Generated{Kind: r.ID.Kind, Value: float64(-1)}
			}
		}
	}
}

// end stops both servers.
func (c *couple) end() error { return errors.Join(c.first.end(), c.second.end()) }

// A reply is what a server answers to a request, without what differs between answers to the same request.
type reply struct {
	status  int
	headers string
	body    string
}

func (r reply) String() string { return fmt.Sprintf("%d\n%s%s", r.status, r.headers, r.body) }

// A call is a request that an asker sends to both servers.
type call struct {
	method, path string
	body         any
	headers      []string // pairs of name and value
}

func (c call) String() string {
	if c.body == nil {
		return fmt.Sprintf("%s %s %v", c.method, c.path, c.headers)
	}
	return fmt.Sprintf("%s %s %v %s", c.method, c.path, c.headers, program.JSON(c.body))
}

// unstable are the headers that differ between answers to the same request.
var unstable = []string{"Date", "X-Request-Id"}

// send sends a call with a key, or with none if it is "".
func (c call) send(s *lectern, key string) (reply, http.Header, error) {
	var body io.Reader
	if raw, ok := c.body.(rawBody); ok {
		body = strings.NewReader(string(raw))
	} else if c.body != nil {
		body = strings.NewReader(program.JSON(c.body))
	}
	req, err := http.NewRequest(c.method, s.Base+c.path, body)
	if err != nil {
		return reply{}, nil, err
	}
	if c.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(c.headers); i += 2 {
		req.Header.Set(c.headers[i], c.headers[i+1])
	}
	res, err := program.Client.Do(req)
	if err != nil {
		return reply{}, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	r := reply{status: res.StatusCode, body: string(data)}
	for name, values := range res.Header {
		if !slices.Contains(unstable, name) {
			r.headers += fmt.Sprintf("%s: %q\n", name, values)
		}
	}
	lines := strings.SplitAfter(r.headers, "\n")
	slices.Sort(lines)
	r.headers = strings.Join(lines, "")
	return r, res.Header, err
}

// versions matches the version in the ETag of a document.
var versions = regexp.MustCompile(`\.[A-Za-z0-9_-]{11}\d+`)

// positions matches the positions in answers of the change feed, which are encrypted.
var positions = regexp.MustCompile(`("(?:last_)?seq":)"[^"]*"`)

// masked returns the reply without positions.
func (r reply) masked() reply {
	r.body = positions.ReplaceAllString(r.body, "$1")
	return r
}

// ask sends a call to both servers. Their answers must be the same.
func (c *couple) ask(q call) (reply, error) {
	first, header, err := q.send(c.first, c.asker.Key)
	if err != nil {
		return first, err
	}
	second, _, err := q.send(c.second, c.asker.Key)
	if err != nil {
		return first, err
	}
	if c.asker.Does { // the version tells writers that something of the type was written
		first.headers, second.headers = versions.ReplaceAllString(first.headers, ""),
			versions.ReplaceAllString(second.headers, "")
	}
	if first.masked() != second.masked() {
		return first, fmt.Errorf("%s\ntwo contents that the asker sees alike are answered\n%s\nand\n%s", q, first, second)
	}
	if tag := header.Get("ETag"); tag != "" && q.method == "GET" && !c.asker.Does && len(q.headers) == 0 {
		q.headers = []string{"If-None-Match", tag}
		_, err = c.ask(q)
	}
	return first, err
}
