package costs

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
)

// table is what requests cost: how many allocations the server makes for one, and how many bytes it allocates. A change
// that makes a request dearer puts the new numbers here and says why in its message. What is in angle brackets differs
// from one request to the next; variant sets it.
var table = []workload{
	{"rest one", 30, 3368, 0, get("/api/restaurants/<r>")},
	{"rest list 25", 42, 5104, 0, get("/api/restaurants?pagination[page]=<page25>")},
	{"rest filter+sort 50", 107.9, 10110.4, 0, get("/api/restaurants?filters[seats][$gte]=<seats>" +
		"&filters[tier][$eq]=<tier>&sort=name:desc&pagination[pageSize]=50")},
	{"rest contains", 80, 8484.8, 0, get("/api/restaurants?filters[name][$containsi]=<name>")},
	{"rest deep filter", 155.2, 13996, 0, get("/api/restaurants?filters[categories][name][$eq]=category <i>" +
		"&filters[owner][age][$lt]=<age>&fields[0]=name&populate[owner][fields][0]=firstName")},
	{"rest populate *", 60, 6624, 0, get("/api/restaurants?populate=*&pagination[pageSize]=10" +
		"&pagination[page]=<page10>")},
	{"rest draft list", 48, 5344, 0, get("/api/restaurants?status=draft&fields[0]=name&pagination[page]=<page25>")},
	{"graphql one", 61, 6280, 0, graphql("query($id:ID!){restaurant(documentId:$id){"+
		"documentId name seats owner{firstName}}}", `"id":"<r>"`)},
	{"graphql list 25", 73, 8248, 0, graphql("query($p:Int){restaurants(pagination:{page:$p,pageSize:25}){"+
		"documentId name slug seats price tier createdAt}}", `"p":<page25>`)},
	{"graphql nested", 73, 7784, 0, graphql("query($p:Int){restaurants_connection(pagination:{page:$p,pageSize:10}){"+
		"nodes{name owner{firstName restaurants(pagination:{limit:5}){name}} categories{name} reviews{stars comment} "+
		"address{city geo{lat}} dz{__typename ... on ComponentBlocksRichText{body}}} "+
		"pageInfo{total pageCount}}}", `"p":<page10>`)},
	{"write review", 688, 144300, 0.01, post("/api/reviews",
		`{"data":{"stars":<stars>,"comment":"<word>","restaurant":"<r>"}}`)},
}

// A workload is one kind of request, and what a request of it costs.
type workload struct {
	name               string
	allocations, bytes float64
	// within is by which part the cost may differ. It is 0 for reads, which cost the same each time. What a write costs
	// depends on the pages of the file that it changes, and on the order in which bbolt goes through its maps.
	within float64
	request
}

// variants is how many different requests of a workload are sent in turn, so that no request is answered from what was
// kept of the one before.
const variants = 10

// rounds is how often each request is sent. The median counts, so work in the background of the server or of the tests
// changes nothing.
const rounds = 41

func TestCosts(t *testing.T) {
	if runtime.GOOS != "linux" || strconv.IntSize != 64 || raceDetector() {
		t.Skip("the table is that of a server on Linux with 64 bits, without the race detector")
	}
	// One processor, no collection of garbage and random numbers that are the same each time: so pools keep what they
	// have, and keys have the same places in the file.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cryptotest.SetGlobalRandom(t, 1)
	s := serve(t)
	s.fill()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for _, w := range table {
		allocations, bytes := s.cost(w.request)
		if differs(allocations, w.allocations, w.within) || differs(bytes, w.bytes, w.within) {
			t.Errorf("%s: a request takes %v allocations and %v bytes; the table says %v and %v",
				w.name, allocations, bytes, w.allocations, w.bytes)
		}
	}
}

// BenchmarkRequests measures each workload of the table over one connection, the client included.
func BenchmarkRequests(b *testing.B) {
	s := serve(b)
	s.fill()
	for _, w := range table {
		var texts [variants][]byte
		for i := range texts {
			texts[i] = s.variant(w.request, i)
		}
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.send(texts[i%variants])
			}
		})
	}
}

// differs reports whether a number is not the wanted one, by more than a part of it.
func differs(got, want, within float64) bool { return math.Abs(got-want) > within*want }

// raceDetector reports whether the test runs under the race detector, in which pools drop values at random.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// cost returns what a request costs on average over its variants.
func (s *server) cost(r request) (allocations, bytes float64) {
	var texts [variants][]byte
	for i := range texts {
		texts[i] = s.variant(r, i)
	}
	var allocated, size [variants][]uint64
	var before, after runtime.MemStats
	for range rounds {
		for i, text := range texts {
			runtime.ReadMemStats(&before)
			s.send(text)
			runtime.ReadMemStats(&after)
			allocated[i] = append(allocated[i], after.Mallocs-before.Mallocs)
			size[i] = append(size[i], after.TotalAlloc-before.TotalAlloc)
		}
	}
	for i := range variants {
		allocations += median(allocated[i]) / variants
		bytes += median(size[i]) / variants
	}
	return math.Round(10*allocations) / 10, math.Round(10*bytes) / 10
}

func median(list []uint64) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2])
}

// variant returns the text of the i-th variant of a request.
func (s *server) variant(r request, i int) []byte {
	values := strings.NewReplacer("<r>", s.restaurants[i], "<i>", strconv.Itoa(i),
		"<age>", strconv.Itoa(30+3*i), "<seats>", strconv.Itoa(20*i), "<tier>", tiers[i%len(tiers)],
		"<name>", words[i]+" "+words[7*i%len(words)], "<word>", words[i], "<stars>", strconv.Itoa(1+i%5),
		"<page10>", strconv.Itoa(1+i%(restaurants/10)), "<page25>", strconv.Itoa(1+i%(restaurants/25)))
	path, query, _ := strings.Cut(values.Replace(r.path), "?")
	if query != "" {
		path += "?" + strings.ReplaceAll(query, " ", "%20")
	}
	return s.text(request{method: r.method, path: path, body: values.Replace(r.body)})
}

func get(path string) request { return request{method: "GET", path: path} }

func post(path, body string) request { return request{method: "POST", path: path, body: body} }

func graphql(query, variables string) request {
	return post("/graphql", fmt.Sprintf(`{"query":%q,"variables":{%s}}`, query, variables))
}
