package movein_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lectern/documents/misfits"
	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/internal/servertest"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/movein"
)

const (
	ruledUID = "api::ruled.ruled"
	wardUID  = "api::ward.ward"
)

// ruled are the attributes of a type, and ruledItem those of a component, whose values in the archive break each rule.
const ruled = `{
	"mood": {"type": "enumeration", "enum": ["calm", "loud"]},
	"short": {"type": "string", "maxLength": 3},
	"long": {"type": "text", "minLength": 5},
	"shape": {"type": "string", "regex": "^[a-z]+$"},
	"mail": {"type": "email"},
	"name": {"type": "string", "required": true},
	"slug": {"type": "uid"},
	"code": {"type": "string", "unique": true},
	"count": {"type": "integer", "max": 10},
	"low": {"type": "decimal", "min": 1},
	"big": {"type": "biginteger"},
	"flag": {"type": "boolean"},
	"day": {"type": "date"},
	"at": {"type": "datetime"},
	"hour": {"type": "time"},
	"body": {"type": "blocks"},
	"free": {"type": "json"},
	"key": {"type": "password"},
	"item": {"type": "component", "component": "parts.item", "required": true},
	"items": {"type": "component", "component": "parts.item", "repeatable": true, "max": 1},
	"ward": {"type": "relation", "relation": "oneToOne", "target": "api::ward.ward", "inversedBy": "ruled"}
}`

const ruledItem = `{"mood": {"type": "enumeration", "enum": ["calm", "loud"]}}`

// writeRuled writes an archive with the type above and these rows of it, as JSON. With drafts, each row is a draft and
// a published version. All link to the same ward.
func writeRuled(t *testing.T, drafts bool, rows []string) string {
	path := filepath.Join(t.TempDir(), "export.tar.gz")
	file, err := os.Create(path)
	g := &generator{t: t}
	g.check(err)
	defer file.Close()
	g.w, err = archive.NewWriter(file, "")
	g.check(err)
	schema := func(uid, attributes string) {
		head, _, _ := strings.Cut(uid, ".")
		name := strings.TrimPrefix(head, "api::")
		text := fmt.Sprintf(`{"uid":%q,"modelType":"component","info":{"displayName":"Item"},"attributes":%s}`, uid,
			attributes)
		if name != head {
			text = fmt.Sprintf(`{"uid":%q,"modelType":"contentType","kind":"collectionType","info":{"singularName":%q,"pluralName":"%ss","displayName":%q},
				"options":{"draftAndPublish":%t},"attributes":%s}`, uid, name, name, name, drafts && uid == ruledUID, attributes)
		}
		data, err := jsontree.Parse([]byte(text), 20)
		g.check(err)
		g.check(g.w.WriteSchema(archive.Schema{UID: uid, Data: data.(*jsontree.Object)}))
	}
	schema("parts.item", ruledItem)
	schema(ruledUID, ruled)
	schema(wardUID, `{"ruled": {"type": "relation", "relation": "oneToOne", "target": "api::ruled.ruled", "mappedBy": "ward"}}`)
	g.row(wardUID, 1, 1000, now, `"x":null`)
	for i, row := range rows {
		versions := []string{now}
		if drafts {
			versions = []string{"", now}
		}
		for v, published := range versions {
			id := uint64(2*i + v + 1)
			g.row(ruledUID, id, i, published, "%s", strings.ReplaceAll(row, "ID", fmt.Sprint(10*id)))
			g.link("oneToOne", ruledUID, "ward", id, 0, wardUID, "ruled", 1, 0)
		}
	}
	g.check(g.w.Close(archive.Metadata{Version: "5.54.0", CreatedAt: now}))
	return path
}

