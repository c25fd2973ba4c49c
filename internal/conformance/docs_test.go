package conformance

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/gateway/config"
)

var (
	configSection = regexp.MustCompile(`(?s)^config/([a-z]+)\.yaml\n(.*)`)
	configRow     = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| (`[^|]*`) \\|")
	quotedWord    = regexp.MustCompile("`([^`]*)`")
)

// TestDocumentedDefaults checks the defaults in docs/configuration.md: a project that sets all of them has the same
// configuration as one that sets nothing.
func TestDocumentedDefaults(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	bare, said := t.TempDir(), t.TempDir()
	for _, dir := range []string{bare, said} {
		for _, sub := range []string{"config", "content-types"} {
			if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	keys := 0
	for _, text := range strings.Split(string(page), "\n## ") {
		section := configSection.FindStringSubmatch(text)
		if section == nil {
			continue
		}
		tree := map[string]any{}
		for _, row := range configRow.FindAllStringSubmatch(section[2], -1) {
			keys += sayDefaults(tree, words(row[1]), words(row[2]))
		}
		if len(tree) == 0 {
			continue
		}
		file := filepath.Join(said, "config", section[1]+".yaml")
		if err := os.WriteFile(file, []byte(yaml(tree, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if keys < 25 {
		t.Errorf("only %d defaults were found in the page", keys)
	}
	want, err := gateway.Load(bare, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := gateway.Load(said, nil)
	if err != nil {
		t.Fatal(err)
	}
	plainLists(&want.Settings)
	plainLists(&got.Settings)
	if !reflect.DeepEqual(got.Settings, want.Settings) {
		t.Errorf("the documented defaults give\n%+v\nand no configuration gives\n%+v", got.Settings, want.Settings)
	}
}

// plainLists clears the settings that differ when a project sets their default explicitly, and the log format, which
// depends on how the server is started.
func plainLists(s *config.Settings) {
	s.Server.CORS = config.CORS{}
	s.Server.Log.Format = ""
	s.Users.AllowRegister, s.Users.RegisterFields, s.Users.DefaultRole, s.Users.SameSiteAt = nil, nil, nil, nil
}

// sayDefaults adds the defaults of a table row to a tree of keys, and returns the number of keys. The first key of a
// row is complete; the others have the same parent and give only their last part.
func sayDefaults(tree map[string]any, keys, defaults []string) int {
	prefix := ""
	for i, key := range keys {
		if i == 0 {
			prefix = key[:strings.LastIndex(key, ".")+1]
		} else {
			key = prefix + key
		}
		if strings.HasSuffix(key, "*") || i >= len(defaults) {
			continue
		}
		at, parts := tree, strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			if at[part] == nil {
				at[part] = map[string]any{}
			}
			at = at[part].(map[string]any)
		}
		at[parts[len(parts)-1]] = defaults[i]
	}
	return len(keys)
}

// words returns the words in backquotes.
func words(s string) []string {
	var list []string
	for _, g := range quotedWord.FindAllStringSubmatch(s, -1) {
		list = append(list, g[1])
	}
	return list
}

func yaml(tree map[string]any, indent string) string {
	var b strings.Builder
	for key, value := range tree {
		switch value := value.(type) {
		case map[string]any:
			b.WriteString(indent + key + ":\n" + yaml(value, indent+"  "))
		case string:
			b.WriteString(indent + key + ": " + value + "\n")
		}
	}
	return b.String()
}
