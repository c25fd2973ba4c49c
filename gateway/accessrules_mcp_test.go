package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"lectern/gateway"
)

// tool calls a tool of MCP and returns the text of its result.
func (a *api) tool(as, name string, arguments object) (text string, failed bool) {
	a.t.Helper()
	r := a.want(200, "POST", "/mcp", as, object{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": object{"name": name, "arguments": arguments}}, "Accept", "application/json, text/event-stream")
	// The answer is one event, whose data is the message.
	_, message, _ := strings.Cut(r.text, "data: ")
	if r.body != nil {
		message = r.text
	}
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.NewDecoder(strings.NewReader(message)).Decode(&answer); err != nil || len(answer.Result.Content) != 1 {
		a.t.Fatalf("%s %v: %v %s", name, arguments, err, r.text)
	}
	return answer.Result.Content[0].Text, answer.Result.IsError
}

// TestToolsKeepToRules reads and writes articles by the tools of MCP, within what rules allow and outside of it.
func TestToolsKeepToRules(t *testing.T) {
	files := map[string]string{}
	for name, text := range newsFiles {
		files[name] = text
	}
	files["config/plugins.yaml"] += "mcp: {enabled: true}\n"
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	ada, adaID := a.register("ada")
	bob, _ := a.register("bob")
	const missing = "abcdefghijklmnopqrstuvwx"
	own, _ := a.writeArticle(ada, object{"title": "Own"})
	seen, _ := a.writeArticle(bob, object{"title": "Seen"})
	a.want(200, "PUT", "/api/articles/"+seen+"?status=draft", "full", object{"data": object{"state": "done", "featured": true}})
	hidden, _ := a.writeArticle(bob, object{"title": "SECRET"})
	secret, _ := a.want(201, "POST", "/api/topics", "full",
		object{"data": object{"title": "SECRET", "secret": true}}).at("data.documentId").(string)
	article := func(id string, more object) object {
		arguments := object{"type": "articles", "status": "draft", "documentId": id}
		if id == "" {
			delete(arguments, "documentId")
		}
		for key, v := range more {
			arguments[key] = v
		}
		return arguments
	}
	data := func(key string, value any) object { return object{"data": object{key: value}} }
	for _, c := range []struct {
		name, tool string
		arguments  object
		fails      bool
		has        string // and in no answer is anything secret or featured
	}{
		{"find", "find", article("", object{"populate": "*"}), false, `"total":2`},
		{"find what is hidden", "find", article("", object{"filters": object{"title": "SECRET"}}), false, `"total":0`},
		{"search what is hidden", "find", article("", object{"_q": "SECRET"}), false, `"total":0`},
		{"filter by what is not read", "find", article("", object{"filters": object{"featured": true}}), true, "Invalid key"},
		{"sort by what is not read", "find", article("", object{"sort": "featured"}), true, "Invalid key"},
		{"read", "read", article(seen, nil), false, `"title":"Seen"`},
		{"read what is hidden", "read", article(hidden, nil), true, "Not Found"},
		{"create for another", "create", article("", data("author", "nobody")), false, `"title":null`},
		{"link what is hidden", "create", article("", data("topic", secret)), true, "not found"},
		{"update", "update", article(own, data("title", "Mine")), false, `"title":"Mine"`},
		{"update what is not written", "update", article(own, data("featured", false)), true, "Invalid key"},
		{"update against the check", "update", article(own, data("state", "done")), true, "Forbidden"},
		{"update what is only seen", "update", article(seen, data("title", "Mine")), true, "Forbidden"},
		{"update what is hidden", "update", article(hidden, data("title", "Mine")), true, "Not Found"},
		{"publish what is only seen", "publish", object{"type": "articles", "documentId": seen}, true, "Forbidden"},
		{"publish what is hidden", "publish", object{"type": "articles", "documentId": hidden}, true, "Not Found"},
		{"delete what is only seen", "delete", object{"type": "articles", "documentId": seen}, true, "Forbidden"},
		{"discard the draft of what is hidden", "discard_draft", object{"type": "articles", "documentId": hidden}, true,
			"Not Found"},
	} {
		text, failed := a.tool(ada, c.tool, c.arguments)
		if failed != c.fails || !strings.Contains(text, c.has) || strings.Contains(text, "SECRET") ||
			!c.fails && strings.Contains(text, "featured") {
			t.Errorf("%s: %v %s", c.name, failed, text)
		}
		if id := c.arguments["documentId"]; id == hidden {
			c.arguments["documentId"] = missing
			if none, _ := a.tool(ada, c.tool, c.arguments); none != strings.ReplaceAll(text, hidden, missing) {
				t.Errorf("%s: %s, and of one that there is not: %s", c.name, text, none)
			}
		}
	}
	definition := a.want(200, "POST", "/mcp", ada, object{"jsonrpc": "2.0", "id": 1, "method": "resources/read",
		"params": object{"uri": "lectern://types/api::article.article"}}, "Accept", "application/json, text/event-stream").text
	if !strings.Contains(definition, "title") || strings.Contains(definition, "featured") {
		t.Errorf("the definition: %s", definition)
	}
	// What the server sets, it has set; and no tool has changed what it may not.
	r := a.want(200, "GET", "/api/articles?status=draft&populate=author&sort=id", "full", nil)
	list, _ := r.at("data").([]any)
	for _, v := range list {
		o := v.(object)
		author, _ := o["author"].(object)
		switch o["title"] {
		case "Mine", nil:
			if author["id"] != float64(adaID) || o["state"] != "draft" {
				t.Errorf("ada's article: %v", o)
			}
		case "Seen", "SECRET":
			if author["id"] == float64(adaID) {
				t.Errorf("bob's article: %v", o)
			}
		default:
			t.Errorf("an article: %v", o)
		}
	}
	if len(list) != 4 {
		t.Errorf("%d articles: %s", len(list), r.text)
	}
}
