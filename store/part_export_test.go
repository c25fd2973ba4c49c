package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"

	bolt "go.etcd.io/bbolt"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// ReplicatePart makes two partial replicas of a store whose log is complete: one copies an earlier state and applies
// the entries after it, the other copies the present state. It returns how they differ, and what they have or lack
// against the part.
func ReplicatePart(s *Store, dir string, rnd *rand.Rand) (part Part, differences []string, err error) {
	err = s.View(func(snap *Snapshot) error {
		part = randomPart(snap, rnd)
		var list []*Entry
		from := 0
		snap.eachEntry(0, func(e *Entry, failed error) bool {
			if list, err = append(list, e), failed; err == nil && (e.Kind == ConversionEntry || e.Kind == EpochEntry) {
				from = len(list) // a partial replica begins anew
			}
			return err == nil
		})
		if err != nil {
			return err
		}
		cut := from + rnd.IntN(len(list)-from+1)
		followed, err := followPart(snap, dir, part, list, cut, rnd)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, followed.Close()) }()
		copied, err := copyPart(snap, filepath.Join(dir, "copied.db"), part)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, copied.Close()) }()
		return copied.view(func(want *Snapshot) error {
			differences = append(differences, snap.lacks(want, part)...)
			return followed.view(func(got *Snapshot) error {
				differences = append(differences, got.foreign(part)...)
				problems, err := got.disagreements(nil)
				for _, p := range problems {
					differences = append(differences, p.Error())
				}
				for _, n := range []format.Bucket{format.Rows, format.Docs, format.Index, format.Links,
					format.Catalog} {
					if line := firstDifference(n, inSlotOrder(n, valuesOf(want, n)),
						inSlotOrder(n, valuesOf(got, n))); line != "" {
						differences = append(differences, line)
					}
				}
				for _, k := range [][]byte{format.KeyPart, format.KeyPartHash, format.KeySequence, format.KeyEpoch,
					format.KeyLocales, format.KeyIdentity} {
					if w, g := want.bucket(format.Meta).Get(k), got.bucket(format.Meta).Get(k); !bytes.Equal(w, g) {
						differences = append(differences, fmt.Sprintf("%s: %q, want %q", k, g, w))
					}
				}
				return err
			})
		})
	})
	return part, differences, err
}

// inSlotOrder sorts the versions of each document. They are listed in the order in which they were added, which a copy
// does not know.
func inSlotOrder(n format.Bucket, list [][2][]byte) [][2][]byte {
	if n == format.Docs {
		for i := range list {
			v := bytes.Clone(list[i][1])
			sortSlots(v[8:])
			list[i][1] = v[2:] // without the checksum
		}
	}
	return list
}

func randomPart(s *Snapshot, rnd *rand.Rand) (p Part) {
	for _, t := range s.bound.model.Types {
		if !t.BuiltIn && rnd.IntN(2) == 0 {
			p.Types = append(p.Types, t.UID)
		}
	}
	for _, code := range s.Locales() {
		if rnd.IntN(3) == 0 {
			p.Locales = append(p.Locales, code)
		}
	}
	p.Published = rnd.IntN(2) == 0
	return p
}

// view calls f with a snapshot of the file under the definitions in its catalog.
func (r *Replica) view(f func(*Snapshot) error) error {
	if err := r.conversion.bind(); err != nil {
		return err
	}
	return r.file.read(func(tx *bolt.Tx) error {
		snap := newSnapshot(r.conversion.store, tx)
		snap.bound = r.conversion.bound
		return f(snap)
	})
}

func copyPart(s *Snapshot, path string, p Part) (*Replica, error) {
	r, err := NewPartialReplica(path, p)
	if err != nil {
		return nil, err
	}
	r.file.db().NoSync = true // the test needs no durable replica
	err = s.CopyPart(p, func(e *Entry) error {
		e, err := ParsePartEntry(e.Sequence, e.Whole(), bytes.Clone(e.Raw()))
		if err != nil {
			return err
		}
		return r.Fill(e)
	})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return OpenReplica(path, Options{})
}

