package attack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/gateway/admin"
)

var flood = flag.Int("flood", 0,
	"TestUnreadAnswers: how many connections ask for a large answer and do not read it; 0 is the short form")

// restaurantFiles returns the files of a project in which a short query can ask for a large response: restaurants and
// categories refer to each other.
func restaurantFiles(server string) map[string]string {
	return map[string]string{
		"config/server.yaml":      server,
		"config/permissions.yaml": "roles:\n  public:\n    api::restaurant.restaurant: [find]\n    api::category.category: [find]\n",
		"content-types/restaurant.yaml": "kind: collectionType\ninfo: {singularName: restaurant, pluralName: restaurants, displayName: Restaurant}\n" +
			"options: {draftAndPublish: true}\nattributes:\n  name: {type: string}\n" +
			"  categories: {type: relation, relation: manyToMany, target: api::category.category, inversedBy: restaurants}\n",
		"content-types/category.yaml": "kind: collectionType\ninfo: {singularName: category, pluralName: categories, displayName: Category}\n" +
			"options: {draftAndPublish: true}\nattributes:\n  name: {type: string}\n" +
			"  restaurants: {type: relation, relation: manyToMany, target: api::restaurant.restaurant, mappedBy: categories}\n",
	}
}

// importRestaurants imports 600 restaurants, each in 3 of 30 categories.
func (p *project) importRestaurants() {
	p.t.Helper()
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, `{"type":"api::category.category","documentId":"category%d","data":{"name":"Category %d"}}`+
			"\n", i, i)
	}
	for i := range 600 {
		fmt.Fprintf(&lines, `{"type":"api::restaurant.restaurant","documentId":"restaurant%d","data":{"name":"Restaurant %d","categories":["category%d","category%d","category%d"]}}`+"\n",
			i, i, i%30, (i+1)%30, (i+2)%30)
	}
	file := filepath.Join(p.t.TempDir(), "content.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if out, stderr, err := p.run("import", "--data", p.data, p.dir, file); err != nil {
		p.t.Fatalf("import: %v\n%s%s", err, out, stderr)
	}
}

// deep returns a public query whose response has about 2.9 MB for each restaurant.
func deep(restaurants int) string {
	return fmt.Sprintf("/api/restaurants?status=draft&pagination[pageSize]=%d"+
		"&populate[categories][populate][restaurants][populate][categories][populate][restaurants][fields]=name",
		restaurants)
}

// askOnly sends a request and does not read the response.
func (s *server) askOnly(t *testing.T, path string) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(s.base, "http://")
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestUnreadAnswers requests large responses on many connections and reads none of them. The server must reserve at
// most limits.memory, its process must grow in proportion to that and not to the number of connections, small requests
// must be answered meanwhile, and all memory must be released when the connections are closed.
//
// The long form has the size of a real attack: -flood 60, in a control group of 2 GiB if the machine has control groups
// of version 1.
func TestUnreadAnswers(t *testing.T) {
	connections, hold, limits := 12, 6*time.Second, "limits: {memory: 64mb, answer: 16mb}\n"
	var wrap []string
	if *flood > 0 {
		connections, hold, limits = *flood/2, 40*time.Second, ""
		wrap = inGroup(t, 2<<30)
	}
	p := newProject(t, "", restaurantFiles(limits))
	p.importRestaurants()
	s := p.serve(wrap...)
	idle := s.anonymousMemory(t)

	var open []net.Conn
	for i := range connections {
		open = append(open, s.askOnly(t, deep(2+i%11)), s.askOnly(t, deep(5)))
	}
	peak, late, slowest := idle, 0, time.Duration(0)
	defer func() { t.Logf("RssAnon was %d MB at the most", peak>>20) }()
	client := &http.Client{Timeout: 5 * time.Second}
	for begin := time.Now(); time.Since(begin) < hold; {
		select {
		case <-s.ended:
			t.Fatalf("the server has ended, with %d MB at its peak, %s after %d connections had asked", peak>>20,
				time.Since(begin), 2*connections)
		default:
		}
		asked := time.Now()
		if answer, err := client.Get(s.base + "/api/categories?pagination[pageSize]=5"); err != nil {
			late++
		} else {
			if io.Copy(io.Discard, answer.Body); answer.StatusCode != http.StatusOK {
				late++
			}
			answer.Body.Close()
		}
		slowest = max(slowest, time.Since(asked))
		peak = max(peak, s.anonymousMemory(t))
	}
	during := s.memory(t, p)
	for _, c := range open {
		c.Close()
	}
	// What the process holds 5 s after the attack is what is measured.
	time.Sleep(5 * time.Second)
	after, end := s.anonymousMemory(t), s.memory(t, p)
	t.Logf("RssAnon: idle %d MB, peak %d MB, 5 s after they closed %d MB; slowest honest answer %s; budget during %+v, after %+v",
		idle>>20, peak>>20, after>>20, slowest, during, end)
	if late > 0 {
		t.Errorf("%d small requests were not answered", late)
	}
	if during.Limit == 0 || during.Peak > during.Limit {
		t.Errorf("reserved %d bytes of %d", during.Peak, during.Limit)
	}
	if during.Peak < during.Limit/2 || during.Denied == 0 {
		t.Errorf("the attack was none: %+v", during)
	}
	if end.Reserved != 0 {
		t.Errorf("%d bytes stay reserved", end.Reserved)
	}
	if most := idle + 3*during.Limit + 128<<20; peak > most {
		t.Errorf("the process grew to %d MB, more than %d", peak>>20, most>>20)
	}
	if most := idle + 64<<20; after > most {
		t.Errorf("the process has %d MB when all is over, more than %d", after>>20, most>>20)
	}
}

// memoryStats are the server's counters of request memory.
type memoryStats struct{ Limit, Reserved, Peak, Denied, Refused int64 }

// memory requests the counters over the control socket.
func (s *server) memory(t *testing.T, p *project) memoryStats {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return admin.DialControl(ctx, p.data)
	}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://control/server")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var info struct{ Memory memoryStats }
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
		t.Fatal(err)
	}
	return info.Memory
}

// inGroup returns a command prefix that runs a program in a control group with that much memory, or nothing if the
// machine does not support it.
func inGroup(t *testing.T, bytes int64) (wrap []string) {
	t.Helper()
	dir := "/sys/fs/cgroup/memory/lectern-attack-" + fmt.Sprint(os.Getpid())
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Logf("without a control group: %v", err)
		return nil
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := os.WriteFile(dir+"/memory.limit_in_bytes", []byte(fmt.Sprint(bytes)), 0o644); err != nil {
		t.Logf("without a control group: %v", err)
		return nil
	}
	return []string{"sh", "-c", "echo $$ > " + dir + `/cgroup.procs && exec "$@"`, "sh"}
}
