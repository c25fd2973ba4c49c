package repository

import (
	"os/exec"
	"strings"
	"testing"
)

// floors are the packages from the lowest to the highest: a package imports what lies below it, and nothing of its own
// floor, unless that is one tree of packages ("x/"). See ARCHITECTURE.md.
var floors = [][]string{
	{"jsontree", "internal/budget", "internal/slug", "internal/admission", "internal/spelling", "internal/shell", "internal/lru"},
	{"internal/yamlfile"},
	{"contenttypes"},
	{"documents/apierror", "documents/permission"},
	{"store/internal/pages", "store/internal/pool", "store/internal/relcache", "store/evolve"},
	{"store"},
	{"documents"},
	{"auth", "media"},
	{"shadowcrud/qs"},
	{"shadowcrud/params", "shadowcrud/levels"},
	{"shadowcrud/graphql/"},
	{"shadowcrud/rest", "shadowcrud/graphql"},
	{"gateway/config"},
	{"gateway/internal/paced"},
	{"gateway/admin"},
	{"gateway"},
	{"command"},
	{""}, // the program
	{"internal/conformance", "internal/simulation", "internal/clients", "internal/attack", "internal/repository"}, // tests of all of it
	{"internal/conformance/gendocs", "internal/simulation/simulate"},                                              // their commands
}

// owners are the only packages that may import a module, so that it can be replaced in one place.
var owners = map[string]string{
	"gopkg.in/yaml.v3":           "internal/yamlfile",
	"go.etcd.io/bbolt":           "store",
	"unsafe":                     "store/internal/pages",
	"github.com/lestrrat-go/jwx": "auth",
	"github.com/alecthomas/kong": "command",
}

const module = "lectern"

func TestImportsRunOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		names := strings.Fields(line)
		pkg := inModule(names[0])
		if floorOf(pkg) < 0 {
			t.Errorf("%s has no floor: give it one in this test and a line in ARCHITECTURE.md", names[0])
		}
		for _, name := range names[1:] {
			if name == module || strings.HasPrefix(name, module+"/") {
				if below := inModule(name); floorOf(below) > floorOf(pkg) || floorOf(below) == floorOf(pkg) && !isTree(floorOf(pkg)) {
					t.Errorf("%s imports %s, which does not lie below it", names[0], name)
				}
			}
			for path, owner := range owners {
				if strings.HasPrefix(name, path) && pkg != owner {
					t.Errorf("%s imports %s: that is for %s alone", names[0], name, owner)
				}
			}
		}
	}
}

// isTree reports whether a floor is one tree of packages.
func isTree(floor int) bool { return floor >= 0 && strings.HasSuffix(floors[floor][0], "/") }

// inModule is a package's path within the module.
func inModule(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// floorOf is the floor of a package, -1 when it has none. A name that ends in a slash stands for all packages below it.
func floorOf(pkg string) int {
	for i, floor := range floors {
		for _, name := range floor {
			if pkg == name || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg, name) {
				return i
			}
		}
	}
	return -1
}
