package movein

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/gateway/admin"
	"lectern/internal/jsonlines"
	"lectern/jsontree"
	"lectern/store"
)

// A Difference is the error of a Move whose store does not hold what the source has.
type Difference struct{ Lines []string }

func (d *Difference) Error() string {
	return "the project differs from its source:\n  " + strings.Join(d.Lines, "\n  ")
}

// maxDifferences bounds how many differences are listed.
const maxDifferences = 20

// check compares the store of the project with the source: the counts, and each version value by value.
func (m *move) check() error {
	definition, err := m.directory().Load()
	if err != nil {
		return err
	}
	c := &comparer{ctx: m.ctx, model: definition.Model, hasher: newHasher(), into: m.o.Into, want: map[uint64]uint64{},
		documents: map[uint64]bool{}, counter: m.counter}
	for _, v := range m.counter.versions {
		v.Arrived = 0
	}
	for _, l := range m.counter.links {
		l.Arrived = 0
	}
	if err := c.expect(m.staging.join(spoolName)); err != nil {
		return err
	}
	err = m.open(func(p admin.Project) error {
		return c.read(func(w io.Writer) error { return p.Export(m.ctx, w) })
	})
	if err == nil {
		err = m.countFiles()
	}
	if err != nil {
		return err
	}
	m.report.Compared = c.compared
	d := c.differences()
	m.report.Census = m.counter.census()
	if len(d) > 0 {
		return &Difference{d}
	}
	return m.writeReport()
}

// countFiles counts the files of the source in the directory of uploads.
func (m *move) countFiles() error {
	m.counter.files.Arrived = 0
	switch {
	case len(m.staging.journal.Files) == 0:
		return nil
	case m.o.DryRun: // copyFiles has found them, and would copy them
		m.counter.files.Arrived = m.counter.files.Expected()
		return nil
	}
	entries, err := os.ReadDir(m.uploads())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, wanted := m.staging.journal.Files[e.Name()]; wanted {
			m.counter.files.Arrived++
		}
	}
	return nil
}

// A comparer compares two sets of lines in the export format. It keeps two hashes for each version.
type comparer struct {
	ctx   context.Context
	model *contenttypes.Model
	hasher
	into bool              // the store may hold more documents than the source
	want map[uint64]uint64 // by the hash of a version: the hash of what it holds
	// documents are the hashes of all documents that want has versions of, if the store may hold more.
	documents map[uint64]bool
	wrong     []string
	more      int // differences beside those in wrong
	compared  int
	counter   *counter
}

// expect reads the lines that the store must hold.
func (c *comparer) expect(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return eachLine(f, func(o *jsontree.Object) error {
		name, content, _ := c.digest(o)
		c.want[name] = content
		if c.into {
			c.documents[c.document(o)] = true
		}
		return c.ctx.Err()
	})
}

// read reads the lines of the store, which export writes.
func (c *comparer) read(export func(io.Writer) error) error {
	r, w := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := export(w)
		w.CloseWithError(err)
		exported <- err
	}()
	err := eachLine(r, func(o *jsontree.Object) error {
		c.arrived(o)
		return c.ctx.Err()
	})
	r.CloseWithError(err)
	return errors.Join(err, <-exported)
}

// arrived counts and compares a version of the store.
func (c *comparer) arrived(o *jsontree.Object) {
	name, content, t := c.digest(o)
	want, known := c.want[name]
	if !known && c.into && !c.documents[c.document(o)] {
		return
	}
	if t == nil || !known {
		c.differ("%s is in the store, and not in the source", describe(o))
		return
	}
	delete(c.want, name)
	status := store.Published
	if o.Text("status") == store.Draft.String() {
		status = store.Draft
	}
	c.counter.version(t, o.Text("locale"), status).Arrived++
	c.countLinks(&t.Schema, o.Value("data"))
	if c.compared++; want != content {
		c.differ("%s has other values in the store than in the source", describe(o))
	}
}

// document returns a hash that identifies the document of a line.
func (c *comparer) document(o *jsontree.Object) uint64 {
	return c.hash(o.Text("type"), o.Text("documentId"))
}

