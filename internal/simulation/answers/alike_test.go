package answers

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lectern/internal/simulation/program"
)

var (
	firstReady = flag.String(
		"first", "", "file with the line that the first server printed: {\"base\":…,\"tokens\":{\"full\":…}}")
	secondReady = flag.String("second", "", "the same of the second server")
	asked       = flag.String("project", "", "directory of the Lectern project that both servers serve")
	reads       = flag.Int("reads", 2000, "how many random reads to put to both servers")
	newIDs      = flag.Bool("newids", false,
		"the servers have other row ids, as after strapi import: do not compare or use them")
	recordReads = flag.String("record", "", "write the reads with the answers of the first server to this file")
)

// TestServersAnswerAlike puts random reads to two servers with the same content, usually the reference and a server of
// a project that was moved in from it, and compares the answers, ids and times included:
//
//	go test ./internal/simulation/answers -run TestServersAnswerAlike -first reference.ready -second lectern.ready -project DIR
func TestServersAnswerAlike(t *testing.T) {
	if *firstReady == "" || *secondReady == "" {
		t.Skip("needs -first, -second and -project")
	}
	first, second := readyServer(t, *firstReady), readyServer(t, *secondReady)
	model, err := ModelOfProject(*asked)
	if err != nil {
		t.Fatal(err)
	}
	if *newIDs {
		model.withoutIDs()
	}
	world, err := Survey(second, model, ReferenceQuirks)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents", len(world.Docs))
	list, err := fixedReads(model, second)
	if err != nil {
		t.Fatal(err)
	}
	users := logIn(t, first, second)
	list = append(list, randomReads(world, *program.Seed, *reads, users)...)
	var recorded []exchange
	excepted, different := map[string]int{}, map[string]int{}
	for _, r := range list {
		c, err := r.compareOn(first, second)
		if err != nil {
			t.Fatal(err)
		}
		allowedBy, m := allowedDifferences(model, c)
		for _, rule := range allowedBy {
			excepted[rule]++
		}
		if m != nil {
			different[m.path]++
			if different[m.path] <= 3 {
				t.Errorf("%s\n%s", r, m)
			}
		}
		if len(allowedBy) == 0 && len(c.Body) <= recordedLength {
			recorded = append(recorded, c.exchange)
		}
	}
	t.Logf("%d reads, %d differ, excepted: %v", len(list), sum(different), excepted)
	for where, n := range different {
		t.Logf("%4d× %s", n, where)
	}
	if *recordReads != "" {
		if err := writeExchanges(*recordReads, recorded); err != nil {
			t.Fatal(err)
		}
	}
}

func readyServer(t *testing.T, name string) *program.Server {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Base   string
		Tokens map[string]string
	}
	if err := json.Unmarshal([]byte(strings.SplitN(string(data), "\n", 2)[0]), &ready); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &program.Server{Base: ready.Base, Token: ready.Tokens["full"], Users: map[string]string{}}
}

// passwordOf returns the password of a user whom reference/fill.mjs has made.
func passwordOf(username string) string { return strings.Replace(username, "user-", "password ", 1) }

