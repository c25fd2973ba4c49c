package repository

import (
	"strings"
	"testing"
)

// layers lists the packages from the lowest layer to the highest. A package may import only packages of lower layers. A
// layer of one name that ends in "/" is a tree of packages that may import one another. ARCHITECTURE.md describes the
// layers.
var layers = [][]string{
	{"jsontree", "internal/budget", "internal/slug", "internal/admission", "internal/spelling", "internal/shell",
		"internal/lru", "internal/ctxio", "internal/diskcache", "internal/span", "internal/tempfile",
		"internal/durable", "internal/within", "internal/diskspace", "internal/publicaddr", "internal/etag", "internal/accept",
		"internal/clock", "internal/anyjpeg", "internal/icc", "internal/icc/icctest", "internal/lenient"},
	{"internal/backoff"},
	{"internal/webfile"},
	{"desk"},
	{"internal/jsonlines", "internal/extsort"},
	{"internal/objects"},
	{"internal/yamlfile", "strapi/archive"},
	{"contenttypes", "strapi/remote", "strapi/staticjs"},
	{"documents/apierror"},
	{"documents/issues"},
	{"documents/passwords"},
	{"documents/values"},
	{"store/internal/pages", "store/internal/pool", "store/internal/relcache", "store/evolve"},
	{"store/internal/format", "store/internal/diskfile"},
	{"store/internal/logentry", "store/internal/query"},
	{"store"},
	{"store/frames"},
	{"internal/storetest", "backup"},
	{"documents/permission"},
	{"documents/changes"},
	{"documents/unique"},
	{"documents/misfits"},
	{"documents"},
	{"documents/transfer"},
	{"media/images"},
	{"auth", "media", "webhooks", "strapi/moveout"},
	{"auth/providers"},
	{"auth/providers/providertest"},
	{"shadowcrud/qs"},
	{"shadowcrud/params", "shadowcrud/levels"},
	{"shadowcrud/openapi", "shadowcrud/typescript"},
	{"shadowcrud/graphql/schema"},
	{"shadowcrud/graphql/language"},
	{"shadowcrud/graphql/limits", "shadowcrud/graphql/plan", "shadowcrud/graphql/answer"},
	{"shadowcrud/graphql/binding", "shadowcrud/graphql/govalues"},
	{"shadowcrud/graphql/introspection"},
	{"shadowcrud/graphql/execution"},
	{"shadowcrud/rest"},
	{"gateway/config", "gateway/metrics", "gateway/tracing"},
	{"gateway/internal/watch"},
	{"gateway/internal/pages"},
	{"gateway/internal/accesslog"},
	{"gateway/internal/certificates", "gateway/internal/paced", "gateway/internal/replication"},
	{"gateway/internal/server"},
	{"gateway/internal/feed", "gateway/internal/idempotency", "gateway/internal/mcp"},
	{"gateway/internal/forward"},
	{"gateway/internal/accounts"},
	{"gateway/internal/graphqlhttp"},
	{"gateway/internal/audit"},
	{"gateway/internal/presence"},
	{"gateway/internal/routes"},
	{"gateway/internal/uploads"},
	{"gateway/internal/cluster/credentials"},
	{"gateway/internal/cluster/port"},
	{"gateway/internal/cluster/consensus"},
	{"gateway/internal/filesync"},
	{"gateway/admin"},
	{"gateway/internal/status"},
	{"gateway/internal/cluster"},
	{"gateway/internal/replica"},
	{"gateway"},
	{"strapi/definitions"},
	{"strapi/movein"},
	{"command"},
	{""}, // the program
	{"packaging/sbom"},
	{"internal/silentnet"},
	{"internal/servertest"},
	{"internal/simulation/program"},
	{"internal/conformance", "internal/costs", "internal/simulation/answers", "internal/simulation/kills",
		"internal/simulation/powerloss", "internal/simulation/syncs", "internal/clients", "internal/attack",
		"internal/replicas", "internal/clusters", "internal/repository"}, // tests of the complete program
}

// owners maps a dependency to the only package that may import it, so that the dependency can be replaced in one place.
var owners = map[string]string{
	"gopkg.in/yaml.v3":                "internal/yamlfile",
	"go.etcd.io/bbolt":                "store",
	"unsafe":                          "store/internal/pages",
	"github.com/lestrrat-go/jwx":      "auth",
	"github.com/coreos/go-oidc":       "auth/providers",
	"golang.org/x/oauth2":             "auth/providers",
	"github.com/spf13/cobra":          "command",
	"github.com/prometheus":           "gateway/metrics",
	"go.opentelemetry.io/otel":        "gateway/tracing",
	"github.com/tdewolff":             "strapi/staticjs",
	"golang.org/x/crypto/scrypt":      "strapi/archive",
	"github.com/minio/minio-go":       "internal/objects",
	"github.com/modelcontextprotocol": "gateway/internal/mcp",
	"github.com/hashicorp":            "gateway/internal/cluster/consensus",
}

const module = "lectern"

func TestImportsRunOneWay(t *testing.T) {
	for _, line := range packages(t, `{{join .Imports " "}}`) {
		names := strings.Fields(line)
		pkg := inModule(names[0])
		if layerOf(pkg) < 0 {
			t.Errorf("%s has no layer: give it one in this test and a line in ARCHITECTURE.md", names[0])
		}
		for _, name := range names[1:] {
			if name == module || strings.HasPrefix(name, module+"/") {
				if below := inModule(name); layerOf(below) > layerOf(pkg) || layerOf(below) == layerOf(pkg) &&
					!isTree(layerOf(pkg)) {
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

// isTree reports whether a layer is one tree of packages.
func isTree(layer int) bool { return layer >= 0 && strings.HasSuffix(layers[layer][0], "/") }

// inModule returns a package's path within the module.
func inModule(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

// layerOf returns the index of a package's layer, or -1. A name that ends in a slash stands for all packages below it.
func layerOf(pkg string) int {
	for i, layer := range layers {
		for _, name := range layer {
			if pkg == name || strings.HasSuffix(name, "/") && strings.HasPrefix(pkg, name) {
				return i
			}
		}
	}
	return -1
}