// misfitCases are values that break a rule. Each stands in a row of its own.
var misfitCases = []struct {
	path, value string // what the archive holds
	problem     string
	holds       string // the value that answers show if it is kept; "" if it cannot be
	draft       bool   // whether the rule is for drafts, too
}{
	{"mood", `"angry"`, "must be one of the following values: calm, loud", `"angry"`, true},
	{"mood", `{"a":1}`, "has a value of another type", "", true},
	{"short", `"toolong"`, "must be at most 3 characters", `"toolong"`, true},
	{"short", `[1]`, "has a value of another type", "", true},
	{"long", `"abc"`, "must be at least 5 characters", `"abc"`, false},
	{"shape", `"ABC"`, `must match the following: "/^[a-z]+$/"`, `"ABC"`, false},
	{"mail", `"nobody"`, "must be a valid email", `"nobody"`, false},
	{"slug", `"a b"`, `must match the following: "/^[A-Za-z0-9-_.~]*$/"`, `"a b"`, false},
	{"count", `11`, "must be less than or equal to 10", `11`, true},
	{"count", `1.5`, "must be an integer", `1.5`, true},
	{"count", `"many"`, "has a value of another type", "", true},
	{"low", `0.5`, "must be greater than or equal to 1", `0.5`, false},
	{"big", `"99999999999999999999"`, "has a value of another type", "", true},
	{"flag", `"maybe"`, "has a value of another type", "", true},
	{"day", `"someday"`, "is no valid date", "", true},
	{"at", `"2026-13-45"`, "is no valid datetime", "", true},
	{"hour", `"25:99"`, "is no valid time", "", true},
	{"body", `[{"type":"marquee"}]`, "is no valid list of blocks", `[{"type":"marquee"}]`, true},
	{"key", `"in clear"`, "is no bcrypt hash of a password", "", true},
	{"item.mood", `"angry"`, "must be one of the following values: calm, loud", `"angry"`, true},
	{"items.1.mood", `"angry"`, "must be one of the following values: calm, loud", `"angry"`, true},
}

// misfitRows returns the rows of an archive, without their braces: one for each case, one without what is required, one
// with too many components, two with the same value of a unique attribute, and one whose values break no rule, but have
// to be cast.
func misfitRows() (rows []string) {
	for _, c := range misfitCases {
		item, row := "", `"name":"n"`
		switch c.path {
		case "item.mood":
			item = `,"mood":` + c.value
		case "items.1.mood":
			row += `,"items":[{"id":ID1},{"id":ID2,"mood":` + c.value + `}]`
		default:
			row += `,"` + c.path + `":` + c.value
		}
		rows = append(rows, row+`,"item":{"id":ID0`+item+`}`)
	}
	return append(rows, `"short":"a"`, `"name":"n","item":{"id":ID0},"items":[{"id":ID1},{"id":ID2}]`,
		`"name":"n","item":{"id":ID0},"code":"A"`,
		`"name":"n","item":{"id":ID0},"code":"A"`,
		`"name":7,"item":{"id":ID0},"count":"3","flag":1,"day":"2026-01-02T00:00:00.000Z","free":"[1]","low":"1.50"`)
}

// TestMisfits moves in values that the definitions do not allow. They are kept where an attribute can hold them, or
// left out on request; the report names each, and nothing else is lost.
func TestMisfits(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for _, drafts := range []bool{true, false} {
		for _, policy := range []movein.Policy{movein.Keep, movein.LeaveOut} {
			t.Run(fmt.Sprintf("drafts %t %s", drafts, policy), func(t *testing.T) { testMisfits(t, drafts, policy) })
		}
	}
}

