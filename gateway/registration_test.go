package gateway_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
)

// TestOpenRegistrationIsWarnedOf starts projects in production, and checks them: both warn if anybody may register and
// no setting says that this is meant.
func TestOpenRegistrationIsWarnedOf(t *testing.T) {
	users := func(settings string) map[string]string {
		return map[string]string{"config/plugins.yaml": "users-permissions: {" + settings + "}\n"}
	}
	const warning = "anybody may register"
	for name, c := range map[string]struct {
		files      map[string]string
		production bool
		start      bool // warns
		check      bool
	}{
		"unsettled":      {nil, true, true, true},
		"in development": {nil, false, false, true},
		"meant":          {users("config: {allow_register: true}"), true, false, false},
		"closed":         {users("config: {allow_register: false}"), true, false, false},
		"without users":  {users("enabled: false"), true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"content-types/note.yaml": "kind: collectionType\n" +
				"info: {singularName: note, pluralName: notes, displayName: Note}\nattributes: {title: {type: string}}\n"}
			for file, text := range c.files {
				files[file] = text
			}
			dir := writeProject(t, files)
			_, problems, warnings, err := gateway.Check(dir, gateway.Options{Production: c.production})
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			warns := func(w string) bool { return strings.Contains(w, warning) && strings.Contains(w, "allow_register") }
			if got := slices.ContainsFunc(warnings, warns); got != c.check {
				t.Errorf("check warns: %v %q", got, warnings)
			}
			var log bytes.Buffer
			_, stop := run(t, dir, gateway.Options{Production: c.production, LogTo: &log}, nil)
			stop()
			if got := strings.Contains(log.String(), warning); got != c.start {
				t.Errorf("the start warns: %v\n%s", got, log.String())
			}
		})
	}
}

// TestRegistrationThatNobodyMayUse takes the permission to register from the public: the start warns no longer.
func TestRegistrationThatNobodyMayUse(t *testing.T) {
	dir := writeProject(t, map[string]string{"content-types/note.yaml": "kind: collectionType\n" +
		"info: {singularName: note, pluralName: notes, displayName: Note}\nattributes: {title: {type: string}}\n"})
	var key string
	ready, stop := run(t, dir, gateway.Options{}, func(p *gateway.Project) {
		var err error
		if _, key, err = p.CreateToken(t.Context(), auth.Declaration{Name: "full", Kind: auth.FullAccess}); err != nil {
			t.Fatal(err)
		}
	})
	a := newAPI(t, ready)
	a.Tokens = map[string]string{"full": key}
	a.want(200, "PUT", fmt.Sprintf("/api/users-permissions/roles/%d", a.roleID("public")), "full",
		object{"name": "Public", "permissions": object{}})
	stop()
	var log bytes.Buffer
	_, stop = run(t, dir, gateway.Options{Production: true, LogTo: &log}, nil)
	stop()
	if strings.Contains(log.String(), "anybody may register") {
		t.Error(log.String())
	}
}
