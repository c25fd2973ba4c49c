package gateway

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/replication"
	"lectern/shadowcrud/graphql/schema"
)

// A Definition is the definition in the files of a project together with the extensions of a program.
type Definition struct {
	*config.Definition

	extensions *Extensions    // never nil
	graphql    *schema.Schema // nil if GraphQL is switched off or has problems

	files *replication.Definitions // for replicas; set in projects that are served
}

// Load reads and checks the files of the project in dir, with the extensions of a program; nil adds nothing. If the
// files have problems, the error is a config.Problems of all of them, each with file, line and what would be right.
func Load(dir string, x *Extensions) (*Definition, error) {
	d, problems, err := load(dir, x)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// load is Load for callers that go on when the project has problems. With problems, the Model is nil unless the content
// types are sound. The error says why dir holds no project.
func load(dir string, x *Extensions) (*Definition, config.Problems, error) {
	if x == nil {
		x = &Extensions{}
	}
	var d *Definition
	_, problems, err := config.Load(dir, func(base *config.Definition) config.Problems {
		d = &Definition{Definition: base, extensions: x}
		if d.Model == nil {
			return x.checkActions(d.Actions)
		}
		return append(x.check(d), d.checkGraphQL()...)
	})
	return d, problems, err
}

// Check is Load for `lectern check`: it returns what is known of the project even if there are problems, with a nil
// Model if the content types have some. The server does not start with problems; warnings name settings without effect,
// or that may keep it from starting.
func Check(dir string, o Options) (d *Definition, problems config.Problems, warnings []string, err error) {
	d, problems, err = load(dir, o.Extensions)
	if err != nil {
		return nil, nil, nil, err
	}
	warnings = slices.Clone(d.Settings.GraphQL.Warnings)
	if d.Settings.Users.Enabled && d.registrationIsUnsettled() {
		warnings = append(warnings, anybodyRegisters)
	}
	role, doubtful := d.checkDefaultRole(o)
	problems = append(problems, role...)
	for _, p := range doubtful {
		warnings = append(warnings, p.String())
	}
	if text := d.unstatedDrafts(); text != "" {
		warnings = append(warnings, text)
	}
	if users := d.Settings.Users; o.Production && users.Enabled && users.Secret != "" {
		if err := checkSecret(users.Secret); err != nil {
			problems = append(problems, users.SecretAt.Problem("%v", err))
		}
	}
	return d, problems.Sort(), warnings, nil
}

// unstatedDrafts is the warning of a project that does not say who may read drafts; "" if there is none.
func (d *Definition) unstatedDrafts() string {
	if d.Settings.REST.DraftsSetting != "" || d.Model == nil {
		return ""
	}
	return auth.UnstatedDrafts(d.Model, d.Settings.Roles)
}

// anybodyRegisters warns of registration that is open because nobody has thought of it.
const anybodyRegisters = "anybody may register as a user, since config/plugins.yaml does not say whether that is meant: " +
	"set users-permissions.config.allow_register to false, or to true"

// registrationIsUnsettled reports whether registration is open without a setting that says so.
func (d *Definition) registrationIsUnsettled() bool {
	users := d.Settings.Users
	return users.Accounts.AllowRegister && users.AllowRegister.IsNull()
}

// checkDefaultRole reports a default_role that no file declares. The server does not start with a default_role that
// does not exist. Roles may also have been created at run time: if there is a store, the result is a warning.
func (d *Definition) checkDefaultRole(o Options) (problems, warnings config.Problems) {
	users := d.Settings.Users
	role := users.Accounts.DefaultRole
	if _, declared := d.Settings.Roles[role]; declared || !users.Enabled || role == "" {
		return nil, nil
	}
	known := append(slices.Collect(maps.Keys(d.Settings.Roles)), auth.PublicRole, auth.AuthenticatedRole)
	slices.Sort(known)
	known = slices.Compact(known)
	if slices.Contains(known, role) {
		return nil, nil
	}
	mend := "name it under roles in config/permissions.yaml, or take one of " + strings.Join(known, ", ")
	if _, err := os.Stat(filepath.Join(Directory(d.Dir, o).DataPath(), admin.StoreName)); errors.Is(
		err, fs.ErrNotExist) {
		return config.Problems{users.DefaultRole.Problem("there is no role %q to be the default_role: %s", role, mend)},
			nil
	}
	return nil, config.Problems{users.DefaultRole.Problem(
		"unless a role %q was made at run time, a start is refused for it being the default_role: %s", role, mend)}
}

// loadTries is how often the files of a project are read that change meanwhile.
const loadTries = 20

// loadWithFiles loads the definition of a project together with its definition files.
func loadWithFiles(dir string, load func() (*Definition, error)) (*Definition, error) {
	for range loadTries {
		before, err := replication.ReadDefinitions(os.DirFS(dir))
		if err != nil {
			before = &replication.Definitions{}
		}
		d, failed := load()
		if failed != nil {
			return nil, failed
		}
		if err != nil {
			return nil, err
		}
		after, err := replication.ReadDefinitions(os.DirFS(dir))
		if err != nil {
			return nil, err
		}
		if d.files = after; before.Hash() == after.Hash() {
			return d, nil
		}
	}
	return nil, errors.New("read the project: its files change while they are read")
}
