package pages_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/pages"
)

// A twin is a bbolt file with the expected content of its one bucket.
type twin struct {
	t            *testing.T
	db           *bolt.DB
	path         string
	rnd          *rand.Rand
	keys         map[string]string
	nexts, steps int // of cursors, and those that Step did
}

var bucketName = []byte("things")

func newTwin(t *testing.T, seed uint64) *twin {
	path := filepath.Join(t.TempDir(), "file")
	db, err := bolt.Open(
		path, 0o600, &bolt.Options{NoSync: true, InitialMmapSize: 1 << 28, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &twin{t: t, db: db, path: path, rnd: rand.New(rand.NewPCG(seed, 1)), keys: map[string]string{}}
}

// seeds is how many random files a test changes: two of each size.
const seeds = uint64(8)

// change puts and deletes keys. Some values are longer than a page.
func (w *twin) change(puts, deletes, space int) {
	w.t.Helper()
	if err := w.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucketName)
		if err != nil {
			return err
		}
		for range puts {
			k := fmt.Sprintf("key %06d", w.rnd.IntN(space))
			v := bytes.Repeat([]byte{byte('a' + w.rnd.IntN(26))}, 1+w.rnd.IntN(200))
			if w.rnd.IntN(50) == 0 {
				v = bytes.Repeat(v, 100)
			}
			v = be.AppendUint32(v, crc32.ChecksumIEEE(append([]byte(k), v...)))
			w.keys[k] = string(v)
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		for range deletes {
			k := fmt.Sprintf("key %06d", w.rnd.IntN(space))
			delete(w.keys, k)
			if err := b.Delete([]byte(k)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}

var be = binary.BigEndian

// checkSums is the Check of the bucket.
func checkSums(p pages.Page) error {
	for i := range p.Len() {
		v := p.Value(i)
		if len(v) < 4 || be.Uint32(v[len(v)-4:]) != crc32.ChecksumIEEE(append(bytes.Clone(p.Key(i)), v[:len(v)-4]...)) {
			return fmt.Errorf("element %d: wrong sum", i)
		}
	}
	return nil
}

// open reads a file from the disk.
func open(t *testing.T, data []byte) (*pages.File, pages.Meta) {
	t.Helper()
	size := os.Getpagesize()
	m, whole := pages.ReadMeta(data)
	if other, ok := pages.ReadMeta(data[size:]); ok && (!whole || other.Tx > m.Tx) {
		m, whole = other, true
	}
	if !whole {
		t.Fatal("no meta page")
	}
	return pages.NewFile(data[:int(m.Pages)*m.PageSize], m.PageSize, nil), m
}

func (w *twin) read() []byte {
	data, err := os.ReadFile(w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// TestCursorIsBBolts changes a file at random, and expects our cursor to move as that of bbolt does.
func TestCursorIsBBolts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	for seed := range seeds {
		w := newTwin(t, seed)
		space := []int{3, 40, 1000, 20000}[seed%4]
		for round := range 60 {
			w.change(w.rnd.IntN(300), w.rnd.IntN(300), space)
			if round%20 == 19 {
				w.change(0, 3*space, space) // until little is left
			}
			f, m := open(t, w.read())
			audited := 0
			_, err := f.Audit(t.Context(), m, func([]byte) func(pages.Page) error { return checkSums },
				func(_ []byte, p pages.Page) { audited += p.Len() },
				func(_ []byte, err error) { t.Errorf("seed %d, round %d: %v", seed, round, err) })
			if err != nil || audited != len(w.keys) {
				t.Fatalf("seed %d, round %d: an audit sees %d keys of %d (%v)", seed, round, audited, len(w.keys), err)
			}
			tree, err := f.Root(m.Root).Bucket(bucketName)
			if err != nil {
				t.Fatal(err)
			}
			tree.Check = checkSums
			if err := w.db.View(func(tx *bolt.Tx) error {
				w.compare(tree.Cursor(), tx.Bucket(bucketName).Cursor(), space)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if t.Failed() {
				return
			}
		}
		if w.steps < w.nexts*9/10 {
			t.Errorf("seed %d: %d of %d keys are reached by a step", seed, w.steps, w.nexts)
		}
	}
}

// compare moves two cursors in the same way.
func (w *twin) compare(got *pages.Cursor, want *bolt.Cursor, space int) {
	w.t.Helper()
	var log []string
	step := func(name string, k, v, wantK, wantV []byte) {
		w.t.Helper()
		log = append(log, name)
		if err := got.Err(); err != nil || !bytes.Equal(k, wantK) || !bytes.Equal(v, wantV) {
			w.t.Fatalf("%v: %q, %v; bbolt says %q", log, k, err, wantK)
		}
	}
	for k, v := got.First(); k != nil; k, v = got.Next() {
		if w.keys[string(k)] != string(v) {
			w.t.Fatalf("%q has another value", k)
		}
	}
	for range 40 {
		log = nil
		seek := fmt.Appendf(nil, "key %06d", w.rnd.IntN(space+2))
		k, v := got.Seek(seek)
		wk, wv := want.Seek(seek)
		step(fmt.Sprintf("seek %s", seek), k, v, wk, wv)
		for range w.rnd.IntN(60) {
			switch w.rnd.IntN(12) {
			case 0:
				k, v = got.First()
				wk, wv = want.First()
				step("first", k, v, wk, wv)
			case 1:
				k, v = got.Last()
				wk, wv = want.Last()
				step("last", k, v, wk, wv)
			case 2, 3, 4, 5, 6:
				k, v = got.Prev()
				wk, wv = want.Prev()
				step("prev", k, v, wk, wv)
			default:
				wk, wv = want.Next()
				k, v = w.next(got, wk)
				step("next", k, v, wk, wv)
			}
			if k == nil {
				break // bbolt does not say where it stands then
			}
		}
	}
}

// next moves a cursor to the next key, k. Some moves use Step, which must not move it to another key, and must reach k
// most of the time.
func (w *twin) next(c *pages.Cursor, k []byte) (key, v []byte) {
	if k == nil || w.rnd.IntN(2) == 0 {
		return c.Next()
	}
	for _, other := range [][]byte{nil, k[:len(k)-1], append(bytes.Clone(k), 0)} {
		if _, ok := c.Step(other); ok {
			w.t.Fatalf("a step to %q, where %q is next", other, k)
		}
	}
	w.nexts++
	if v, ok := c.Step(k); ok {
		w.steps++
		return k, v
	}
	return c.Next()
}

// TestNoFlippedBitIsMissed flips the used bits of a file, one at a time. Each read must return the former content or an
// error, and an Audit must report each page that differs.
func TestNoFlippedBitIsMissed(t *testing.T) {
	w := newTwin(t, 9)
	w.change(150, 20, 400)
	w.change(300, 100, 400)
	whole := w.read()
	f, m := open(t, whole)
	var seeks [][]byte
	for i := range 405 {
		seeks = append(seeks, fmt.Appendf(nil, "key %06d", i))
	}
	size := m.PageSize
	live := map[int]int{} // the bytes in use of each page
	use, err := f.Audit(t.Context(), m, func([]byte) func(pages.Page) error { return checkSums },
		func(_ []byte, p pages.Page) {}, func(_ []byte, err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	for id := 2; id < int(m.Pages); id++ {
		if use[id] == pages.InTree {
			live[id] = 1
		}
	}
	step := 61
	if testing.Short() {
		step = 997
	}
	data := bytes.Clone(whole)
	missed, flips := 0, 0
	for bit := 2 * size * 8; bit < len(data)*8 && bit < int(m.Pages)*size*8; bit += step {
		if live[bit/8/size] == 0 {
			continue
		}
		flips++
		data[bit/8] ^= 1 << (bit % 8)
		f := pages.NewFile(data[:int(m.Pages)*size], size, &pages.Marks{})
		found := false
		_, err = f.Audit(t.Context(), m, func([]byte) func(pages.Page) error { return checkSums },
			func([]byte, pages.Page) {}, func([]byte, error) { found = true })
		if wrong := answer(f, m, seeks, w.keys); wrong != "" || err != nil {
			t.Errorf("bit %d of page %d: %s", bit%(size*8), bit/8/size, wrong)
		}
		if !found {
			missed++ // it must lie behind the last value of its page
			if p := data[bit/8/size*size : bit/8/size*size+size]; !inSlack(whole, bit/8, size) {
				t.Errorf("bit %d of page %d (flags %x) is missed", bit%(size*8), bit/8/size, p[8])
			}
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("%d flips, %d behind the end of what a page holds", flips, missed)
	if flips < 100 || missed > flips*3/4 {
		t.Errorf("of %d flips %d are behind the end of what their page holds", flips, missed)
	}
}

// inSlack reports whether nothing but zeros follow a byte in its page, or the page is the middle of a long one's rest.
func inSlack(whole []byte, at, size int) bool {
	end := (at/size + 1) * size
	return len(bytes.TrimLeft(whole[at:end], "\x00")) == 0
}

// answer compares seeks and a walk with the expected content.
func answer(f *pages.File, m pages.Meta, seeks [][]byte, want map[string]string) string {
	tree, err := f.Root(m.Root).Bucket(bucketName)
	if err != nil {
		return ""
	}
	if tree == nil {
		return "the bucket is gone"
	}
	tree.Check = checkSums
	for _, key := range seeks {
		c := tree.Cursor()
		k, v := c.Seek(key)
		if c.Err() != nil {
			continue
		}
		value, there := want[string(key)]
		if bytes.Equal(k, key) != there || there && string(v) != value {
			return fmt.Sprintf("%s is %q", key, k)
		}
	}
	c, n := tree.Cursor(), 0
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if n++; want[string(k)] != string(v) {
			return fmt.Sprintf("a walk comes to %q", k)
		}
	}
	if c.Err() == nil && n != len(want) {
		return fmt.Sprintf("a walk ends after %d keys of %d", n, len(want))
	}
	return ""
}

// FuzzPages reads files of any bytes.
func FuzzPages(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0}, 8192), uint64(2))
	page := make([]byte, 4096)
	binary.NativeEndian.PutUint64(page, 2)
	page[8], page[10] = 2, 1
	f.Add(append(make([]byte, 8192), page...), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, root uint64) {
		const size = 512
		if len(data) < 2*size {
			return
		}
		file := pages.NewFile(data[:len(data)/size*size], size, nil)
		m := pages.Meta{PageSize: size, Root: root, Freelist: 2, Pages: file.Len()}
		use, _ := file.Audit(t.Context(), m, func([]byte) func(pages.Page) error { return nil },
			func(_ []byte, p pages.Page) { touch(p) }, func([]byte, error) {})
		file.Pieces(use, func([]byte, []byte) {})
		if tree, err := file.Root(root).Bucket(bucketName); err == nil && tree != nil {
			c := tree.Cursor()
			for k, _ := c.Last(); k != nil; k, _ = c.Prev() {
			}
			c.Seek([]byte("key"))
			_, _, _ = c.Around()
		}
	})
}

func touch(p pages.Page) {
	for i := range p.Len() {
		_, _ = p.Key(i), p.Value(i)
	}
}
