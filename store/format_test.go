package store_test

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"lectern/store"
)

// TestUpgrade opens a file as version 1 of the format had it, which knew no spans.
func TestUpgrade(t *testing.T) {
	defer store.CountedBy(3)()
	path := filepath.Join(t.TempDir(), "content.db")
	s := open(t, path)
	article := s.Model().Type("api::article.article")
	rnd := rand.New(rand.NewPCG(5, 6))
	tw := twin{rows: map[uint64]*twinRow{}}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 900, false) })
	closeChecked(t, s)
	format := func(change func(meta *bolt.Bucket, tx *bolt.Tx) error) {
		t.Helper()
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Update(func(tx *bolt.Tx) error { return change(tx.Bucket([]byte("meta")), tx) }); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	format(func(meta *bolt.Bucket, tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("spans")); err != nil {
			return err
		}
		return meta.Put([]byte("format"), binary.BigEndian.AppendUint64(nil, 1))
	})

	s = openModel(t, path, s.Model(), store.Options{})
	for range 100 {
		q := randomQuery(rnd, article)
		want, got := tw.find(q), find(t, s, q)
		if want.Total != got.Total && q.Count || !slices.Equal(want.Docs, got.Docs) {
			t.Fatalf("%s\n got %v of %d\nwant %v of %d", describe(q), got.Docs, got.Total, want.Docs, want.Total)
		}
	}
	write(t, s, func(tx *store.Tx) error { return tw.change(tx, article, rnd, 900, true) })
	closeChecked(t, s)
	format(func(meta *bolt.Bucket, tx *bolt.Tx) error {
		return meta.Put([]byte("format"), binary.BigEndian.AppendUint64(nil, 99))
	})
	if s, err := store.Open(path, loadModel(t), store.Options{}); err == nil {
		closeChecked(t, s)
		t.Fatal("a format of the future is opened")
	}
}