// logIn logs the users of reference/fill.mjs in at both servers, with the passwords that they had before a move, and
// returns the names of those who may. Both servers must treat each user alike.
func logIn(t *testing.T, first, second *program.Server) (names []string) {
	t.Helper()
	_, listed, err := first.Do("GET", "/api/users?sort=id&limit=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	users, _ := listed.([]any)
	for _, user := range users {
		name := fmt.Sprint(user.(map[string]any)["username"])
		if !strings.HasPrefix(name, "user-") {
			continue
		}
		var answers [2]any
		for i, s := range []*program.Server{first, second} {
			_, answer, err := s.Do("POST", "/api/auth/local",
				map[string]any{"identifier": name, "password": passwordOf(name)})
			if err != nil {
				t.Fatal(err)
			}
			if body, ok := answer.(map[string]any); ok && body["jwt"] != nil {
				s.Users[name] = body["jwt"].(string)
				delete(body, "jwt")
			}
			answers[i] = answer
		}
		for _, m := range mismatchesOf("", answers[0], answers[1]) {
			t.Errorf("log in %s: %s", name, m)
		}
		if first.Users[name] != "" && second.Users[name] != "" {
			names = append(names, name)
		}
	}
	t.Logf("%d users log in", len(names))
	return names
}

// tokenOf returns the token of full, of a user, or of nobody.
func tokenOf(s *program.Server, as string) string {
	if as == "full" {
		return s.Token
	}
	return s.Users[as]
}

// A read is a request that changes nothing. As is full, public or the name of a user.
type read struct {
	As        string
	Path      string
	Query     string         `json:",omitempty"` // of GraphQL
	Variables map[string]any `json:",omitempty"`
}

func (r read) String() string {
	if r.Query != "" {
		return fmt.Sprintf("%s (%s) %s\n%s", r.Path, r.As, r.Query, program.JSON(r.Variables))
	}
	return fmt.Sprintf("%s (%s)", r.Path, r.As)
}

// An exchange is a read with its answer.
type exchange struct {
	read
	Status int
	Body   json.RawMessage
}

// do sends a read. A server that redirects or fails to answer gives an error.
func (r read) do(s *program.Server) (exchange, error) {
	var status int
	var data []byte
	var err error
	if r.Query != "" {
		status, data, err = s.Send(tokenOf(s, r.As), "POST", r.Path,
			map[string]any{"query": r.Query, "variables": r.Variables})
	} else {
		status, data, err = s.Send(tokenOf(s, r.As), "GET", r.Path, nil)
	}
	if err == nil && !json.Valid(data) {
		data = []byte(program.JSON(string(data)))
	}
	return exchange{r, status, data}, err
}

// A comparison is the answers of two servers to a read, and all places where that of the second differs.
type comparison struct {
	exchange
	other      exchange
	mismatches []mismatch
}

// nothing stands for a key that is missing.
const nothing = "nothing"

// A mismatch is a place where two answers differ. The path leaves out the indexes of lists. Of two lists of different
// lengths the place is that of the lists.
type mismatch struct {
	path      string
	want, got any
}

func (m mismatch) String() string {
	return fmt.Sprintf("%s: %s, not %s", m.path, brief([]byte(program.JSON(m.got))),
		brief([]byte(program.JSON(m.want))))
}

// compareOn sends a read to two servers.
func (r read) compareOn(first, second *program.Server) (comparison, error) {
	e, err := r.do(first)
	if err != nil {
		return comparison{}, err
	}
	other, err := r.do(second)
	return comparison{exchange: e, other: other, mismatches: e.compare(other)}, err
}

// compare returns the differences from another answer to the same read.
func (e exchange) compare(other exchange) []mismatch {
	if e.Status != other.Status {
		return []mismatch{{"status", e.Status, other.Status}}
	}
	return mismatchesOf("", inErrorOrder(program.Decode(e.Body)), inErrorOrder(program.Decode(other.Body)))
}

// inErrorOrder sorts the errors of GraphQL, which the reference answers in the order in which its resolvers end.
func inErrorOrder(body any) any {
	if object, ok := body.(map[string]any); ok {
		if errors, ok := object["errors"].([]any); ok {
			slices.SortFunc(errors, func(a, b any) int { return strings.Compare(program.JSON(a), program.JSON(b)) })
		}
	}
	return body
}

// mismatchesOf returns the differences between two decoded answers.
func mismatchesOf(path string, want, got any) (all []mismatch) {
	switch want := want.(type) {
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			return objectMismatches(path, want, object)
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			break
		}
		for i := range want {
			all = append(all, mismatchesOf(path+"[]", want[i], list[i])...)
		}
		return all
	case json.Number:
		if n, ok := got.(json.Number); ok && sameNumber(want, n) {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []mismatch{{path, want, got}}
}

func objectMismatches(path string, want, got map[string]any) (all []mismatch) {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if *newIDs && k == "id" {
			continue
		}
		if v, ok := got[k]; ok {
			all = append(all, mismatchesOf(path+"."+k, want[k], v)...)
		} else {
			all = append(all, mismatch{path + "." + k, want[k], nothing})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			all = append(all, mismatch{path + "." + k, nothing, got[k]})
		}
	}
	return all
}

func sameNumber(a, b json.Number) bool {
	x, err := a.Float64()
	y, failed := b.Float64()
	return err == nil && failed == nil && x == y
}

func brief(data []byte) string {
	if len(data) > 500 {
		return string(data[:500]) + "…"
	}
	return string(data)
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func parseNumber(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
func parseBig(text string) (int64, error)      { return strconv.ParseInt(text, 10, 64) }

// randomReads makes n reads about a World, half of them in GraphQL.
func randomReads(w *World, seed uint64, n int, users []string) []read {
	rest := &generator{rng: rand.New(rand.NewPCG(seed, 3)), world: w, quirk: w.Quirk, cover: NewCoverage(w.Quirk)}
	graph := &generator{rng: rand.New(rand.NewPCG(seed, 4)), world: w, quirk: w.Quirk,
		cover: NewGraphQLCoverage(w.Quirk), graphql: true}
	var list []read
	limited := append([]string{"public"}, users...)
	for len(list) < n {
		as := "full"
		if rest.chance(.15) {
			as = pick(rest.rng, limited)
		}
		list = append(list, read{As: as, Path: rest.Question().Path(w)})
		g := graph.Request()
		if as = "full"; g.Limited {
			as = pick(rest.rng, limited)
		}
		query, variables := w.text(g)
		list = append(list, read{As: as, Path: "/graphql", Query: query, Variables: variables})
	}
	return list
}

// recordedLength bounds the answers that are recorded, so that recordings stay small.
const recordedLength = 3000

// writeExchanges writes exchanges as JSON Lines, compressed.
func writeExchanges(name string, list []exchange) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	w := bufio.NewWriter(z)
	for _, e := range list {
		fmt.Fprintln(w, program.JSON(e))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}
