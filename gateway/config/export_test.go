package config

import (
	"testing/fstest"

	"lectern/internal/yamlfile"
	"lectern/webhooks"
)

// ReadWebhooks reads the text of a config/webhooks.yaml.
func ReadWebhooks(text string) ([]webhooks.Hook, yamlfile.Problems) {
	n, problems := yamlfile.Read(fstest.MapFS{"webhooks.yaml": {Data: []byte(text)}}, "webhooks.yaml", nil)
	if len(problems) > 0 || n.IsNull() {
		return nil, problems
	}
	s := Default()
	problems = s.readWebhooks(n, nil)
	return s.Webhooks, problems
}
