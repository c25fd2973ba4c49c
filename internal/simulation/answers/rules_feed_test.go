package answers

import (
	"fmt"
	"strings"

	"lectern/internal/simulation/program"
)

// followed returns the paths of the change feed of the types that rules of the asker limit, by status. There is none
// without such a type.
func (c *couple) followed() map[string]string {
	paths := map[string]string{}
	for _, status := range []string{published, draft} {
		var types []string
		for _, t := range c.world.Model.Types {
			where := c.asker.Find[t]
			if own := c.asker.Drafts[t]; own != nil && status == draft {
				where = own
			}
			if where != nil && !t.Single && c.asker.follows(t, status) {
				types = append(types, t.Plural)
			}
		}
		if len(types) > 0 {
			paths[status] = "/api/_changes?limit=1000&locale=*&types=" + strings.Join(types, ",") + "&status=" + status
		}
	}
	return paths
}

// follows reports whether the asker may read versions of a type with a status.
func (a *Asker) follows(t *Type, status string) bool {
	return status == published || !t.Drafts || !a.Granted || a.Drafts[t] != nil
}

// startFeeds reads the change feed of the first server up to its end.
func (c *couple) startFeeds() error {
	c.since = map[string]string{}
	for status, path := range c.followed() {
		got, _, err := call{method: "GET", path: path}.send(c.first, c.asker.Key)
		if err != nil {
			return err
		}
		page, _ := program.Decode([]byte(got.body)).(map[string]any)
		last, _ := page["last_seq"].(string)
		if got.status != 200 || last == "" || fmt.Sprint(page["pending"]) != "0" {
			return fmt.Errorf("%s: %s", path, got)
		}
		c.since[status] = last
	}
	return nil
}

// readFeeds reads the change feeds from where they were before the difference, and from their beginning.
func (c *couple) readFeeds() error {
	for status, path := range c.followed() {
		got, err := c.ask(call{method: "GET", path: path + "&since=" + c.since[status]})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(got.body, `{"results":[],`) || !strings.Contains(got.body, `"pending":0`) {
			return fmt.Errorf("%s tells a change that the asker does not see: %s", path, got)
		}
		if _, err := c.ask(call{method: "GET", path: path}); err != nil {
			return err
		}
	}
	return nil
}
