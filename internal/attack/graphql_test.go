package attack

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

// circles queries lists nested six deep, of restaurants and categories that refer to each other.
const circles = `{restaurants(status:DRAFT){categories{restaurants{categories{restaurants{categories{name}}}}}}}`

// TestListsInCircles has 32 clients send queries at once whose responses would have millions of objects made from 630
// rows. Each must be refused before anything is printed, with a message that names the limit. A query that is deep but
// small must be answered.
func TestListsInCircles(t *testing.T) {
	p := newProject(t, "", restaurantFiles(""))
	p.importRestaurants()
	s := p.serve()
	defer s.stop(t)
	ask := func(query string) string {
		body, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Error(err)
		}
		_, answer, err := s.send("POST", "/graphql", string(body))
		if err != nil {
			t.Error(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if small := ask(strings.Replace(circles, "DRAFT", "DRAFT,pagination:{limit:1}", 1)); strings.Contains(
		small, `"errors"`) || strings.Count(small, `"name"`) != 3*10*3*10*3 {
		t.Errorf("one restaurant, six lists deep: %.300s", small)
	}
	unlimited := strings.NewReplacer("DRAFT", "DRAFT,pagination:{limit:-1}", "categories{restaurants{",
		"categories{restaurants(pagination:{limit:-1}){").Replace(circles)
	before := s.anonymousMemory(t)
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			if answer := ask(unlimited); !strings.Contains(
				answer, "more than 200000 objects (graphql.config.limits.rows)") {
				t.Errorf("in circles: %.300s", answer)
			}
		})
	}
	clients.Wait()
	after := s.anonymousMemory(t)
	t.Logf("RssAnon: %d MB before, %d MB after", before>>20, after>>20)
	if most := int64(48 << 20); after-before > most {
		t.Errorf("RssAnon grew by %d MB", (after-before)>>20)
	}
}
