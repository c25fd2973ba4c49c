package gateway_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestServerGoesOnWhenTheClockIsSet sets the clock of a server back by a day and forward by a year, and restarts the
// server at each time. Reads and writes must go on, credentials must expire by the clock and be valid again when it is
// set right, and nothing that was acknowledged may be lost.
func TestServerGoesOnWhenTheClockIsSet(t *testing.T) {
	p := plan(t, nil)
	start := p.clock.Now()
	jwt, _ := p.register("anna")
	titles := map[string]string{} // of the documents, by path
	for i, step := range []struct {
		name       string
		now        time.Time
		week, user int // status of reads with the token of a week, and with the user's first JWT
	}{
		{name: "start", now: start, week: 200, user: 200},
		{name: "a day back", now: start.Add(-24 * time.Hour), week: 200, user: 200},
		{name: "a year forward", now: start.AddDate(1, 0, 0), week: 401, user: 401},
		{name: "set right", now: start.Add(time.Minute), week: 200, user: 200},
	} {
		p.clock.set(step.now)
		for _, restarted := range []bool{false, true} {
			if restarted {
				p.stop()
				p.start(t)
			}
			name := fmt.Sprint(step.name, ", restarted: ", restarted)
			if r := p.do("GET", "/api/articles", "week", nil); r.status != step.week {
				t.Errorf("%s: a token of a week: %d %s, want %d", name, r.status, r.text, step.week)
			}
			if r := p.do("GET", "/api/users/me", jwt, nil); r.status != step.user {
				t.Errorf("%s: a JWT: %d %s, want %d", name, r.status, r.text, step.user)
			}
			p.want(200, "GET", "/api/users/me", p.login("anna", "secret-anna"), nil)
			for path := range titles { // one document of each step so far
				titles[path] = fmt.Sprint("changed in step ", i)
				p.want(200, "PUT", path, "full", object{"data": object{"title": titles[path]}})
			}
			path := p.draft("/api/articles", name)
			titles[path] = name
			made := p.act(200, path, "publish", object{})
			if at, want := made.at("data.updatedAt"), step.now.Format("2006-01-02T15:04:05.000Z"); at != want {
				t.Errorf("%s: changed at %v, want %s", name, at, want)
			}
			p.holds(name, titles)
		}
	}
}

// holds fails the test unless these titles, and no others, are published, and the list is in order of the times of
// creation.
func (p *planned) holds(when string, titles map[string]string) {
	p.t.Helper()
	all, _ := p.want(200, "GET", "/api/articles?sort=createdAt&pagination[pageSize]=100", "full", nil).at("data").([]any)
	var times []string
	for _, a := range all {
		a := a.(object)
		path := fmt.Sprint("/api/articles/", a["documentId"])
		if a["title"] != titles[path] {
			p.t.Errorf("%s: %s has the title %v, want %q", when, path, a["title"], titles[path])
		}
		times = append(times, a["createdAt"].(string))
	}
	if len(all) != len(titles) {
		p.t.Errorf("%s: %d articles, want %d", when, len(all), len(titles))
	}
	if !slices.IsSorted(times) {
		p.t.Errorf("%s: not sorted: %v", when, times)
	}
}
