//go:build unix

package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lectern/documents/transfer"
	"lectern/gateway"
)

var metricsCost = flag.Duration("metricscost", 0, "how long TestMetricsCostLittle measures each workload; 0 skips it")

// TestMetricsCostLittle measures what metrics add to requests. It fails if they surely add more than 3 % of processor
// time to a workload. Run it by hand, on one processor:
//
//	go test ./gateway -run TestMetricsCostLittle -metricscost 30s -cpu 1 -v -timeout 30m
//
// Servers in this process have the same content; one of them has metrics, and two have none. A client in this process
// sends the same requests to each over loopback connections, in blocks of a few milliseconds, by turns and in random
// order. Each turn gives the ratio of the processor times (getrusage) with metrics and without, and that of the two
// servers without, which shows how exact the measurement is. The medians of these ratios are printed with their 95 %
// intervals by the sign test, and so is that of the wall times. The time of the client, some microseconds of a request,
// is in all blocks.
func TestMetricsCostLittle(t *testing.T) {
	if *metricsCost == 0 {
		t.Skip("measures only if -metricscost is set")
	}
	content := costContent()
	var servers []*costClient // without metrics, with them, and without again
	for _, settings := range []string{"", "metrics: {token: a token of the tests}\n", ""} {
		gateway.Uncounted(func() { servers = append(servers, serveForCost(t, content, settings)) })
	}
	for _, w := range costWorkloads() {
		t.Run(w.name, func(t *testing.T) { measureCost(t, servers, w.requests()) })
	}
}

// measureCost sends requests to servers[0] and servers[2], which have no metrics, and to servers[1], which has.
func measureCost(t *testing.T, servers []*costClient, requests [][]byte) {
	for _, s := range servers {
		s.do(t, requests) // a warm-up
	}
	all := servers[0].measure(t, requests).processor
	block := max(1, int(float64(len(requests))*float64(3*time.Millisecond)/float64(all))) // 3 ms of processor time
	var processor, wall, control []float64
	var each time.Duration // processor time of all blocks without metrics
	for end := time.Now().Add(*metricsCost); time.Now().Before(end); {
		at := rand.IntN(max(1, len(requests)-block))
		some := requests[at:min(len(requests), at+block)]
		var took [3]cost
		for _, i := range rand.Perm(len(servers)) {
			took[i] = servers[i].measure(t, some)
		}
		processor = append(processor, float64(took[1].processor)/float64(took[0].processor))
		control = append(control, float64(took[2].processor)/float64(took[0].processor))
		wall = append(wall, float64(took[1].wall)/float64(took[0].wall))
		each += took[0].processor
	}
	added, sure := medianOf(processor)
	none, _ := medianOf(control)
	slower, _ := medianOf(wall)
	turns := len(processor)
	t.Logf("processor %s, without metrics %s; wall %s; %d turns of %d requests, %s each", added, none, slower, turns,
		block,
		(each / time.Duration(turns*block)).Round(100*time.Nanosecond))
	if sure > 3 {
		t.Error("metrics add more than 3 % of processor time")
	}
}

// medianOf returns the median of ratios as a difference in percent, with its 95 % interval by the sign test, and the
// lower end of that.
func medianOf(ratios []float64) (text string, low float64) {
	slices.Sort(ratios)
	n := float64(len(ratios))
	half := 0.98 * math.Sqrt(n) // 1.96 standard deviations of a binomial distribution with p = ½
	at := func(i float64) float64 { return 100 * (ratios[int(min(max(0, i), n-1))] - 1) }
	low = at(n/2 - half)
	return fmt.Sprintf("%+5.1f %% (%+5.1f to %+5.1f)", at(n/2), low, at(n/2+half)), low
}

// A cost is what a block of requests took.
type cost struct{ processor, wall time.Duration }

// processorTime returns how long this process has been on a processor.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A costClient sends requests over one connection.
type costClient struct {
	conn net.Conn
	r    *bufio.Reader
}

func (c *costClient) measure(t *testing.T, requests [][]byte) cost {
	began, processor := time.Now(), processorTime()
	c.do(t, requests)
	return cost{processorTime() - processor, time.Since(began)}
}