func testMisfits(t *testing.T, drafts bool, policy movein.Policy) {
	leaveOut := policy == movein.LeaveOut
	rows := misfitRows()
	source := writeRuled(t, drafts, rows)
	dir, report := move(t, movein.Options{Source: source, Misfits: policy})
	var printed bytes.Buffer
	if err := report.Print(&printed); err != nil {
		t.Fatal(err)
	}
	listed := map[movein.MisfitValue]movein.Misfit{}
	for _, m := range report.Misfits {
		if m.Remedy == "" || m.Count < len(m.Values) ||
			!strings.Contains(printed.String(), m.Values[0].Path+": "+m.Problem) {
			t.Errorf("%+v is not printed", m)
		}
		for _, v := range m.Values {
			listed[v] = m
		}
	}
	base, key := servertest.ServeStored(t, dir)
	answers := map[string]map[string]any{}
	for _, status := range []string{"draft", "published"} {
		var answer struct{ Data []map[string]any }
		text := get(t, base+"/api/ruleds?pagination[pageSize]=100&populate=*&status="+status, key)
		if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Data) != len(rows) {
			t.Fatalf("%d documents, want %d: %s", len(answer.Data), len(rows), text)
		}
		for _, d := range answer.Data {
			answers[fmt.Sprint(status, d["documentId"])] = d
		}
	}
	statuses := []string{"published"}
	if drafts {
		statuses = append(statuses, "draft")
	}
	for i, c := range misfitCases {
		document := fmt.Sprintf("d%023d", i)
		for _, status := range statuses {
			value := c.value
			if c.path == "key" {
				value = ""
			}
			m, ok := listed[movein.MisfitValue{Type: ruledUID, DocumentID: document, Status: status, Path: c.path,
				Value: value}]
			kept := c.holds != "" && !leaveOut
			broken := c.draft || status == "published"
			if ok != broken || ok && (m.Problem != c.problem || (m.Outcome == movein.Kept) != kept) {
				t.Errorf("%s of a %s version: listed: %t, %+v", c.path, status, ok, m)
			}
			want := "null"
			if c.holds != "" && (kept || !broken) {
				want = c.holds
			}
			if got, _ := json.Marshal(valueAt(answers[status+document], c.path)); string(got) != want {
				t.Errorf("%s %s of a %s version is %s, want %s", c.path, c.value, status, got, want)
			}
		}
	}
	testOtherMisfits(t, report, answers, leaveOut)
	if got := get(t, base+"/graphql?query={ruleds(pagination:{limit:100}){short,documentId}}", key); !strings.Contains(
		got, fmt.Sprintf("d%023d", 0)) {
		t.Errorf("GraphQL answers %s", got)
	}
}

// valueAt returns the value at a path with indexes.
func valueAt(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			v = at[int(name[0]-'0')]
		}
	}
	return v
}

// testOtherMisfits checks the rows after those of the cases.
func testOtherMisfits(t *testing.T, report *movein.Report, answers map[string]map[string]any, leaveOut bool) {
	n := len(misfitCases)
	name := func(i int) string { return fmt.Sprintf("d%023d", n+i) }
	values := map[string]string{}
	for _, m := range report.Misfits {
		for _, v := range m.Values {
			if v.Status == "published" {
				values[strings.Join([]string{v.DocumentID, v.Path, v.Value, m.Problem, string(m.Outcome)},
					" ")] = m.Remedy
			}
		}
	}
	want := []string{
		name(0) + " name null is required and missing kept",
		name(0) + " item 0 is required and missing kept",
		name(1) + " items 2 must have at most 1 items kept",
		name(3) + ` code "A" must be unique, and another document has the value ` +
			map[bool]string{false: "kept", true: "left out"}[leaveOut],
	}
	for i := range n + 4 { // the first has the ward
		want = append(want, fmt.Sprintf(`d%023d ward "d%023d" leads to a document that only one document may link to, as another does left out`, i+1, 1000))
	}
	for _, w := range want {
		if values[w] == "" {
			t.Errorf("%q is not listed", w)
		}
	}
	cast := answers["published"+name(4)]
	got := strings.TrimSpace(fmt.Sprintln(cast["name"], cast["count"], cast["flag"], cast["day"], cast["free"],
		cast["low"]))
	if got != "7 3 true 2026-01-02 [1] 1.5" {
		t.Errorf("cast values are %s", got)
	}
	if _, isText := cast["free"].(string); !isText {
		t.Errorf("a text in an attribute of type json became %v", cast["free"])
	}
	for i := range n + 5 {
		ward := answers["published"+fmt.Sprintf("d%023d", i)]["ward"]
		if (ward != nil) != (i == 0) {
			t.Errorf("document %d has the ward %v", i, ward)
		}
	}
}

