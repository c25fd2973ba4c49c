package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/servertest"
	"lectern/store/evolve"
)

// deployArticle deploys, by way of the node, the definitions that it was started with and more attributes of articles.
func (n *clusterNode) deployArticle(attributes ...string) error {
	n.t.Helper()
	own := copyOfProject(n.t, n)
	article := filepath.Join(own, "content-types", "article.yaml")
	text, err := os.ReadFile(article)
	if err == nil {
		text := strings.Replace(string(text), "attributes:\n", "attributes:\n  "+strings.Join(attributes, "\n  ")+"\n",
			1)
		err = os.WriteFile(article, []byte(text), 0o600)
	}
	files, failed := gateway.DefinitionFiles(own)
	if err := errors.Join(err, failed); err != nil {
		n.t.Fatal(err)
	}
	_, err = gateway.Directory(n.dir, gateway.Options{}).Deploy(n.t.Context(), admin.Deployment{Definitions: files})
	return err
}

// copyOfProject returns a directory with the definitions that a node was started with.
func copyOfProject(t *testing.T, n *clusterNode) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"content-types", "components", "config"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(n.dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// testDeploy changes the definitions by way of a node that does not lead.
func testDeploy(t *testing.T, nodes []*clusterNode, token string) {
	t.Helper()
	own := copyOfProject(t, nodes[0])
	article := filepath.Join(own, "content-types", "article.yaml")
	text, err := os.ReadFile(article)
	if err != nil {
		t.Fatal(err)
	}
	// If deploy has repeated the command, an earlier try may have done what the last one then does not tell.
	deploy := func(article string, operations ...string) (done admin.Deployed, repeated bool, err error) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(own, "content-types", "article.yaml"), []byte(article),
			0o600); err != nil {
			t.Fatal(err)
		}
		files, err := gateway.DefinitionFiles(own)
		if err != nil {
			t.Fatal(err)
		}
		o := admin.Deployment{Definitions: files}
		if len(operations) > 0 {
			if o.Migrations, err = evolve.ParseMigrations(operations); err != nil {
				t.Fatal(err)
			}
		}
		repeated, err = repeats(func() (err error) {
			done, err = gateway.Directory(nodes[2].dir, gateway.Options{}).Deploy(context.Background(), o)
			return err
		})
		return done, repeated, err
	}
	if done, _, err := deploy(string(text)); err != nil || len(done.Changed) != 0 {
		t.Errorf("the same definitions: %v, %v", done.Changed, err)
	}
	if _, _, err := deploy("kind: nonsense"); err == nil || !strings.Contains(err.Error(), "article.yaml:") {
		t.Errorf("definitions with a problem: %v", err)
	}
	note := "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: Note}\nattributes:\n  title: {type: string}\n"
	if err := os.WriteFile(filepath.Join(own, "content-types", "note.yaml"), []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	added := strings.Replace(string(text), "attributes:\n", "attributes:\n  subtitle: {type: string}\n", 1)
	done, repeated, err := deploy(added)
	if want := "[~ content-types/article.yaml + content-types/note.yaml]"; err != nil || !repeated &&
		fmt.Sprint(done.Changed) != want {
		t.Fatalf("deployed %v, want %s; %v", done.Changed, want, err)
	}
	everywhere := func(query, want string) {
		t.Helper()
		for _, n := range nodes {
			if status, _, text := n.read("/api/articles?"+query, token, "Lectern-Consistency",
				"linearizable"); status != http.StatusOK || !strings.Contains(text, want) {
				t.Errorf("%s does not serve what was deployed: %d %s", n.dir, status, text)
			}
		}
	}
	everywhere("fields=subtitle", `"subtitle":null`)

	nodes[0].write("POST", "/api/articles?status=published", token,
		`{"data":{"title":"Renamed","slug":"renamed","summary":"kept"}}`, "renamed")
	const rename = "rename-attribute api::article.article.summary abstract"
	renamed := strings.Replace(added, "summary:", "abstract:", 1)
	refused := (*evolve.DefinitionError)(nil)
	if _, _, err := deploy(renamed); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "lectern deploy "+nodes[2].dir+" "+rename) {
		t.Errorf("a change that loses content: %v", err)
	}
	everywhere("fields=summary&filters[slug]=renamed", `"summary":"kept"`)
	if done, repeated, err := deploy(renamed, strings.Fields(rename)...); err != nil || !repeated &&
		fmt.Sprint(done.Changed) != "[~ content-types/article.yaml]" {
		t.Errorf("a rename: %v, %v", done, err)
	}
	everywhere("fields=abstract&filters[slug]=renamed", `"abstract":"kept"`)
	if _, _, err := deploy(renamed, "drop-attribute", "api::article.article.title"); err != nil {
		t.Errorf("operations without changed definitions: %v", err)
	}
	if done, repeated, err := deploy(added, "drop-attribute", "api::article.article.abstract"); err != nil ||
		!repeated && done.Removed.Values == 0 {
		t.Errorf("an attribute and its values are dropped: %v, %v", done, err)
	}
	everywhere("fields=summary&filters[slug]=renamed", `"summary":null`)
}

