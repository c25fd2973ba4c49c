package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/servertest"
)

// The configuration of the compiler: as strict as it can be, and nothing that needs more than a removal of the types.
const tsconfig = `{
  "compilerOptions": {
    "strict": true, "noUncheckedIndexedAccess": true, "noImplicitOverride": true, "noUnusedLocals": true,
    "exactOptionalPropertyTypes": true, "noPropertyAccessFromIndexSignature": true,
    "verbatimModuleSyntax": true, "isolatedModules": true, "erasableSyntaxOnly": true,
    "target": "es2022", "lib": ["es2022", "dom"], "module": "nodenext", "types": [], "skipLibCheck": true, "outDir": "js"
  },
  "include": ["*.ts"]
}`

// TestTypeScript compiles what `lectern types` writes for the projects of this repository, together with programs that
// use it:
//
//   - typescript/types.ts and batch-use.ts say what the compiler must accept and what it must refuse;
//   - recorded.ts holds the answers of the reference to the requests of the conformance suites, as constants of the
//     types that the client would return;
//   - the programs of docs/typescript.md, with the example project of `lectern init`;
//   - public-use.ts says what it must refuse to a role that only reads;
//   - a model with names that TypeScript has itself, one in which every type refers to many others, and one whose lists
//     are not counted.
//
// Then it runs the client under Node against a server.
func TestTypeScript(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles many programs")
	}
	if err := install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tsconfig.json"), tsconfig)
	write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	projects, err := filepath.Glob("../../testdata/conformance/projects/*")
	if err != nil || len(projects) < 3 {
		t.Fatalf("%d projects, %v", len(projects), err)
	}
	for _, project := range append(projects, "../../examples/magazine", "../../gateway/initproject", "project",
		namesProject(t), cyclicProject(t), uncountedProject(t)) {
		d, problems, _, err := gateway.Check(
			project, gateway.Options{}) // examples have permissions for routes of their programs
		if err != nil || d.Model == nil {
			t.Fatalf("%s: %v %v", project, err, problems)
		}
		name := filepath.Base(project)
		write(t, filepath.Join(dir, name+".ts"), string(d.TypeScript(nil, true)))
		if name == "initproject" {
			public, err := d.AccessOfRole("public")
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "public.ts"), string(d.TypeScript(public, true)))
			write(t, filepath.Join(dir, "nobody.ts"), string(d.TypeScript(permission.NewAccess(nil), true)))
		}
		if name == "kitchen" {
			write(t, filepath.Join(dir, "only-types.ts"), string(d.TypeScript(nil, false)))
		}
	}
	for _, name := range []string{"types.ts", "batch-use.ts", "cyclic-use.ts", "names-use.ts", "public-use.ts"} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join("typescript", name)); err != nil {
			t.Fatal(err)
		}
	}
	examples(t, dir)
	recorded(t, dir)
	output, err := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"), "-p", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("tsc: %v\n%s", err, head(output, 10_000))
	}
	t.Run("client", func(t *testing.T) {
		against := servertest.Serve(t, "project", nil)
		runNode(t, "typescript/client.test.js", against, "CLIENT="+filepath.Join(dir, "js", "project.js"))
	})
}

var guideProgram = regexp.MustCompile("(?ms)^```ts\n(.*?)^```$")

// examples writes the programs of the guide, which call the types of the example project api.ts.
func examples(t *testing.T, dir string) {
	guide, err := os.ReadFile("../../docs/typescript.md")
	if err != nil {
		t.Fatal(err)
	}
	found := guideProgram.FindAllSubmatch(guide, -1)
	if len(found) < 2 {
		t.Fatalf("docs/typescript.md has %d programs", len(found))
	}
	for i, text := range found {
		write(t, filepath.Join(dir, fmt.Sprintf("guide-%d.ts", i)),
			strings.ReplaceAll(string(text[1]), "./api.js", "./initproject.js"))
	}
}

func head(text []byte, most int) []byte { return text[:min(most, len(text))] }

// namesProject writes a project whose types have names that TypeScript or the generated file uses for something else,
// texts that would end a comment or a string, and attributes with the names of what every JavaScript object has.
func namesProject(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "names")
	for _, name := range []string{"record", "promise", "result", "client", "filters", "schemas", "locale", "document",
		"array", "omit", "blocks", "file"} {
		writeType(t, dir, name, map[string]any{
			"class":   map[string]any{"type": "string", "regex": "^*/'\\d$"},
			"default": map[string]any{"type": "enumeration", "enum": []string{"it's", `a "b" \`, "*/"}},
			"one":     map[string]any{"type": "relation", "relation": "manyToOne", "target": "api::result.result"},
			"data":    map[string]any{"type": "json", "required": true},
		})
	}
	writeType(t, dir, "inherited", map[string]any{
		"title":                map[string]any{"type": "string"},
		"toString":             map[string]any{"type": "string"},
		"toLocaleString":       map[string]any{"type": "enumeration", "enum": []string{"a", "b"}},
		"valueOf":              map[string]any{"type": "integer"},
		"hasOwnProperty":       map[string]any{"type": "boolean", "default": true, "required": true},
		"propertyIsEnumerable": map[string]any{"type": "string", "required": true},
		"constructor": map[string]any{"type": "relation", "relation": "manyToOne",
			"target": "api::inherited.inherited"},
		"isPrototypeOf": map[string]any{"type": "relation", "relation": "manyToMany",
			"target": "api::inherited.inherited"},
	})
	return dir
}

// cyclicProject writes a project of 40 types, each of which refers to 20 others.
func cyclicProject(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "cyclic")
	letter := func(i int) string { return string(rune('a' + i)) }
	name := func(i int) string { return "t" + letter(i%40/10) + letter(i%10) }
	for i := range 40 {
		attributes := map[string]any{}
		for j := range 20 {
			attributes["r"+letter(j)] = map[string]any{"type": "relation", "relation": "manyToMany", "target": "api::" +
				name(i+j+1) + "." + name(i+j+1)}
			attributes["s"+letter(j)] = map[string]any{"type": "string"}
		}
		writeType(t, dir, name(i), attributes)
	}
	return dir
}

// uncountedProject writes a project whose lists come without their total, with a collection whose drafts need a list of
// components.
func uncountedProject(t *testing.T) (dir string) {
	dir = filepath.Join(t.TempDir(), "uncounted")
	for name, text := range map[string]string{
		"config/api.yaml": "rest: {withCount: false}\n",
		"content-types/post.yaml": "kind: collectionType\ninfo: {singularName: post, pluralName: posts, displayName: Post}\noptions: {draftAndPublish: true}\n" +
			"attributes:\n  title: {type: string, required: true}\n  steps: {type: component, component: post.step, repeatable: true, required: true}\n",
		"content-types/home.yaml": "kind: singleType\ninfo: {singularName: home, pluralName: homes, displayName: Home}\noptions: {draftAndPublish: true}\n" +
			"attributes: {title: {type: string}}\n",
		"components/post/step.yaml": "info: {displayName: Step}\nattributes: {text: {type: text}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, file, text)
	}
	return dir
}

// writeType writes the definition of a collection type.
func writeType(t *testing.T, dir, name string, attributes map[string]any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"kind": "collectionType", "attributes": attributes,
		"info": map[string]any{"singularName": name, "pluralName": name + "-list", "displayName": name,
			"description": "A */ comment\nof two lines."},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "content-types"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "content-types", name+".json"), string(text))
}
