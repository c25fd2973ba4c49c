package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/internal/yamlfile"
	"lectern/jsontree"
)

// permissionsFile is config/permissions.yaml as written.
type permissionsFile struct {
	// by role: by uid, the actions that the role is granted: a list of their names, or a mapping from their names to
	// `true` or [a rule](permissions-reference.md#rules)
	// Default: none
	Roles  *yamlfile.Node
	Tokens []tokenFile
}

type tokenFile struct {
	// name of the token; no two tokens have the same
	Name string `yaml:",required"`
	// text for people
	// Default: none
	Description string
	// `full-access`, `read-only` or `custom`
	Type string `yaml:",required"`
	// actions of a `custom` token: a list of `uid.name`, where `lectern::replica.follow` allows [a
	// replica](replicas.md) to follow, or a mapping as that of a role
	// Default: none
	Permissions *yamlfile.Node
	// a time such as `90d`, after which the token ends
	// Default: it does not expire
	Lifespan *yamlfile.Node
}

// readPermissions reads config/permissions.yaml.
func (d *Definition) readPermissions(n *yamlfile.Node) yamlfile.Problems {
	var f permissionsFile
	unfit := n.Decode(&f)
	g := grantReader{definition: d}
	if d.Model != nil {
		g.conditions = d.Conditions()
	}
	g.roles(f.Roles)
	for i, t := range f.Tokens {
		g.token(t, n.At("tokens").Items[i])
	}
	return together(unfit, g.problems)
}

// A grantReader reads what permissions.yaml grants.
type grantReader struct {
	definition *Definition
	conditions permission.Conditions // nil if rules cannot be checked, since the content types have problems
	problems   yamlfile.Problems
}

// token reads a token. Its other mistakes are reported once its permissions exist.
func (g *grantReader) token(t tokenFile, at *yamlfile.Node) {
	s := &g.definition.Settings
	d := auth.Declaration{Name: t.Name, Description: t.Description, Kind: auth.Kind(t.Type)}
	if !t.Lifespan.IsNull() {
		var ok bool
		if d.Lifespan, ok = ParseLifespan(t.Lifespan.Text); !ok {
			g.problems.Add(t.Lifespan, "lifespan must be a time such as 30d or 12h, not %q", t.Lifespan.Text)
		}
	}
	if slices.ContainsFunc(s.Tokens, func(x auth.Declaration) bool { return x.Name == d.Name }) {
		g.problems.Add(at.At("name"), "there is a token %s above; give each its own name", d.Name)
	}
	before := len(g.problems)
	switch p := t.Permissions; {
	case p.IsNull():
	case p.Kind == yamlfile.Map:
		granted := g.granted(p, forbiddenToTokens)
		d.Permissions, d.Rules = granted.permissions, granted.rules
	case p.Kind == yamlfile.List:
		g.problems = append(g.problems, p.Decode(&d.Permissions)...)
		for i, action := range d.Permissions {
			if err := g.definition.Actions.CheckTokenPermission(action); err != nil {
				g.problems.Add(p.Items[i], "%v", err)
			}
		}
	default:
		g.problems.Add(p, "permissions must be a list of actions, or a mapping as that of a role, not %s", p.Describe())
	}
	if len(g.problems) == before {
		if err := d.Check(g.definition.Actions); err != nil {
			g.problems.Add(at, "%v", err)
		}
	}
	s.Tokens = append(s.Tokens, d)
}

var roleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// roles reads the actions that each role is granted.
func (g *grantReader) roles(roles *yamlfile.Node) {
	if roles.IsNull() {
		return
	}
	var file map[string]map[string]any
	unfit := roles.Decode(&file)
	found := len(g.problems)
	s := &g.definition.Settings
	for _, role := range roles.Entries {
		if !roleName.MatchString(role.Key) {
			g.problems = append(g.problems, roles.EntryProblem(role,
				"a role is called by letters, digits, - and _, such as public, authenticated or editor"))
		}
		forbidden := forbiddenToRoles
		if role.Key == auth.PublicRole {
			forbidden = forbiddenToPublic
		}
		granted := g.granted(role.Value, forbidden)
		s.Roles[role.Key] = granted.permissions
		if len(granted.rules) > 0 {
			if s.Rules == nil {
				s.Rules = map[string]auth.Rules{}
			}
			s.Rules[role.Key] = granted.rules
		}
	}
	g.problems = append(g.problems[:found:found], together(unfit, g.problems[found:])...)
}

