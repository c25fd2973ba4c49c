package config

import (
	"regexp"
	"slices"

	"lectern/auth"
	"lectern/internal/yamlfile"
)

// permissionsFile is config/permissions.yaml as written.
type permissionsFile struct {
	// by role: by uid, the names of the actions that the role is granted
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
	// actions of a `custom` token, as `uid.name`; `lectern::replica.follow` allows [a replica](replicas.md) to follow
	// Default: none
	Permissions []string
	// a time such as `90d`, after which the token ends
	// Default: it does not expire
	Lifespan *yamlfile.Node
}

// readPermissions reads config/permissions.yaml.
func (s *Settings) readPermissions(n *yamlfile.Node, actions *auth.Actions) yamlfile.Problems {
	var f permissionsFile
	unfit := n.Decode(&f)
	problems := s.readRoles(f.Roles, actions)
	for i, t := range f.Tokens {
		at := n.At("tokens").Items[i]
		d := auth.Declaration{Name: t.Name, Description: t.Description, Kind: auth.Kind(t.Type),
			Permissions: t.Permissions}
		if !t.Lifespan.IsNull() {
			var ok bool
			if d.Lifespan, ok = ParseLifespan(t.Lifespan.Text); !ok {
				problems.Add(t.Lifespan, "lifespan must be a time such as 30d or 12h, not %q", t.Lifespan.Text)
			}
		}
		if slices.ContainsFunc(s.Tokens, func(x auth.Declaration) bool { return x.Name == d.Name }) {
			problems.Add(at.At("name"), "there is a token %s above; give each its own name", d.Name)
		}
		s.Tokens = append(s.Tokens, d)
		problems = append(problems, checkToken(d, at, actions)...)
	}
	return together(unfit, problems)
}

// checkToken reports permissions that do not exist. If all of them exist, it checks the rest of the declaration.
func checkToken(d auth.Declaration, at *yamlfile.Node, actions *auth.Actions) (problems yamlfile.Problems) {
	for i, p := range d.Permissions {
		if err := actions.CheckTokenPermission(p); err != nil {
			problems.Add(at.At("permissions").Items[i], "%v", err)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if err := d.Check(actions); err != nil {
		problems.Add(at, "%v", err)
	}
	return problems
}

var roleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// readRoles reads the actions that each role is granted.
func (s *Settings) readRoles(roles *yamlfile.Node, actions *auth.Actions) (problems yamlfile.Problems) {
	if roles.IsNull() {
		return nil
	}
	var file map[string]map[string][]string
	unfit := roles.Decode(&file)
	for _, role := range roles.Entries {
		if !roleName.MatchString(role.Key) {
			problems = append(problems, yamlfile.Problem{File: roles.File, Line: role.Line,
				Message: "a role is called by letters, digits, - and _, such as public, authenticated or editor"})
		}
		granted := []string{}
		for _, e := range role.Value.Entries {
			if err := actions.CheckUID(e.Key); err != nil {
				problems = append(problems, yamlfile.Problem{File: roles.File, Line: e.Line, Message: err.Error()})
				continue
			}
			for _, action := range e.Value.Items {
				if err := actions.Check(e.Key, action.Text); err != nil {
					problems.Add(action, "%v", err)
				}
				granted = append(granted, e.Key+"."+action.Text)
			}
		}
		s.Roles[role.Key] = granted
	}
	return together(unfit, problems)
}
