package attack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var manyLinks = flag.Bool("attack.links", false, "write up to 645,000 links at once")

// menus is a project in which one write can have very many links: each dish of a menu has categories, in drafts and
// published versions.
var menus = map[string]string{
	"content-types/category.yaml": `
kind: collectionType
info: {singularName: category, pluralName: categories, displayName: Category}
options: {draftAndPublish: true}
attributes: {name: {type: string}}
`,
	"content-types/menu.yaml": `
kind: collectionType
info: {singularName: menu, pluralName: menus, displayName: Menu}
attributes:
  title: {type: string}
  dishes: {type: component, repeatable: true, component: default.dish}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes: {text: {type: string}}
`,
	"components/default/dish.yaml": `
info: {displayName: Dish}
attributes:
  name: {type: string}
  categories: {type: relation, relation: oneToMany, target: api::category.category}
`,
}

// withServer returns a copy of files with a config/server.yaml.
func withServer(files map[string]string, settings string) map[string]string {
	all := map[string]string{"config/server.yaml": settings}
	for name, text := range files {
		all[name] = text
	}
	return all
}

// send sends a request with a JSON body and returns the response.
func (s *server) send(method, path, body string) (status int, answer map[string]any, err error) {
	req, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return 0, nil, err
	}
	if text.Len() > 0 {
		err = json.Unmarshal(text.Bytes(), &answer)
	}
	return resp.StatusCode, answer, err
}

// must sends a request that must succeed, and returns the documentId and id in the response.
func (s *server) must(t *testing.T, method, path, body string) (documentID string, id int) {
	t.Helper()
	status, answer, err := s.send(method, path, body)
	if err != nil || status >= 300 {
		t.Fatalf("%s %s: %d %v %v", method, path, status, answer, err)
	}
	data, _ := answer["data"].(map[string]any)
	documentID, _ = data["documentId"].(string)
	number, _ := data["id"].(float64)
	return documentID, int(number)
}

// categories creates n published categories and returns the ids of their rows, separated by commas.
func (s *server) categories(t *testing.T, n int) string {
	ids := make([]string, n)
	for i := range ids {
		_, id := s.must(t, "POST", "/api/categories", fmt.Sprintf(`{"data":{"name":"category %d"}}`, i))
		ids[i] = fmt.Sprint(id)
	}
	return strings.Join(ids, ",")
}

// menu returns a body with a number of dishes, each with all categories.
func menu(dishes int, categories string) string {
	dish := `{"name":"x","categories":[` + categories + `]}`
	return `{"data":{"title":"heavy","dishes":[` + strings.Repeat(dish+",", dishes-1) + dish + `]}}`
}

// delays sends small writes one after the other, from several clients. stop ends them and returns the longest time that
// a write took.
func (s *server) delays(t *testing.T, clients int) (stop func() time.Duration) {
	var slowest, over atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for over.Load() == 0 {
				began := time.Now()
				if status, answer, err := s.send("POST", "/api/notes", `{"data":{"text":"honest"}}`); err != nil ||
					status != 201 {
					t.Errorf("an honest write: %d %v %v", status, answer, err)
					return
				}
				for took := int64(time.Since(began)); ; {
					was := slowest.Load()
					if took <= was || slowest.CompareAndSwap(was, took) {
						break
					}
				}
			}
		})
	}
	return func() time.Duration {
		over.Store(1)
		wg.Wait()
		return time.Duration(slowest.Load())
	}
}

// processorTime returns the time that the process has used on all processors.
func (s *server) processorTime(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ
}

// TestHeavyWrites writes menus with very many links, first alone into a fresh store, then beside other writes. If the
// limits allow such a write, its cost must be proportional to the number of links. Without sorting the links by key
// before they are stored, the first of these writes takes more than twelve seconds of processor time, and all other
// writes wait for it.
func TestHeavyWrites(t *testing.T) {
	limits := "limits: {json: 16mb, links: 1000000, components: 30000}\ntimeouts: {request: 120s}\n"
	sizes := []int{1000}
	if *manyLinks {
		sizes = []int{1000, 2150, 21500}
	}
	for _, dishes := range sizes {
		t.Run(fmt.Sprintf("%d links", 30*dishes), func(t *testing.T) {
			s := newProject(t, "", withServer(menus, limits)).serve()
			body := menu(dishes, s.categories(t, 30))
			before, began := s.processorTime(t), time.Now()
			id, _ := s.must(t, "POST", "/api/menus", body)
			took := s.processorTime(t) - before
			t.Logf("create: %s, %s of a processor", time.Since(began), took)
			if most := time.Duration(dishes) * 4 * time.Millisecond; took > most {
				t.Errorf("the first write took %s of a processor, want %s at most", took, most)
			}

			stop := s.delays(t, 4)
			for _, write := range []struct{ what, method, path, body string }{
				{"create another", "POST", "/api/menus", body}, {"update", "PUT", "/api/menus/" + id, body},
				{"delete", "DELETE", "/api/menus/" + id, ""},
			} {
				began := time.Now()
				s.must(t, write.method, write.path, write.body)
				t.Logf("%s: %s", write.what, time.Since(began))
			}
			t.Logf("the slowest of the others' writes: %s", stop())
		})
	}
}

// TestHeavyWritesAreRefused checks that the default limits refuse writes that are too large.
func TestHeavyWritesAreRefused(t *testing.T) {
	s := newProject(t, "", menus).serve()
	categories := s.categories(t, 30)
	for _, c := range []struct{ body, message string }{
		{menu(1000, categories), "The body has 30000 links to documents, and limits.links allows 10000 in one write"},
		{menu(5001, ""), "The body has 5001 components, and limits.components allows 5000 in one write"},
	} {
		status, answer, err := s.send("POST", "/api/menus", c.body)
		fault, _ := answer["error"].(map[string]any)
		if err != nil || status != 413 || fault["name"] != "PayloadTooLargeError" || fault["message"] != c.message {
			t.Errorf("%d %v %v, want 413 %s", status, answer, err, c.message)
		}
	}
	s.must(t, "POST", "/api/menus", menu(333, categories))
}
