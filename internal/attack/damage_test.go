package attack

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
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
)

var damagedCopies = flag.Int("attack.damaged", 5, "TestDamagedStores: how many copies of a store are damaged")

// TestDamagedStores flips bits in copies of a store and does with each copy what an operator would. A server on it
// gives the correct response or an error; check --store, backup and restore report the damage; salvage saves the
// versions that are intact.
func TestDamagedStores(t *testing.T) {
	p := newProject(t, "", restaurantFiles(""))
	p.importRestaurants()
	s := p.serve()
	want := ask(t, s)
	for path, a := range want {
		if a.status != http.StatusOK && !strings.Contains(path, "nobody") {
			t.Fatalf("%s is answered %d %s", path, a.status, a.body)
		}
	}
	s.stop(t)
	exported := filepath.Join(p.dir, "export.jsonl")
	if _, stderr, err := p.run("export", "--data", p.data, p.dir, exported); err != nil {
		t.Fatal(err, stderr)
	}
	total := versionsIn(t, exported)
	intact, err := os.ReadFile(filepath.Join(p.data, "content.db"))
	if err != nil {
		t.Fatal(err)
	}
	var sum damageSum
	for seed := range *damagedCopies {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := *p
			d.t, d.data = t, filepath.Join(t.TempDir(), "data")
			content := flipped(intact, uint64(seed))
			if err := os.MkdirAll(d.data, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d.data, "content.db"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			found := d.checkDamaged(&sum)
			d.backUpDamaged(found, &sum)
			d.restoreDamaged(content, found, &sum)
			d.salvageDamaged(total)
			d.serveDamaged(want, found, &sum)
		})
	}
	t.Logf("of %d copies: check --store found %d damaged, %d backups and %d restores were refused, %d servers refused to start, %d answered some questions with an error; %d answers were wrong, %d servers died",
		*damagedCopies, sum.found, sum.backups, sum.restores, sum.refused, sum.failing, sum.wrong, sum.died)
	if sum.found < *damagedCopies*4/5 {
		t.Errorf("only %d of %d copies were found to be damaged", sum.found, *damagedCopies)
	}
}

// damageSum counts the outcomes over all copies.
type damageSum struct{ found, backups, restores, refused, failing, wrong, died int }

// flipped flips bits in pages of a copy, but not in the first two pages, which locate the content.
func flipped(intact []byte, seed uint64) []byte {
	content, page := bytes.Clone(intact), os.Getpagesize()
	used := len(bytes.TrimRight(content, "\x00"))
	rnd := rand.New(rand.NewPCG(seed, 7))
	for range 6 {
		at := (2 + rnd.IntN(used/page-2)) * page
		for range 3 {
			content[at+rnd.IntN(page)] ^= 1 << rnd.IntN(8)
		}
	}
	return content
}

// A reply is the response to a question.
type reply struct {
	status int
	body   string
}

// ask sends questions by REST and GraphQL, and returns the replies.
func ask(t *testing.T, s *server) map[string]reply {
	t.Helper()
	answers := map[string]reply{}
	do := func(name string, req *http.Request) {
		req.Header.Set("Authorization", "Bearer "+s.token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			answers[name] = reply{body: err.Error()}
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			answers[name] = reply{body: err.Error()}
			return
		}
		answers[name] = reply{res.StatusCode, string(body)}
	}
	for page := 1; page <= 6; page++ {
		for _, path := range []string{
			"/api/restaurants?pagination[pageSize]=100&pagination[page]=%d",
			"/api/restaurants?status=draft&sort=name:desc&populate=categories&pagination[pageSize]=100&pagination[page]=%d",
			"/api/restaurants?filters[categories][name]=Category %d&pagination[pageSize]=100",
			"/api/categories?populate=restaurants&pagination[pageSize]=5&pagination[page]=%d",
			"/api/restaurants/restaurant%d7", "/api/restaurants/nobody%d",
		} {
			path = strings.ReplaceAll(fmt.Sprintf(path, page), " ", "%20")
			req, err := http.NewRequest(http.MethodGet, s.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			do(path, req)
		}
		query := fmt.Sprintf(
			`{"query":"{restaurants(pagination:{page:%d,pageSize:100}){documentId name categories{name}}}"}`, page)
		req, err := http.NewRequest(http.MethodPost, s.base+"/graphql", strings.NewReader(query))
		if err != nil {
			t.Fatal(err)
		}
		do(query, req)
	}
	return answers
}

func versionsIn(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n")) - 1
}

// checkDamaged runs check --store without a server and reports whether it finds damage.
func (p *project) checkDamaged(sum *damageSum) bool {
	p.t.Helper()
	out, stderr, err := p.run("check", "--store", "--data", p.data, p.dir)
	if err == nil {
		return false
	}
	sum.found++
	if exitCode(err) != 1 || !strings.Contains(out, "page") || strings.Contains(stderr, "goroutine") {
		p.t.Errorf("check --store ends with %v:\n%s%s", err, out, stderr)
	}
	return true
}

func exitCode(err error) int {
	if e, ok := err.(interface{ ExitCode() int }); ok {
		return e.ExitCode()
	}
	return -1
}

func (p *project) backUpDamaged(found bool, sum *damageSum) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "backup.tar")
	_, stderr, err := p.run("backup", "--data", p.data, p.dir, file)
	if err != nil {
		sum.backups++
	}
	if found != (err != nil) || err != nil && exitCode(err) != 1 || strings.Contains(stderr, "goroutine") {
		p.t.Errorf("damaged: %v; backup: %v\n%s", found, err, stderr)
	}
	if _, statErr := os.Stat(file); err != nil && statErr == nil {
		p.t.Error("a backup that failed is there")
	}
}

