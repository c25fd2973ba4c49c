package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestVariablesWithoutValue asks with rules that compare with attributes of the user that are empty. Such a comparison
// is unknown: neither it nor its negation shows a document, and the rest of the rule decides as without it.
func TestVariablesWithoutValue(t *testing.T) {
	rules := map[string]struct{ where, want, withValue string }{
		"alone":       {`{name: $user.nickname}`, "", "be"},
		"negated":     {`{name: {$not: {$eq: $user.nickname}}}`, "", "acd"},
		"unequal":     {`{name: {$ne: $user.nickname}}`, "", "acd"},
		"either":      {`{$or: [{state: approved}, {name: $user.nickname}]}`, "ae", "abe"},
		"eithernot":   {`{$or: [{state: approved}, {$not: {name: $user.nickname}}]}`, "ae", "acde"},
		"notboth":     {`{$not: {$and: [{state: approved}, {name: $user.nickname}]}}`, "bcd", "abcd"},
		"noteither":   {`{$not: {$or: [{state: approved}, {name: $user.nickname}]}}`, "", "cd"},
		"listed":      {`{name: {$in: [Bob, $user.nickname]}}`, "a", "abe"},
		"notlisted":   {`{name: {$notIn: [Bob, $user.nickname]}}`, "", "cd"},
		"notnotlist":  {`{$not: {name: {$notIn: [Bob, $user.nickname]}}}`, "a", "abe"},
		"folded":      {`{name: {$eqi: [BOB, $user.nickname]}}`, "a", "abe"},
		"unfolded":    {`{name: {$nei: $user.nickname}}`, "", "acd"},
		"unfoldeds":   {`{name: {$nei: [BOB, $user.nickname]}}`, "", "cd"},
		"beginning":   {`{name: {$startsWith: $user.nickname}}`, "", "be"},
		"notwithin":   {`{name: {$notContains: $user.nickname}}`, "", "acd"},
		"after":       {`{name: {$gt: $user.nickname}}`, "", "acd"},
		"between":     {`{$not: {name: {$between: [$user.nickname, B]}}}`, "", "acd"},
		"ofteam":      {`{$or: [{state: pending}, {team: $user.team}]}`, "bd", "bcd"},
		"notofteam":   {`{$or: [{state: pending}, {$not: {team: $user.team}}]}`, "bd", "bd"},
		"teamlist":    {`{team: {$in: [$user.team, $user.team]}}`, "", "c"},
		"behind":      {`{$or: [{state: pending}, {exhibit: {title: $user.nickname}}]}`, "bd", "bd"},
		"enumeration": {`{$or: [{state: {$eqi: PENDING}}, {name: $user.nickname}]}`, "bd", "bde"},
		"unenumerated": {`{$and: [{state: {$nei: [Pending, REFUSED]}}, {state: {$between: [a, b]}}]}`, "ae",
			"ae"},
	}
	var roles strings.Builder
	for role, rule := range rules {
		fmt.Fprintf(&roles, "  %s:\n    api::comment.comment: {find: {where: %s}}\n", role, rule.where)
	}
	m := openMuseum(t, map[string]string{"config/permissions.yaml": strings.Replace(museumPermissions,
		"tokens:", roles.String()+"tokens:", 1)})
	jwt, id := m.register("user")
	sees := func(role, want string) {
		t.Helper()
		m.want(200, "PUT", userPath(id), "full", object{"role": m.roleID(role)})
		if got := m.want(200, "GET", "/api/comments?fields=text", jwt, nil).texts(); got !=
			fmt.Sprint(want, " of ", len(want)) {
			t.Errorf("%s sees %s, want %s", rules[role].where, got, want)
		}
	}
	for role, rule := range rules {
		sees(role, rule.want)
	}
	team := m.want(200, "GET", "/api/teams", "full", nil).at("data").([]any)[0].(object)["documentId"]
	m.want(200, "PUT", userPath(id), "full", object{"nickname": "Ada", "team": team})
	for role, rule := range rules {
		sees(role, rule.withValue)
	}
}
