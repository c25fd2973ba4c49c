package simulation

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"testing"
)

var (
	firstReady  = flag.String("first", "", "file with the line that the first server printed: {\"base\":…,\"tokens\":{\"full\":…}}")
	secondReady = flag.String("second", "", "the same of the second server")
	asked       = flag.String("project", "", "directory of the Lectern project that both servers serve")
	reads       = flag.Int("reads", 2000, "how many random reads to put to both servers")
	recordReads = flag.String("record", "", "write the reads with the answers of the first server to this file")
)

// TestSameReads puts random reads to two servers with the same content, usually the reference and a server of a project that was
// moved in from it, and compares the answers, ids and times included:
//
//	go test ./internal/simulation -run TestSameReads -first reference.ready -second lectern.ready -project DIR
func TestSameReads(t *testing.T) {
	if *firstReady == "" || *secondReady == "" {
		t.Skip("needs -first, -second and -project")
	}
	first, second := readyServer(t, *firstReady), readyServer(t, *secondReady)
	model, err := ModelOfProject(*asked)
	if err != nil {
		t.Fatal(err)
	}
	world, err := Survey(second, model, ReferenceQuirks)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents", len(world.Docs))
	list := randomReads(world, *firstSeed, *reads)
	var recorded []exchange
	excepted, different := map[string]int{}, map[string]int{}
	for _, r := range list {
		e, err := r.compareOn(first, second)
		switch {
		case err != nil:
			t.Fatal(err)
		case e.exception != "":
			excepted[e.exception]++
		case e.where != "":
			different[e.where]++
			if different[e.where] <= 2 {
				t.Errorf("%s\n%s\nfirst  %d %s\nsecond %d %s", r, e.where, e.Status, brief(e.Body), e.other.Status, brief(e.other.Body))
			}
		}
		if e.exception == "" {
			recorded = append(recorded, e.exchange)
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

func readyServer(t *testing.T, name string) *Server {
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
	return &Server{Base: ready.Base, Token: ready.Tokens["full"]}
}

// A read is a request that changes nothing. As is full or public.
type read struct {
	As        string
	Path      string
	Query     string         `json:",omitempty"` // of GraphQL
	Variables map[string]any `json:",omitempty"`
}

func (r read) String() string {
	if r.Query != "" {
		return fmt.Sprintf("%s (%s) %s\n%s", r.Path, r.As, r.Query, jsonOf(r.Variables))
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
func (r read) do(s *Server) (exchange, error) {
	asker := *s
	if r.As == "public" {
		asker.Token = ""
	}
	var status int
	var data []byte
	var err error
	if r.Query != "" {
		status, data, err = asker.send(asker.Token, "POST", r.Path, map[string]any{"query": r.Query, "variables": r.Variables})
	} else {
		status, data, err = asker.send(asker.Token, "GET", r.Path, nil)
	}
	if err == nil && !json.Valid(data) {
		data = []byte(jsonOf(string(data)))
	}
	return exchange{r, status, data}, err
}

// A comparison is the answer of the first server, and where that of the second differs.
type comparison struct {
	exchange
	other     exchange
	where     string // "" if the answers are the same
	exception string // the rule that allows the difference
}

func (r read) compareOn(first, second *Server) (comparison, error) {
	e, err := r.do(first)
	if err != nil {
		return comparison{}, err
	}
	other, err := r.do(second)
	if err != nil {
		return comparison{}, err
	}
	c := comparison{exchange: e, other: other}
	if c.where = e.differsFrom(other); c.where != "" {
		c.exception = exceptionFor(c)
	}
	return c, nil
}

// differsFrom returns where another answer to the same read differs, or "".
func (e exchange) differsFrom(other exchange) string {
	if e.Status != other.Status {
		return fmt.Sprintf("status %d, not %d", other.Status, e.Status)
	}
	return differs("", decode(e.Body), decode(other.Body))
}

// differs returns the path of the first difference between two decoded answers, with the indexes of lists left out.
func differs(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return path + " is no object"
		}
		var keys []string
		for k := range want {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			v, ok := object[k]
			if !ok {
				return path + "." + k + " is missing"
			}
			if d := differs(path+"."+k, want[k], v); d != "" {
				return d
			}
		}
		for k := range object {
			if _, ok := want[k]; !ok {
				return path + "." + k + " should not be there"
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return path + " has another length"
		}
		for i := range want {
			if d := differs(path+"[]", want[i], list[i]); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if n, ok := got.(json.Number); ok {
			a, err := want.Float64()
			b, failed := n.Float64()
			if err == nil && failed == nil && a == b {
				return ""
			}
		}
		return path
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return path
}

func brief(data []byte) string {
	if len(data) > 1200 {
		return string(data[:1200]) + "…"
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
func randomReads(w *World, seed uint64, n int) []read {
	rest := &generator{rng: rand.New(rand.NewPCG(seed, 3)), world: w, quirk: w.Quirk, cover: NewCoverage(w.Quirk)}
	graph := &generator{rng: rand.New(rand.NewPCG(seed, 4)), world: w, quirk: w.Quirk, cover: NewGraphQLCoverage(w.Quirk), graphql: true}
	var list []read
	for len(list) < n {
		as := "full"
		if rest.chance(.1) {
			as = "public"
		}
		list = append(list, read{As: as, Path: rest.Question().Path(w)})
		g := graph.Request()
		if as = "full"; g.Limited {
			as = "public"
		}
		query, variables := w.text(g)
		list = append(list, read{As: as, Path: "/graphql", Query: query, Variables: variables})
	}
	return list
}

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
		fmt.Fprintln(w, jsonOf(e))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// A rule names differences that are allowed. Each stands in testdata/conformance/differences.yaml.
type rule struct {
	name   string
	allows func(c comparison) bool
}

var rules = []rule{
	{"the reference answers 500", func(c comparison) bool { return c.Status == 500 }},
}

// exceptionFor returns the name of the rule that allows a difference, or "".
func exceptionFor(c comparison) string {
	for _, r := range rules {
		if r.allows(c) {
			return r.name
		}
	}
	return ""
}
