package definitions

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"lectern/gateway"
	"lectern/internal/yamlfile"
)

// settle leaves out what the loader of Lectern refuses, until the project passes the check. Each round checks the
// project and leaves out at least one part, so settle ends. Leaving out one side of a relation may make the next round
// refuse the other.
func (c *converter) settle() error {
	for {
		problems, err := c.check()
		if err != nil || len(problems) == 0 {
			return err
		}
		settled, printed := false, c.printed()
		for _, p := range problems {
			settled = c.settleProblem(p, keysAt(printed[p.File], p.Line)) || settled
		}
		if !settled {
			for _, p := range problems {
				c.note(Lost, p.File, "", "correct it by hand: the project does not start with it", "%s", p.Message)
			}
			return nil
		}
	}
}

// check returns the problems that `lectern check` finds, with lines of the files as they are now printed.
func (c *converter) check() (yamlfile.Problems, error) {
	dir, err := os.MkdirTemp("", "lectern-definitions-")
	if err != nil {
		return nil, fmt.Errorf("check the converted project: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := c.project.Write(dir); err != nil {
		return nil, err
	}
	_, problems, _, err := gateway.Check(dir, gateway.Options{})
	if err != nil {
		return nil, fmt.Errorf("check the converted project: %w", err)
	}
	return problems, nil
}

// printed returns the files as their readers see them, with lines.
func (c *converter) printed() map[string]*yamlfile.Node {
	files := map[string]*yamlfile.Node{}
	for name := range c.project.files {
		files[name], _ = yamlfile.Parse(name, c.project.File(name),
			nil) // without variables there are no problems with printed files
	}
	return files
}

// settleProblem changes or leaves out the part of a file that a problem is about, to which keys lead. It reports
// whether there was such a part.
func (c *converter) settleProblem(p yamlfile.Problem, keys []string) bool {
	root := c.project.files[p.File]
	if root == nil {
		return false
	}
	at := c.paths[p.File]
	switch {
	case len(keys) == 0 || slices.Equal(keys, []string{"attributes"}):
		delete(c.project.files, p.File)
		c.note(Lost, c.originOf(p.File), at, "", "%s", p.Message)
		return true
	case slices.Equal(keys, []string{"info", "singularName"}), slices.Equal(keys, []string{"info", "pluralName"}):
		return c.rename(root, p, keys[1])
	case keys[0] == "attributes" && len(keys) > 2 && slices.Contains(definingKeys, keys[2]):
		keys = keys[:2]
	case keys[0] == "attributes" && len(keys) > 3:
		keys = keys[:3]
	}
	level, format := Changed, "left out: %s"
	if keys[0] == "attributes" && len(keys) == 2 {
		level, format = Lost, "%s"
	}
	if !leaveOutAt(root, keys, p.Message) {
		return false // an earlier problem was about the same part
	}
	if keys[0] == "attributes" {
		keys = keys[1:]
	}
	path := strings.Join(keys, ".")
	if at != "" {
		path = at + "." + path
	}
	c.note(level, c.originOf(p.File), path, "", format, p.Message)
	return true
}

// definingKeys are the keys without which an attribute is another one. An attribute with a problem in one of them is
// left out.
var definingKeys = []string{"type", "relation", "target", "component", "components", "enum"}

// originOf returns the file of the source that a file of the project was made from.
func (c *converter) originOf(file string) string {
	if origin := c.origins[file]; origin != "" {
		return origin
	}
	return file
}

// rename gives a type another singular or plural name, because the present one belongs to Lectern or to another type.
// The uid stays.
func (c *converter) rename(root *yamlfile.Node, p yamlfile.Problem, key string) bool {
	suffix := map[string]string{"singularName": "-entry", "pluralName": "-entries"}[key]
	info := root.Get("info")
	for i := range info.Entries {
		e := &info.Entries[i]
		if e.Key != key || e.Value == nil {
			continue
		}
		was := textOf(e.Value)
		name := kebab(was)
		if name == was {
			name += suffix
		}
		if strings.Count(was, suffix) > 1 {
			delete(c.project.files, p.File)
			c.note(Lost, c.originOf(p.File), c.paths[p.File], "", "%s", p.Message)
			return true
		}
		if root.Get("uid") == nil { // it would follow from the name
			root.Entries = slices.Insert(root.Entries, 1, yamlfile.Entry{Key: "uid", Value: text(c.paths[p.File])})
		}
		e.Value, e.Comment = text(name), fmt.Sprintf("was %s: %s", was, p.Message)
		c.note(Changed, c.originOf(p.File), c.paths[p.File]+".info."+key, "clients must use the new name",
			"%s is renamed to %s: %s", was, name, p.Message)
		return true
	}
	return false
}

// keysAt returns the keys that lead to the last entry at or before a line.
func keysAt(n *yamlfile.Node, line int) (keys []string) {
	for n != nil && n.Kind == yamlfile.Map {
		i := slices.IndexFunc(n.Entries, func(e yamlfile.Entry) bool { return e.Line > line })
		if i < 0 {
			i = len(n.Entries)
		}
		if i == 0 {
			break
		}
		keys, n = append(keys, n.Entries[i-1].Key), n.Entries[i-1].Value
	}
	return keys
}

// leaveOutAt replaces the entry that keys lead to by a comment with the reason. It reports whether there was such an
// entry.
func leaveOutAt(n *yamlfile.Node, keys []string, why string) bool {
	for i := range n.Entries {
		e := &n.Entries[i]
		switch {
		case e.Key != keys[0] || e.Value == nil:
		case len(keys) > 1:
			return leaveOutAt(e.Value, keys[1:], why)
		default:
			*e = yamlfile.Entry{Comment: fmt.Sprintf("%s: %s\n  left out: %s", e.Key, yamlfile.Flow(e.Value), why)}
			return true
		}
	}
	return false
}