// TestMisfitsAsCheck compares what was kept with what `lectern check` lists of the new project, adds the same content
// to that project, and takes its export to another one.
func TestMisfitsAsCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	source := writeRuled(t, true, misfitRows())
	dir, report := move(t, movein.Options{Source: source, Misfits: movein.Keep})
	got := map[string]int{}
	for _, m := range report.Misfits {
		if m.Outcome == movein.Kept && !strings.Contains(m.Problem, "unique") &&
			!strings.Contains(m.Problem, "blocks") { // check does not look into blocks
			got[m.Attribute+" "+m.Problem] = m.Count
		}
	}
	want := auditOf(t, dir)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 10 {
		t.Errorf("-check +report: %s", diff)
	}
	if _, again := move(t, movein.Options{Source: source, Dir: dir, Into: true, DryRun: true,
		Misfits: movein.Keep}); len(again.Misfits) != len(report.Misfits) {
		t.Errorf("a dry run into the project lists %v", again.Misfits)
	}

	var exported bytes.Buffer
	from := open(t, dir)
	if err := from.Export(t.Context(), &exported); err != nil {
		t.Fatal(err)
	}
	other, _ := move(t, movein.Options{Source: writeRuled(t, true, nil)})
	to := open(t, other)
	if _, err := to.Import(t.Context(), bytes.NewReader(exported.Bytes()), transfer.ImportOptions{}); err == nil {
		t.Error("an import takes values that the definitions do not allow")
	}
	if _, err := to.Import(t.Context(), bytes.NewReader(exported.Bytes()),
		transfer.ImportOptions{Keep: true, KeepTaken: true}); err != nil {
		t.Error(err)
	}
	var again bytes.Buffer
	if err := to.Export(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(exported.String(), "\n"), strings.Split(again.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func open(t *testing.T, dir string) *gateway.Project {
	p, err := gateway.Open(dir, gateway.Options{LogTo: t.Output(), NoWatch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// auditOf returns what `lectern check` says of the content of a project.
func auditOf(t *testing.T, dir string) map[string]int {
	d := gateway.Directory(dir, gateway.Options{LogTo: t.Output()})
	definition, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	forecast, err := d.Foresee(t.Context(), definition)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, m := range forecast.Content.Misfits {
		if !slices.ContainsFunc(forecast.Content.Misfits,
			func(misfits.Misfit) bool { return strings.Contains(m.Problem, "unique") }) {
			found[m.Attribute+" "+m.Problem] = m.Versions
		}
	}
	return found
}

// TestUnfitRows moves in rows that there can be no place for. They are left out, with links to them, and counted.
func TestUnfitRows(t *testing.T) {
	source := copied(t, copying{change: func(e *archive.Entity) bool {
		switch {
		case e.Type == "api::category.category" && e.ID == 1:
			e.Data.Set("documentId", "no such documentId!")
		case e.Type == "api::review.review" && e.ID == 1:
			e.Data.Set("createdAt", "long ago")
		}
		return true
	}})
	_, report := move(t, movein.Options{Source: source})
	for _, want := range []string{"rows of api::category.category", "createdAt of api::review.review"} {
		if !slices.ContainsFunc(report.Notes, func(n movein.Note) bool { return n.What == want && n.Count == 1 }) {
			t.Errorf("there is no note of %s in %v", want, report.Notes)
		}
	}
}

// TestMisfitsByDefault moves in without a policy: values that can be kept are kept. One that cannot be is named with
// what to do about it, and nothing else is.
func TestMisfitsByDefault(t *testing.T) {
	const fits = `"name":"n","item":{"id":ID0},`
	_, report := move(t,
		movein.Options{Source: writeRuled(t, true, []string{fits + `"mood":"angry","short":"toolong"`})})
	if len(report.Misfits) != 2 || report.Misfits[0].Outcome != movein.Kept || report.Misfits[0].Count != 2 {
		t.Errorf("misfits: %+v", report.Misfits)
	}
	dir := filepath.Join(t.TempDir(), "project")
	o := movein.Options{Source: writeRuled(t, false, []string{fits + `"count":"many"`}), Dir: dir,
		Project: gateway.Options{LogTo: t.Output()}}
	_, err := movein.Move(t.Context(), o)
	const want = "the project differs from its source:\n  api::ruled.ruled d00000000000000000000000 published: count: has a value of another type, and is " +
		`"many"; --misfits keep leaves it out, or change it, or the definition, in the source`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	o.Misfits = movein.Keep
	move(t, o)
}