// followPart makes a partial replica that copies the state behind the first cut entries, and applies the others.
func followPart(s *Snapshot, dir string, p Part, list []*Entry, cut int, rnd *rand.Rand) (*Replica, error) {
	whole, err := OpenReplica(filepath.Join(dir, "whole.db"), Options{})
	if err != nil {
		return nil, err
	}
	whole.file.db().NoSync = true
	if err := errors.Join(whole.Apply(list[:cut]...)); err != nil {
		return nil, errors.Join(err, whole.Close())
	}
	var r *Replica
	err = whole.view(func(then *Snapshot) (err error) {
		r, err = copyPart(then, filepath.Join(dir, "part.db"), p)
		return err
	})
	if err := errors.Join(err, whole.Close()); err != nil {
		return nil, err
	}
	r.file.db().NoSync = true
	reduce := s.PartEntries(p)
	for _, e := range list[cut:] {
		reduced, err := reduce(e)
		if err == nil {
			reduced, err = ParsePartEntry(e.Sequence, reduced.Whole(), reduced.Raw())
		}
		if err == nil {
			err = r.Apply(reduced)
		}
		if err == nil && rnd.IntN(20) == 0 {
			if err = r.Close(); err == nil {
				r, err = OpenReplica(filepath.Join(dir, "part.db"), Options{})
				r.file.db().NoSync = true
			}
		}
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// foreign lists what entries of the log hold, and the part does not have, judged by names.
func (s *Snapshot) foreign(p Part) (list []string) {
	listed := func(name string, of []string) bool { return len(of) == 0 || slices.Contains(of, name) }
	s.eachEntry(getNumber(s.bucket(format.Meta), format.KeyLogBefore), func(e *Entry, err error) bool {
		if err == nil {
			err = e.EachOp(func(o logentry.Op) error {
				b := s.bound.numbered(o.Schema)
				if o.Kind.OfRow() && (!b.typ.BuiltIn && !listed(b.typ.UID, p.Types) || b.typ.Localized &&
					!listed(s.localeCode(o.Slot.Locale()), p.Locales) ||
					p.Published && o.Slot.Status() == Draft) {
					list = append(list, fmt.Sprintf("entry %d: a row of %s, %v", e.Sequence, b.typ.UID, o.Slot))
				}
				if !o.Kind.OfRow() {
					for _, end := range []format.End{o.Link.From, o.Link.To} {
						if b := s.bound.numbered(end.Schema); b.typ != nil && !b.typ.BuiltIn &&
							!listed(b.typ.UID, p.Types) {
							list = append(list, fmt.Sprintf("entry %d: a link of %s", e.Sequence, b.typ.UID))
						}
					}
				}
				return nil
			})
		}
		if err != nil || e.Answer != nil {
			list = append(list, fmt.Sprintf("entry %d: %v, or an answer", e.Sequence, err))
		}
		return true
	})
	return list
}

// lacks compares the rows of a partial replica with those of the whole snapshot that are in the part, judged by names.
func (s *Snapshot) lacks(got *Snapshot, p Part) (list []string) {
	want := map[string]string{}
	for _, t := range s.bound.model.Types {
		s.eachRowOf(s.bound.of(&t.Schema), func(r Record) {
			listed := func(name string, of []string) bool { return len(of) == 0 || slices.Contains(of, name) }
			if (t.BuiltIn || listed(t.UID, p.Types)) && (!t.Localized || listed(r.Locale(), p.Locales)) &&
				(!p.Published || r.Status() == Published) {
				want[string(format.AppendRowKey(nil, r.table.bound.number, r.slot, r.doc))] = string(
					format.WithoutChecksum(r.data))
			}
		})
	}
	for number := range len(s.bound.byNum) {
		if s.bound.byNum[number] == nil {
			continue
		}
		got.eachKey(format.Rows, be.AppendUint16(nil, uint16(number)), func(k, v []byte) bool {
			if want[string(k)] != string(format.WithoutChecksum(v)) {
				list = append(list, fmt.Sprintf("row %x is %q, want %q", k, v, want[string(k)]))
			}
			delete(want, string(k))
			return true
		})
	}
	for k, v := range want {
		list = append(list, fmt.Sprintf("row %x is missing: %q", k, v))
	}
	return list
}