// granted holds the actions that a role or token is granted, as "uid.action", and their rules.
type granted struct {
	permissions []string
	rules       auth.Rules
}

// Variables that have no value for some callers, and why.
var (
	forbiddenToPublic = map[string]string{"user": "who has the role public is no user", "token": noToken}
	forbiddenToRoles  = map[string]string{"token": noToken}
	forbiddenToTokens = map[string]string{"user": "who has a token is no user", "role": "who has a token has no role"}
)

const noToken = "who has a role has no token"

// granted reads a mapping from uids to actions. forbidden says which variables their rules cannot have.
func (g *grantReader) granted(n *yamlfile.Node, forbidden map[string]string) granted {
	all := granted{permissions: []string{}, rules: auth.Rules{}}
	actions := g.definition.Actions
	for _, e := range n.Entries {
		if err := actions.CheckUID(e.Key); err != nil {
			g.problems = append(g.problems, n.EntryProblem(e, "%v", err))
			continue
		}
		switch e.Value.Kind {
		case yamlfile.List:
			var names []string
			g.problems = append(g.problems, e.Value.Decode(&names)...)
			for _, action := range e.Value.Items {
				if err := actions.Check(e.Key, action.Text); err != nil {
					g.problems.Add(action, "%v", err)
				}
				all.permissions = append(all.permissions, e.Key+"."+action.Text)
			}
		case yamlfile.Map:
			for _, action := range e.Value.Entries {
				if err := actions.Check(e.Key, action.Key); err != nil {
					g.problems = append(g.problems, e.Value.EntryProblem(action, "%v", err))
					continue
				}
				p := e.Key + "." + action.Key
				all.permissions = append(all.permissions, p)
				if rule := g.rule(p, e.Value, action, forbidden); rule != nil {
					all.rules[p] = rule
				}
			}
		case yamlfile.Null:
		default:
			g.problems = append(g.problems, n.EntryProblem(e, "%s must be a list of actions, or a mapping such as "+
				"{find: true}, not %s", e.Key, e.Value.Describe()))
		}
	}
	if len(all.rules) == 0 {
		all.rules = nil
	}
	return all
}

// rule reads what stands at an action of a mapping: true, which is no rule, or a rule.
func (g *grantReader) rule(p string, n *yamlfile.Node, action yamlfile.Entry,
	forbidden map[string]string) *jsontree.Object {
	if yes, ok := action.Value.AsBool(); !action.Value.IsNull() && ok && yes {
		return nil
	}
	written, isRule := action.Value.Tree().(*jsontree.Object)
	if !isRule {
		g.problems = append(g.problems, n.EntryProblem(action,
			"%s must be true or a rule such as {where: {state: approved}}; leave an action out that is not granted", action.Key))
		return nil
	}
	if g.conditions == nil {
		return written
	}
	rule, err := permission.ReadRule(g.definition.Model, p, written, g.conditions)
	if err != nil {
		var path []string
		if wrong := (*permission.RuleError)(nil); errors.As(err, &wrong) {
			path = wrong.Path
		}
		g.problems = append(g.problems, n.EntryProblem(entryAt(action, path), "%s: %v", p, err))
		return written
	}
	for _, name := range rule.Variables() {
		kind, _, _ := strings.Cut(name, ".")
		if why, ok := forbidden[kind]; ok {
			g.problems = append(g.problems, n.EntryProblem(action, "%s: $%s has no value, since %s", p, name, why))
		}
	}
	return written
}

// entryAt returns the entry below another one to which keys lead, as far as they exist. Between two keys there may be
// others, such as $or.
func entryAt(e yamlfile.Entry, path []string) yamlfile.Entry {
	for _, key := range path {
		below, ok := entryBelow(e.Value, key)
		if !ok {
			break
		}
		e = below
	}
	return e
}

func entryBelow(n *yamlfile.Node, key string) (yamlfile.Entry, bool) {
	if n == nil {
		return yamlfile.Entry{}, false
	}
	for _, e := range n.Entries {
		if e.Key == key {
			return e, true
		}
	}
	for _, e := range n.Entries {
		if found, ok := entryBelow(e.Value, key); ok {
			return found, true
		}
	}
	for _, item := range n.Items {
		if found, ok := entryBelow(item, key); ok {
			return found, true
		}
	}
	return yamlfile.Entry{}, false
}
