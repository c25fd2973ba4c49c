package gateway_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lectern/internal/yamlfile"
)

const observability = "../examples/observability"

var metricInQuery = regexp.MustCompile(`\b(?:lectern|go|process)_[a-z_]+`)

// TestObservabilityExamplesUseExistingMetrics expects the alert rules and the dashboard of the example to use only
// metrics that a scrape has.
func TestObservabilityExamplesUseExistingMetrics(t *testing.T) {
	a := serve(t, withMetrics(nil))
	a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "a"}})
	a.want(401, "GET", "/api/articles", "wrong", nil)
	a.do("POST", "/graphql", "full", object{"query": "{ " + strings.Repeat("a: __typename ", 600) + "}"})
	served := map[string]bool{}
	for name, family := range a.scrape() {
		served[name] = true
		if family.Metric[0].Histogram != nil || family.Metric[0].Summary != nil {
			served[name+"_bucket"], served[name+"_sum"], served[name+"_count"] = true, true, true
		}
	}
	for file, queries := range map[string][]string{"lectern.rules.yml": ruleQueries(t),
		"dashboard.json": dashboardQueries(t)} {
		if len(queries) < 10 {
			t.Errorf("%s: only %d queries", file, len(queries))
		}
		for _, query := range queries {
			names := metricInQuery.FindAllString(query, -1)
			if len(names) == 0 && !strings.HasPrefix(query, "up{") {
				t.Errorf("%s: no metric in %s", file, query)
			}
			for _, name := range names {
				if !served[name] {
					t.Errorf("%s: no scrape has %s of %s", file, name, query)
				}
			}
		}
	}
}

// ruleQueries returns the queries of the alert rules, each of which has a name, a severity and a summary.
func ruleQueries(t *testing.T) (queries []string) {
	t.Helper()
	n, problems := yamlfile.Read(os.DirFS(observability), "lectern.rules.yml", nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	if problems := n.Decode(&file); len(problems) > 0 {
		t.Fatal(problems)
	}
	var names []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || slices.Contains(names, rule.Alert) || rule.Labels["severity"] == "" ||
				rule.Annotations["summary"] == "" {
				t.Errorf("rule %+v", rule)
			}
			names, queries = append(names, rule.Alert), append(queries, rule.Expr)
		}
	}
	return queries
}

// dashboardQueries returns the queries of the panels of the dashboard.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile(observability + "/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		if panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %+v", panel)
		}
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}
