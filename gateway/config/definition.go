package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/internal/yamlfile"
	"lectern/shadowcrud/params"
)

// Problems lists all problems of a project's files. It is the type of the error of gateway.Load, for use with
// errors.As.
type Problems = yamlfile.Problems

// A Problem says what is wrong in a line of a file and how to mend it.
type Problem = yamlfile.Problem

// A Definition holds the content types and settings of a project. It does not change.
type Definition struct {
	Dir            string              // the project's directory
	Model          *contenttypes.Model // nil if the content types have problems
	Settings       Settings
	HasPermissions bool                                       // there is a permissions.yaml with content, which may be {}
	Actions        *auth.Actions                              // the actions that permissions.yaml can grant to roles and tokens
	Populate       params.Defaults                            // the relations to populate by default
	Cache          map[*contenttypes.ContentType]CacheControl // nil: none is set
}

// Load reads and checks the files of the project in dir. It calls check when Model and Actions are set; check may add
// actions and returns further problems. The error says why dir is no project. The Definition may be used only if there
// are no problems.
func Load(dir string, check func(*Definition) yamlfile.Problems) (*Definition, yamlfile.Problems, error) {
	project, err := open(dir)
	if err != nil {
		return nil, nil, err
	}
	lookup, problems := environment(dir)
	settings, found := readSettings(project, lookup)
	problems = append(problems, found...)
	outline, found := loadModel(project, settings, lookup)
	problems = append(problems, found...)
	d := &Definition{Dir: dir, Settings: settings}
	if len(found) == 0 {
		d.Model, d.Actions = outline.Model, auth.ActionsOf(outline.Model)
	} else { // the other files can be checked against the content types that could be read
		d.Actions = auth.ActionsOfOutline(outline)
	}
	problems = append(problems, check(d)...)
	if d.Model != nil {
		problems = append(problems, d.readPopulate()...)
		problems = append(problems, d.readCache()...)
	}
	if !outline.HasProblem(contenttypes.UserUID) {
		problems = append(problems, d.Settings.Users.checkFields(outline.Model)...)
	}
	problems = append(problems, d.Settings.checkEndpoint(outline.Model)...)
	permissions, found := readConfig(project, permissionsName, lookup)
	problems = append(problems, found...)
	d.HasPermissions = !permissions.IsNull()
	if permissions != nil {
		problems = append(problems, d.readPermissions(permissions)...)
	}
	hooks, found := readConfig(project, webhooksName, lookup)
	problems = append(problems, found...)
	if hooks != nil {
		problems = append(problems, d.Settings.readWebhooks(hooks, d.Model)...)
	}
	return d, problems.Sort(), nil
}

// open returns the files of the project in dir. If dir is no project, the error says what to do.
func open(dir string) (fs.FS, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no directory %s; `lectern init %s` makes an example project there", dir, dir)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory; name the directory of a project", dir)
	}
	project := os.DirFS(dir)
	if err := strapiProject(dir, project); err != nil {
		return nil, err
	}
	if !IsProject(dir) {
		return nil, fmt.Errorf(
			"%s holds no project: there is neither content-types/ nor config/ in it; "+
				"`lectern init %s` makes an example", dir, dir)
	}
	return project, nil
}

// IsProject reports whether dir holds a project, even one with problems.
func IsProject(dir string) bool {
	for _, name := range []string{"content-types", "config"} {
		if info, err := fs.Stat(os.DirFS(dir), name); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// loadModel reads the content types. It leaves out the built-in types of plugins that are switched off.
func loadModel(project fs.FS, s Settings, lookup yamlfile.Lookup) (contenttypes.Outline, yamlfile.Problems) {
	return contenttypes.LoadOutline(project, contenttypes.Options{
		Lookup:                  lookup,
		WithoutUsersPermissions: !s.Users.Enabled,
		WithoutUpload:           !s.Upload.Enabled,
		WithoutI18N:             !s.I18n.Enabled,
	})
}

// Conditions returns what reads the conditions of rules of access.
func (d *Definition) Conditions() permission.Conditions {
	return params.New(d.Model, d.Settings.I18n.DefaultLocale, params.ListSettings{})
}

// CompileRoles compiles the permissions of the roles of permissions.yaml.
func (d *Definition) CompileRoles() *auth.Roles {
	return auth.CompileRoles(d.Settings.Roles, d.Settings.Rules, d.rules())
}

func (d *Definition) rules() auth.RuleReader {
	return auth.RuleReader{Model: d.Model, Conditions: d.Conditions(), Drafts: d.Settings.REST.Drafts}
}

// AccessOfRole returns what a role of permissions.yaml may do. If it declares no such role, the error lists those that
// it does declare.
func (d *Definition) AccessOfRole(name string) (*permission.Access, error) {
	if _, ok := d.Settings.Roles[name]; !ok {
		return nil, notDeclared("role", name, slices.Sorted(maps.Keys(d.Settings.Roles)))
	}
	return d.CompileRoles().Access(name), nil
}

// AccessOfToken is AccessOfRole of a token.
func (d *Definition) AccessOfToken(name string) (*permission.Access, error) {
	var declared []string
	for _, t := range d.Settings.Tokens {
		if t.Name == name {
			return d.rules().Token(t, d.Actions), nil
		}
		declared = append(declared, t.Name)
	}
	return nil, notDeclared("token", name, declared)
}

func notDeclared(kind, name string, declared []string) error {
	if len(declared) == 0 {
		return fmt.Errorf("config/permissions.yaml declares no %s", kind)
	}
	return fmt.Errorf("config/permissions.yaml declares no %s %q, but %s", kind, name, strings.Join(declared, ", "))
}

// Size counts the content types and components that the project defines, without built-in types.
func (d *Definition) Size() (types, components int) {
	for _, t := range d.Model.Types {
		if !t.BuiltIn {
			types++
		}
	}
	return types, len(d.Model.Components)
}
