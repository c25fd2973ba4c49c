package answers

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"lectern/internal/simulation/program"
)

var (
	ruled     = flag.Uint64("ruled", 4, "models with rules that two servers are asked about")
	questions = flag.Int("questions", 150, "questions to each couple of servers")
)

// TestNothingOutsideRulesShows asks pairs of servers whose contents differ only in what the rules of the asker leave
// out. All answers are the same, byte by byte, and what the evaluator expects of a content that has nothing else. A
// long run is go test ./internal/simulation/answers -run TestNothingOutsideRulesShows -ruled 300.
func TestNothingOutsideRulesShows(t *testing.T) {
	n := *ruled
	if testing.Short() {
		n = min(n, 2)
	}
	cover := newRuleCoverage()
	for seed := *program.Seed; seed < *program.Seed+n && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c, err := newCouple(t, seed)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { cover.Add(c.rules) }()
			if err := errors.Join(c.touchHidden(), c.readSeen(), c.readFeeds(), c.knock(), c.knockAtHidden()); err != nil {
				t.Errorf("%v\n%s", err, c.asker.permissions(c.world.Model))
			}
			if err := c.questions(seed, *questions); err != nil {
				t.Errorf("%v\n%s", err, c.asker.permissions(c.world.Model))
			}
			if err := errors.Join(c.hear(), c.writeByRules(seed), c.write(seed)); err != nil {
				t.Errorf("%v\n%s", err, c.asker.permissions(c.world.Model))
			}
			if err := c.end(); err != nil {
				t.Error(err)
			}
		})
	}
	if missed := cover.Below(1); n >= seedsForAll && !t.Failed() && len(missed) > 0 {
		t.Errorf("no rule had: %s", missed)
	}
	if *printCoverage {
		cover.Print(os.Stdout)
	}
}

// seedsForAll are the models after which rules have had everything that they can have.
const seedsForAll = 100

// newRuleCoverage returns a Coverage with what the rules of many askers must have.
func newRuleCoverage() *Coverage {
	c := &Coverage{Hits: map[string]int{}}
	for _, cell := range []string{"findOne", "findDrafts", "fields", "fields except", "private attribute shown", "$user",
		"$user.scalar", "$user.scalar unset", "$user.team", "$role", "$token", "$now", "written fields",
		"written fields except", "set", "set $user", "set $role", "set $user.rank", "check"} {
		c.Hits["rule: "+cell] = 0
	}
	for _, kind := range []string{"create 201", "create 400", "create 403", "update 200", "update 400", "update 403"} {
		c.Hits["written: "+kind] = 0
	}
	return c.requiring()
}

// questions puts n random reads in REST, and as many in GraphQL, to both servers.
func (c *couple) questions(seed uint64, n int) error {
	rest := &generator{rng: rand.New(rand.NewPCG(seed, 3)), world: c.world, cover: NewCoverage(Quirks{})}
	graph := &generator{rng: rand.New(rand.NewPCG(seed, 4)), world: c.world, cover: NewGraphQLCoverage(Quirks{}),
		graphql: true}
	for range n {
		done := c.asker.look(false)
		err := c.question(rest.Question())
		done()
		if err != nil {
			return err
		}
		done = c.asker.look(true)
		err = c.query(graph.Request())
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// question puts a read to both servers. If the answer is expected, it is that of the evaluator to a question about
// what the asker sees.
func (c *couple) question(q *Question) error {
	path := q.Path(c.world)
	got, err := c.ask(call{method: "GET", path: path})
	if err != nil || !c.asker.expected(c.world.Model) {
		return err
	}
	status, want := c.world.seenBy(c.asker, q.status()).Evaluate(q)
	return c.run.compare("GET "+path, status, want, got.status, program.Decode([]byte(got.body)))
}

// query is question for a query in GraphQL.
func (c *couple) query(r *Request) error {
	r.Limited = false
	query, variables := c.world.text(r)
	got, err := c.ask(call{method: "POST", path: "/graphql",
		body: map[string]any{"query": query, "variables": variables}})
	if err != nil || !c.asker.expected(c.world.Model) {
		return err
	}
	data, issues := c.world.AnswerTo(c.asker, r)
	return c.run.compareAnswer(r.describe(c.world), data, issues, got.status, []byte(got.body))
}