func (c *comparer) differ(format string, args ...any) {
	if len(c.wrong) == maxDifferences {
		c.more++
		return
	}
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// describe names the version of a line for people.
func describe(o *jsontree.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", o.Value("type"), o.Value("documentId"))
	for _, key := range []string{"locale", "status"} {
		if s := o.Text(key); s != "" {
			b.WriteString(" " + s)
		}
	}
	return b.String()
}

// differences returns all differences found.
func (c *comparer) differences() []string {
	list := c.wrong
	if n := len(c.want); n > 0 {
		list = append(list, fmt.Sprintf("%d versions of the source are not in the store", n))
	}
	census := c.counter.census()
	for _, v := range census.Versions {
		if v.Arrived != v.Expected() {
			list = append(list, fmt.Sprintf("%s %s %s: %d versions expected, %d arrived", v.Type, v.Locale, v.Status,
				v.Expected(), v.Arrived))
		}
	}
	for _, l := range census.Links {
		if l.Arrived != l.Expected() {
			list = append(list, fmt.Sprintf("%s: %d links expected, %d arrived", l.Field, l.Expected(), l.Arrived))
		}
	}
	if f := census.Files; f.Arrived != f.Expected() {
		list = append(list, fmt.Sprintf("%d files expected, %d arrived", f.Expected(), f.Arrived))
	}
	if c.more > 0 {
		list = append(list, fmt.Sprintf("and %d more", c.more))
	}
	return list
}

// countLinks counts the links in the data of a document or component.
func (c *comparer) countLinks(s *contenttypes.Schema, v any) {
	data, _ := v.(*jsontree.Object)
	if data == nil {
		return
	}
	for _, key := range data.Keys {
		a := s.Attribute(key)
		switch {
		case a == nil || a.IsScalar():
		case a.IsRelation():
			targets := map[string]bool{}
			for _, e := range asList(data.Value(key)) {
				if o, ok := e.(*jsontree.Object); ok {
					targets[fmt.Sprint(o.Value("type"), " ", o.Value("documentId"), " ", o.Value("locale"))] = true
				}
			}
			c.counter.link(fieldName(a)).Arrived += len(targets)
		default:
			for _, item := range asList(data.Value(key)) {
				if component := c.component(a, item); component != nil {
					c.countLinks(&component.Schema, item)
				}
			}
		}
	}
}

func (c *comparer) component(a *contenttypes.Attribute, item any) *contenttypes.Component {
	if a.Type != contenttypes.DynamicZone {
		return a.Component
	}
	o, _ := item.(*jsontree.Object)
	if o == nil {
		return nil
	}
	return c.model.Component(o.Text("__component"))
}

func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// eachLine calls do with each line that holds a version.
func eachLine(r io.Reader, do func(*jsontree.Object) error) error {
	for lines := jsonlines.NewReader(r, math.MaxInt); ; {
		o, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d of the export format: %w", lines.Line(), err)
		}
		if o.Value("type") != nil {
			if err := do(o); err != nil {
				return err
			}
		}
	}
}

// digest returns the hash of a version's name and the hash of what it holds. Two lines that mean the same have the same
// hashes: the order of keys does not count, nor do positions in the lists of other documents.
func (c *comparer) digest(o *jsontree.Object) (name, content uint64, t *contenttypes.ContentType) {
	if t = c.model.Type(o.Text("type")); t == nil {
		return 0, 0, nil
	}
	name = c.hash(o.Text("type"), o.Text("documentId"), o.Text("locale"), o.Text("status"))
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, key := range []string{"id", "createdAt", "updatedAt", "publishedAt"} {
		if key == "id" && c.into { // another document of the store may have it
			continue
		}
		h.Write(jsontree.Append(nil, o.Value(key)))
		h.WriteByte(0)
	}
	d := digester{c, &h, nil, !t.DraftAndPublish}
	d.values(&t.Schema, o.Value("data"))
	return name, h.Sum64(), t
}

// A digester hashes the values of a line in the order of the attributes.
type digester struct {
	*comparer
	h      *maphash.Hash
	memory []byte
	both   bool // the links of the version are in both sets unless an entry says otherwise
}

func (d *digester) write(v any) {
	if n, ok := v.(int); ok {
		v = jsontree.Number(strconv.Itoa(n))
	}
	d.memory = append(jsontree.Append(d.memory[:0], v), 0)
	d.h.Write(d.memory)
}

func (d *digester) values(s *contenttypes.Schema, v any) {
	data, _ := v.(*jsontree.Object)
	if data == nil {
		return
	}
	for _, a := range s.Attributes {
		v := data.Value(a.Name)
		if v == nil || a.System {
			continue
		}
		d.write(a.Name)
		switch {
		case a.IsRelation():
			d.links(a, asList(v))
		case a.IsScalar():
			d.write(v)
		default:
			items := asList(v)
			d.write(len(items))
			for _, item := range items {
				component := d.component(a, item)
				if component == nil {
					continue
				}
				d.write(component.UID)
				if o, ok := item.(*jsontree.Object); ok && !d.into {
					d.write(o.Value("id"))
				}
				d.values(&component.Schema, item)
			}
		}
	}
}

// links hashes the links of an attribute, set by set.
func (d *digester) links(a *contenttypes.Attribute, entries []any) {
	planes := []string{""}
	if d.both && a.HasDraftLinks() {
		planes = []string{store.Draft.String(), store.Published.String()}
	}
	for _, plane := range planes {
		d.write(plane)
		for _, e := range entries {
			o, _ := e.(*jsontree.Object)
			if o == nil {
				continue
			}
			if only := o.Value("plane"); plane == "" || only == nil || only == plane {
				d.write(o.Value("type"))
				d.write(o.Value("documentId"))
				d.write(o.Value("locale"))
			}
		}
	}
}