// do sends requests one after the other and reads their answers.
func (c *costClient) do(t *testing.T, requests [][]byte) {
	for _, r := range requests {
		if _, err := c.conn.Write(r); err != nil {
			t.Fatal(err)
		}
		if err := c.read(); err != nil {
			t.Fatalf("%v after %s", err, r)
		}
	}
}

// read reads an answer with a Content-Length or in chunks.
func (c *costClient) read() error {
	head, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 20")) {
		rest, _ := c.r.Peek(c.r.Buffered())
		return fmt.Errorf("answered %s%s", head, rest)
	}
	length := -1
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			fmt.Sscan(string(n), &length)
		}
	}
	if length < 0 {
		return errors.New("an answer has no Content-Length")
	}
	_, err = c.r.Discard(length)
	return err
}

// serveForCost serves the kitchen project with content until the test ends. settings are those of config/server.yaml.
func serveForCost(t *testing.T, content, settings string) *costClient {
	t.Helper()
	dir := t.TempDir()
	err := os.CopyFS(dir, os.DirFS("../testdata/conformance/projects/kitchen"))
	for name, text := range map[string]string{"server": settings, "permissions": `roles:
  public:
    api::restaurant.restaurant: [find, findOne]
    api::category.category: [find, findOne]
    api::person.person: [find, findOne]
    api::review.review: [find, findOne, create]
`} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, "config", name+".yaml"), []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(dir, gateway.Options{
		Addr: "127.0.0.1:0", NoWatch: true, Ready: func(r gateway.Ready) { ready <- r },
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Import(t.Context(), strings.NewReader(content), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, p.Close()); err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix((<-ready).Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &costClient{conn: conn, r: bufio.NewReaderSize(conn, 64<<10)}
}

// costScale is how many restaurants there are.
const costScale = 1000

var costWords = strings.Fields(
	"amber basil cedar delta ember fjord grove heron inlet jetty knoll larch maple nadir ocean pearl quartz ridge slate tulip umber vault willow xenon yarrow zephyr")

func costWord(r *rand.Rand) string { return costWords[r.IntN(len(costWords))] }

// costContent returns an export with categories, people, restaurants and reviews.
func costContent() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	type object = map[string]any
	add := func(uid, id string, data object) {
		e.Encode(object{"type": uid, "documentId": id, "data": data}) // a strings.Builder returns no error
	}
	r := rand.New(rand.NewPCG(42, 1))
	for i := range 50 {
		add("api::category.category", fmt.Sprint("c", i), object{"name": fmt.Sprint("category ", i), "position": i})
	}
	for i := range costScale / 5 {
		add("api::person.person", fmt.Sprint("p", i), object{"firstName": costWord(r), "lastName": costWord(r),
			"age": 18 + i%60, "email": fmt.Sprintf("p%d@example.org", i)})
	}
	for i := range costScale {
		var summary []string
		for range 12 {
			summary = append(summary, costWord(r))
		}
		text := strings.Join(summary, " ")
		add("api::restaurant.restaurant", fmt.Sprint("r", i), object{
			"name": fmt.Sprint(costWord(r), " ", costWord(r), " ", i), "slug": fmt.Sprint("r-", i), "summary": text,
			"seats": 1 + r.IntN(400), "price": float64(r.IntN(10000)) / 100,
			"rating": float64(r.IntN(50)) / 10, "vegan": i%2 == 0,
			"tier":        []string{"bronze", "silver", "gold"}[r.IntN(3)],
			"description": []object{{"type": "paragraph", "children": []object{{"type": "text", "text": text}}}},
			"categories":  []string{fmt.Sprint("c", i%50), fmt.Sprint("c", (i*7+1)%50)},
			"owner":       fmt.Sprint("p", r.IntN(costScale/5)),
			"address": object{"street": fmt.Sprint(i, " street"), "city": costWord(r),
				"geo": object{"lat": i % 90, "lng": i % 180}},
			"closingPeriods": []object{{"label": "winter", "start_date": "2024-12-24", "end_date": "2025-01-02"}},
			"dz":             []object{{"__component": "blocks.rich-text", "body": text}},
		})
	}
	for i := range 2 * costScale {
		add("api::review.review", fmt.Sprint("v", i),
			object{"stars": 1 + i%5, "comment": costWord(r), "restaurant": fmt.Sprint("r", i%costScale)})
	}
	return b.String()
}

// A costWorkload makes requests of one kind.
type costWorkload struct {
	name string
	make func(r *rand.Rand) (path string, body any)
}

// requests returns 1,000 different requests.
func (w costWorkload) requests() [][]byte {
	r := rand.New(rand.NewPCG(7, 1))
	list := make([][]byte, 1000)
	for i := range list {
		path, body := w.make(r)
		method, text := http.MethodGet, []byte(nil)
		if body != nil {
			method = http.MethodPost
			text, _ = json.Marshal(body) // of texts and numbers
		}
		list[i] = fmt.Appendf(
			nil, "%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method,
			path, len(text), text)
	}
	return list
}

func costWorkloads() []costWorkload {
	get := func(name, format string, of ...func(*rand.Rand) any) costWorkload {
		return costWorkload{name, func(r *rand.Rand) (string, any) {
			var values []any
			for _, f := range of {
				values = append(values, f(r))
			}
			return fmt.Sprintf(format, values...), nil
		}}
	}
	graphql := func(name, query string, variable func(*rand.Rand) any) costWorkload {
		return costWorkload{name, func(r *rand.Rand) (string, any) {
			return "/graphql", map[string]any{"query": query, "variables": map[string]any{"v": variable(r)}}
		}}
	}
	below := func(n int) func(*rand.Rand) any { return func(r *rand.Rand) any { return r.IntN(n) } }
	page := func(size int) func(*rand.Rand) any {
		return func(r *rand.Rand) any { return 1 + r.IntN(costScale/size) }
	}
	id := func(r *rand.Rand) any { return fmt.Sprint("r", r.IntN(costScale)) }
	tier := func(r *rand.Rand) any { return []string{"bronze", "silver", "gold"}[r.IntN(3)] }
	words := func(r *rand.Rand) any { return url.PathEscape(costWord(r) + " " + costWord(r)) }
	return []costWorkload{
		get("one", "/api/restaurants/%s", id),
		get("list", "/api/restaurants?pagination[page]=%d", page(25)),
		get("filter+sort", "/api/restaurants?filters[seats][$gte]=%d&filters[tier][$eq]=%s&sort=name:desc&pagination[pageSize]=50", below(300), tier),
		get("contains", "/api/restaurants?filters[name][$containsi]=%s", words),
		get("deep", "/api/restaurants?filters[categories][name][$eq]=category%%20%d&filters[owner][age][$lt]=%d&fields[0]=name&populate[owner][fields][0]=firstName", below(50), below(70)),
		get("populate", "/api/restaurants?populate=*&pagination[pageSize]=10&pagination[page]=%d", page(10)),
		get("draft", "/api/restaurants?status=draft&fields[0]=name&pagination[page]=%d", page(25)),
		graphql("graphql one", "query($v:ID!){restaurant(documentId:$v){documentId name seats owner{firstName}}}", id),
		graphql("graphql list",
			"query($v:Int){restaurants(pagination:{page:$v,pageSize:25}){documentId name slug seats price tier createdAt}}", page(25)),
		graphql("graphql nested",
			"query($v:Int){restaurants_connection(pagination:{page:$v,pageSize:10}){nodes{name owner{firstName restaurants(pagination:{limit:5}){name}} categories{name} "+
				"reviews{stars comment} address{city geo{lat}} dz{__typename ... on ComponentBlocksRichText{body}}} pageInfo{total pageCount}}}", page(10)),
		{"write", func(r *rand.Rand) (string, any) {
			return "/api/reviews",
				map[string]any{"data": map[string]any{"stars": 1 + r.IntN(5), "comment": costWord(r),
					"restaurant": id(r)}}
		}},
	}
}
