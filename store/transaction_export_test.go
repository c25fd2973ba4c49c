package store

import (
	"bytes"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// WithoutSync has the store's file not synced, for tests that need no durable store.
func (s *Store) WithoutSync() { s.db().NoSync = true }

// Differences returns how the content, log and notes of two stores differ.
func Differences(a, b *Store) (list []string, err error) {
	err = a.View(func(want *Snapshot) error {
		return b.View(func(got *Snapshot) error {
			for _, n := range []format.Bucket{format.Rows, format.Docs, format.Index, format.Links, format.Log,
				format.History, format.Answers, format.Meta} {
				if line := firstDifference(n, valuesOf(want, n), valuesOf(got, n)); line != "" {
					list = append(list, line)
				}
			}
			for name, text := range want.Notes("") {
				if !bytes.Equal(got.Note(name), text) {
					list = append(list, "note "+name)
				}
			}
			return nil
		})
	})
	return list, err
}

// DecodeTransaction checks an encoded transaction, and returns it encoded anew.
func DecodeTransaction(data []byte) ([]byte, error) {
	entries, notes, err := logentry.ParseTransaction(data)
	if err != nil {
		return nil, err
	}
	t := logentry.Transaction{Notes: notes}
	for _, e := range entries {
		t.Entries = append(t.Entries, logentry.EncodedEntry{Sequence: e.Sequence, Raw: e.Raw()})
	}
	return t.Append(nil), nil
}