// restoreDamaged tries to restore a backup whose content was damaged before it was packed.
func (p *project) restoreDamaged(content []byte, found bool, sum *damageSum) {
	p.t.Helper()
	dir := p.t.TempDir()
	file, data := filepath.Join(dir, "backup.tar"), filepath.Join(dir, "data")
	var b bytes.Buffer
	archive, sums := tar.NewWriter(&b), map[string]string{}
	add := func(name string, text []byte) {
		if err := archive.WriteHeader(
			&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			p.t.Fatal(err)
		}
		if _, err := archive.Write(text); err != nil {
			p.t.Fatal(err)
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	add("lectern-backup.json", []byte(`{"format":"lectern-backup","version":1,"made":"2026-01-01T00:00:00Z"}`))
	add("content.db", content)
	text, err := json.Marshal(sums)
	if err != nil {
		p.t.Fatal(err)
	}
	add("checksums.json", text)
	if err := archive.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		p.t.Fatal(err)
	}
	_, stderr, err := p.run("restore", "--data", data, p.dir, file)
	if err == nil {
		if found {
			p.t.Error("a damaged backup is restored")
		}
		return
	}
	sum.restores++
	if exitCode(err) != 1 || strings.Contains(stderr, "goroutine") {
		p.t.Errorf("restore ends with %v:\n%s", err, stderr)
	}
	left, err := os.ReadDir(data)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "lock" {
			p.t.Errorf("restore leaves %s", e.Name())
		}
	}
}

// lostLine matches a line of salvage about a version that could not be saved.
var lostLine = regexp.MustCompile(`(?m)^lost: api::`)

// salvageDamaged saves what can be read, and imports it into another project.
func (p *project) salvageDamaged(total int) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "saved.jsonl")
	_, stderr, err := p.run("salvage", "--data", p.data, p.dir, file)
	if strings.Contains(
		stderr, "catalog") { // the catalog, which is needed to decode every row, is damaged; salvage reports that
		return
	}
	if err != nil {
		p.t.Errorf("salvage: %v\n%s", err, stderr)
		return
	}
	saved, lost := versionsIn(p.t, file), len(lostLine.FindAllString(stderr, -1))
	if saved+lost != total || saved < total-18 {
		p.t.Errorf("%d versions of %d are saved, %d lost:\n%s", saved, total, lost, stderr)
	}
	if out, stderr, err := p.run("import", "--partial", "--data", filepath.Join(p.t.TempDir(), "data"), p.dir,
		file); err != nil && lost == 0 {
		p.t.Errorf("import what is saved: %v\n%s%s", err, out, stderr)
	}
}

// serveDamaged starts a server on the damaged store and compares its replies.
func (p *project) serveDamaged(want map[string]reply, found bool, sum *damageSum) {
	p.t.Helper()
	s := p.start()
	if s.base == "" {
		if sum.refused++; !found || strings.Contains(s.log.String(), "goroutine") {
			p.t.Errorf("damaged: %v; the server does not start:\n%s", found, s.log.String())
		}
		return
	}
	got := ask(p.t, s)
	failed := 0
	for _, path := range sorted(want) {
		switch a := got[path]; {
		case a == want[path]:
		case a.status >= 500 || strings.HasPrefix(path, "{") && a.status == 200 &&
			strings.Contains(a.body, "INTERNAL_SERVER_ERROR") && json.Valid([]byte(a.body)):
			failed++
		default:
			sum.wrong++
			p.t.Errorf("%s: is answered %d %.300s, and should be %d %.300s", path, a.status, a.body, want[path].status,
				want[path].body)
		}
	}
	health, _, err := s.send(http.MethodGet, "/_health", "")
	if err != nil {
		p.t.Error(err)
	}
	status, _, err := s.send(http.MethodPost, "/api/restaurants", `{"data":{"name":"new"}}`)
	if err != nil {
		p.t.Error(err)
	}
	if failed > 0 {
		if sum.failing++; !found {
			p.t.Errorf("%d questions failed, and check --store found nothing", failed)
		}
		if health != http.StatusServiceUnavailable || status != http.StatusServiceUnavailable {
			p.t.Errorf("%d questions failed; /_health says %d, and a write is answered %d", failed, health, status)
		}
		if out, _, err := p.run("check", "--store", "--data", p.data, p.dir); err == nil ||
			!strings.Contains(out, "page") {
			p.t.Errorf("check --store of the running server: %v\n%s", err, out)
		}
	} else if status != http.StatusCreated && status != http.StatusServiceUnavailable {
		p.t.Errorf("a write is answered %d", status)
	}
	select {
	case <-s.ended:
		sum.died++
		p.t.Errorf("the server died:\n%s", s.log.String())
	default:
		s.stop(p.t)
	}
}

func sorted(m map[string]reply) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
