package backup

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"lectern/store"
	"lectern/store/frames"
)

// someEntries returns the entries of a store with a few writes.
func someEntries(t testing.TB) (list []*store.Entry) {
	t.Helper()
	p := newProject(t)
	for range 6 {
		p.write()
	}
	at := store.Position{}
	if err := p.store.View(func(s *store.Snapshot) (err error) {
		at, err = s.OldestPosition()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	u, err := p.update(&at)
	if err != nil || len(u.Entries) < 6 {
		t.Fatal(len(u.Entries), err)
	}
	return u.Entries
}

// smallEntries returns entries without changes, of a few bytes each. Fuzz targets begin with them: go test spends its
// time on making each new input shorter, and gets nothing done with those that hold the definitions of a store.
func smallEntries(t testing.TB) (list []*store.Entry) {
	t.Helper()
	for sequence := range uint64(3) {
		raw := append([]byte{1, byte(store.BatchEntry)}, "epoch123"...)
		raw = append(raw, 7)                   // the time
		raw = append(raw, make([]byte, 32)...) // no hash of the entry before
		raw = append(raw, make([]byte, 8)...)  // no principal, numbers of rows, locales, changes or answer
		e, err := store.ParseEntry(sequence+5, raw)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// encode returns a segment with entries, and where each frame ends.
func encode(entries []*store.Entry, closed bool) (raw []byte, ends []int) {
	raw = newSegment(entries[0].Epoch, entries[0].Sequence)
	ends = append(ends, len(raw))
	for _, e := range entries {
		raw = frames.AppendEntry(raw, e)
		ends = append(ends, len(raw))
	}
	if closed {
		raw = closeSegment(raw, len(entries))
	}
	return raw, ends
}

// TestSegmentsTorn cuts a segment off after each of its bytes. What is left is the entries that are whole, and where
// they end.
func TestSegmentsTorn(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	entries := someEntries(t)
	for _, closed := range []bool{false, true} {
		raw, ends := encode(entries, closed)
		for n := segmentHeader; n <= len(raw); n++ {
			whole := 0
			for whole+1 < len(ends) && ends[whole+1] <= n {
				whole++
			}
			s, err := parseSegment(raw[:n])
			if err != nil || len(s.entries) != whole || s.last() != entries[0].Sequence+uint64(whole)-1 {
				t.Fatalf("after %d of %d bytes: %d entries, want %d (%v)", n, len(raw), len(s.entries), whole, err)
			}
			if want := closed && n == len(raw); s.closed != want || !want && s.torn != n-ends[whole] {
				t.Fatalf("after %d of %d bytes: closed is %v, and %d bytes are torn", n, len(raw), s.closed, s.torn)
			}
		}
		for n := range segmentHeader {
			if _, err := parseSegment(raw[:n]); !errors.Is(err, errDamaged) {
				t.Fatalf("a header of %d bytes: %v", n, err)
			}
		}
	}
}

// TestSegmentsDamaged changes each byte of a segment. A reader notices each change, except one in the last entry of an
// open segment, which cannot be told from a torn one.
func TestSegmentsDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	entries := someEntries(t)
	for _, closed := range []bool{false, true} {
		raw, ends := encode(entries, closed)
		for at := range raw {
			changed := bytes.Clone(raw)
			changed[at] ^= 0x41
			s, err := parseSegment(changed)
			last := !closed && at >= ends[len(ends)-2] || closed && at >= ends[len(ends)-1]
			switch {
			case last && (err != nil && !errors.Is(err, errDamaged) || err == nil && (s.closed || s.torn == 0)):
				t.Fatalf("byte %d of the last part: %v, %+v", at, err, s)
			case !last && !errors.Is(err, errDamaged):
				t.Fatalf("byte %d of %d: %v", at, len(raw), err)
			}
		}
		if _, err := parseSegment(append(bytes.Clone(raw), raw[segmentHeader:]...)); closed &&
			!errors.Is(err, errDamaged) {
			t.Errorf("a segment with something behind it: %v", err)
		}
	}
	wrong := map[string][]*store.Entry{
		"one is missing":  {entries[0], entries[2]},
		"two in disorder": {entries[1], entries[0]},
		"one is twice":    {entries[0], entries[0]},
	}
	for what, list := range wrong {
		raw, _ := encode(list, true)
		if _, err := parseSegment(raw); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzSegment parses any bytes. What is parsed is what was written: the same entries make the same bytes.
func FuzzSegment(f *testing.F) {
	entries := smallEntries(f)
	for _, closed := range []bool{false, true} {
		raw, _ := encode(entries, closed)
		f.Add(raw)
		f.Add(raw[:len(raw)-3])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := parseSegment(raw)
		if err != nil {
			if s != nil && !errors.Is(err, errDamaged) {
				t.Errorf("%v", err)
			}
			return
		}
		again := newSegment(s.epoch, s.first)
		for _, e := range s.entries {
			again = frames.AppendEntry(again, e)
		}
		if s.closed {
			again = closeSegment(again, len(s.entries))
		}
		if !bytes.Equal(again, raw[:s.whole]) || s.whole+s.torn != len(raw) {
			t.Errorf("%q is written as %q", raw, again)
		}
	})
}

// FuzzUpdates reads any stream of updates to its end.
func FuzzUpdates(f *testing.F) {
	entries := smallEntries(f)
	var raw []byte
	for _, e := range entries {
		raw = frames.AppendEntry(raw, e)
	}
	raw, err := AppendEnd(raw, map[string]uint64{"a.txt": 3}, Heartbeat{Position: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := NewUpdateReader(bytes.NewReader(raw))
		for {
			if _, err := r.Next(); err != nil {
				return
			}
		}
	})
}

// TestUpdates reads what a server sends.
func TestUpdates(t *testing.T) {
	entries := someEntries(t)
	var stream []byte
	for i := range entries {
		stream = frames.AppendEntry(stream, entries[i])
		var err error
		if stream, err = AppendEnd(stream, map[string]uint64{"a.txt": uint64(i)},
			Heartbeat{Position: entries[i].Epoch.String()}); err != nil {
			t.Fatal(err)
		}
	}
	r := NewUpdateReader(bytes.NewReader(stream))
	for i := range entries {
		u, err := r.Next()
		if err != nil || len(u.Entries) != 1 || !slices.Equal(u.Entries[0].Raw(), entries[i].Raw()) ||
			u.Uploads["a.txt"] != uint64(i) || u.Now.Position != entries[i].Epoch.String() {
			t.Errorf("update %d: %+v, %v", i, u, err)
		}
	}
	if _, err := r.Next(); err == nil {
		t.Error("there is another update")
	}
}

// TestUpdatesCutOff cuts a stream off after each of its bytes. Only behind a whole update is that the end of the
// stream.
func TestUpdatesCutOff(t *testing.T) {
	var stream []byte
	ends := []int{0}
	for i, e := range smallEntries(t) {
		var err error
		if stream, err = AppendEnd(frames.AppendEntry(stream, e), map[string]uint64{"a.txt": uint64(i)},
			Heartbeat{Position: "x"}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(stream))
	}
	for n := range stream {
		r := NewUpdateReader(bytes.NewReader(stream[:n]))
		updates, err := 0, error(nil)
		for {
			if _, err = r.Next(); err != nil {
				break
			}
			updates++
		}
		whole, want := 0, io.ErrUnexpectedEOF
		for ends[whole+1] <= n {
			whole++
		}
		if ends[whole] == n {
			want = io.EOF
		}
		if updates != whole || err != want {
			t.Fatalf("%d of %d bytes: %d updates and %v, want %d and %v", n, len(stream), updates, err, whole, want)
		}
	}
}

// TestNames parses the names of objects that a backup has, and refuses others.
func TestNames(t *testing.T) {
	p := store.Position{Epoch: store.Epoch{1, 2, 3}, Sequence: 4711}
	b := Base{p, timeOf(t, "2026-01-02T03:04:05.678Z")}
	if got, ok := parseBase(b.name()); !ok || got != b {
		t.Errorf("%s is %+v", b.name(), got)
	}
	for _, m := range []listedManifest{{position: p, full: true}, {position: p, made: 99}} {
		m.name = m.String()
		if got, ok := parseManifestName(m.name); !ok || got != m {
			t.Errorf("%s is %+v", m.name, got)
		}
	}
	var c catalogue
	c.addSegment(segmentName(p.Epoch, 4711))
	if len(c.segments) != 1 || c.segments[0].epoch != p.Epoch || c.segments[0].first != 4711 {
		t.Errorf("%+v", c.segments)
	}
	for _, wrong := range []string{"", "bases/", "bases/x.tar", "bases/20260102T030405.678Z-0102030000000000-4711.tar",
		"bases/20260102T030405.678Z-0102030000000000-00000000000000004711",
		"uploads/x-full.json", "uploads/0102030000000000-00000000000000004711.json",
		"uploads/0102030000000000-00000000000000004711-x.json", "segments/x.segment",
		"segments/0102030000000000-4711.segment"} {
		c = catalogue{}
		c.addBase(wrong)
		c.addManifest(wrong)
		c.addSegment(wrong)
		if len(c.bases)+len(c.broken)+len(c.manifests)+len(c.segments) > 0 {
			t.Errorf("%q is %+v", wrong, c)
		}
	}
}