// TestCommandsWithoutLeaderSayWhatToDo calls commands at a node whose cluster has lost its majority. Their errors must
// say what to do. Definitions that lose content are refused with the command that changes a cluster.
func TestCommandsWithoutLeaderSayWhatToDo(t *testing.T) {
	nodes := newCluster(t, 2)
	if err := nodes[1].stop(); err != nil {
		t.Fatal(err)
	}
	d := gateway.Directory(nodes[0].dir, gateway.Options{})
	servertest.Until(t, "the cluster has no leader", func() bool {
		status, err := d.Cluster(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return status.Leader == ""
	})
	p, err := d.Administer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, command := range map[string]func() error{
		"deploy": func() error { return nodes[0].deployArticle("added: {type: integer}") },
		"token create": func() error {
			_, _, err := p.CreateToken(t.Context(), auth.Declaration{Name: "late", Kind: auth.FullAccess})
			return err
		},
		"import": func() error {
			_, err := p.Import(t.Context(),
				strings.NewReader(`{"type":"api::article.article","documentId":"a","data":{"title":"a"}}`+"\n"),
				transfer.ImportOptions{})
			return err
		},
	} {
		if err := command(); err == nil || !strings.Contains(err.Error(), "lectern cluster recover --help") {
			t.Errorf("%s: %v", name, err)
		}
	}

	own := copyOfProject(t, nodes[0])
	article := filepath.Join(own, "content-types", "article.yaml")
	text, err := os.ReadFile(article)
	if err == nil {
		err = os.WriteFile(article, []byte(strings.Replace(string(text), "summary:", "abstract:", 1)), 0o600)
	}
	changed, failed := gateway.Load(own, nil)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	refused := (*evolve.DefinitionError)(nil)
	if _, err := d.Foresee(t.Context(), changed.Definition); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "lectern deploy "+nodes[0].dir+" rename-attribute") {
		t.Errorf("a change that loses content: %v", err)
	}
}

// TestUnagreedDeploymentChangesNothing deploys definitions while the leader has no majority. The files of the cluster's
// definitions must stay as they were.
func TestUnagreedDeploymentChangesNothing(t *testing.T) {
	nodes := newCluster(t, 3)
	files := func() string {
		t.Helper()
		text, err := gateway.DefinitionFiles(filepath.Join(nodes[0].dir, "data", "cluster", "project"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := files()
	for _, n := range nodes[1:] {
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := nodes[0].deployArticle("added: {type: integer}"); err == nil {
		t.Error("definitions were deployed without a majority")
	}
	if after := files(); after != before {
		t.Errorf("files of definitions to which the nodes have not agreed:\n%s", after)
	}
}
