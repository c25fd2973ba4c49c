package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
)

// buildVersion identifies the build of the program: its version, and the commit and the modules that it was built from.
var buildVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return rand.Text()
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.modified" && setting.Value == "false" {
			return info.String()
		}
	}
	return rand.Text() // two builds of a changed source look alike
})

// version returns what ETags hold of the program, the definitions and the settings. It is the same after a restart, and
// on replicas, unless the build has no commit or the files take values from the environment: then caches begin anew
// with each generation.
func (g *generation) version() string {
	if g.files == nil {
		return rand.Text()
	}
	text := fmt.Sprintf("%s %s %s %q %+v", g.project.options.Version, buildVersion(), g.files.Hash(),
		g.Settings.Server.URL, g.Settings.Server.Limits)
	for _, file := range g.files.Files {
		if strings.Contains(file, "${") {
			text += rand.Text()
			break
		}
	}
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}
