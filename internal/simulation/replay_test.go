package simulation

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/store"
)

// A recorder keeps the batches that a store applies, in the order of their sequence numbers. Number 1 is that of the transaction in which
// Open stores the definitions.
type recorder struct{ batches []*store.Batch }

// record keeps a batch. It drops those of the same or a greater number, whose transaction was rolled back.
func (r *recorder) record(sequence uint64, b *store.Batch) {
	r.batches = append(r.batches[:sequence-2], b)
}

// TestBatchesMakeTheContent records every batch that a server applies while it answers random requests. The same batches, applied in the
// same order to an empty store, must make the same content. The test fails if a write changes content without a batch.
func TestBatchesMakeTheContent(t *testing.T) {
	for seed, graphql := range map[uint64]bool{1: false, 2: true} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			var recorded recorder
			model := ModelOf(seed, Quirks{})
			server := serveObserved(t, model, recorded.record)
			run := NewRun(seed, Quirks{}, model, struct{ Host }{server}) // without restarts, after which batches would be of another Model
			if graphql {
				run.InGraphQL()
			}
			if err := run.Random(120); err != nil {
				t.Error(err)
			}
			compareReplayed(t, server.project.Store(), recorded.batches)
			if err := server.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// compareReplayed applies batches to an empty store, and compares its content with that of a store.
func compareReplayed(t *testing.T, want *store.Store, batches []*store.Batch) {
	t.Helper()
	if n := uint64(len(batches)) + 1; n != want.Revision() || n < 30 {
		t.Fatalf("the last batch that is recorded has number %d, and that of the store has %d", n, want.Revision())
	}
	got, err := store.Open(filepath.Join(t.TempDir(), "content.db"), want.Model(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range batches {
		if err := got.Write(context.Background(), func(tx *store.Tx) error { return tx.Apply(b) }); err != nil {
			t.Fatalf("batch %d: %v", i+1, err)
		}
	}
	wantLines, gotLines := contentOf(t, want), contentOf(t, got)
	for i := range min(len(wantLines), len(gotLines)) {
		if wantLines[i] != gotLines[i] {
			t.Fatalf("the replayed store has\n%s\nwant\n%s", gotLines[i], wantLines[i])
		}
	}
	if len(wantLines) != len(gotLines) || len(wantLines) < 30 {
		t.Errorf("the replayed store has %d lines of content, want %d", len(gotLines), len(wantLines))
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
}

// contentOf describes everything that reads of a store show: all versions of all types with their components and links, and the change log.
// It names locales by their codes, since their numbers may differ.
func contentOf(t *testing.T, s *store.Store) (lines []string) {
	t.Helper()
	err := s.View(func(snap *store.Snapshot) error {
		for _, typ := range s.Model().Types {
			lines = append(lines, fmt.Sprintf("%s: revision %d", typ.UID, snap.Revision(typ)))
			statuses := []store.Status{store.Published}
			if typ.DraftAndPublish {
				statuses = append(statuses, store.Draft)
			}
			for _, status := range statuses {
				page, err := snap.Find(&store.Query{Type: typ, Status: status, Locales: store.LocaleSet{All: true}, Limit: -1, Count: true})
				if err != nil {
					return err
				}
				lines = append(lines, fmt.Sprintf("%s: %d of status %d", typ.UID, page.Total, status))
				for _, r := range page.Rows {
					var b strings.Builder
					describe(&b, snap, r, status)
					lines = append(lines, fmt.Sprintf("%s %d %d %q %s", typ.UID, r.Doc(), r.Status(), r.Locale(), &b))
				}
			}
		}
		_, err := snap.Changes(0, func(c store.Change) bool {
			lines = append(lines, fmt.Sprintf("change %+v", c))
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// describe writes the attributes of a version or component, with its links in their order and positions.
func describe(b *strings.Builder, snap *store.Snapshot, r store.Record, status store.Status) {
	for _, a := range r.Schema().Attributes {
		fmt.Fprintf(b, "%s=", a.Name)
		switch {
		case a.IsScalar():
			b.Write(r.JSON(a))
		case !a.IsRelation():
			r.Each(a, func(item store.Record) bool {
				fmt.Fprintf(b, "%s %d(", item.Component().UID, item.ID())
				describe(b, snap, item, status)
				b.WriteString(")")
				return true
			})
		default:
			snap.Related(r, a, status, func(to store.Record) bool {
				fmt.Fprintf(b, "%d,", to.ID())
				return true
			})
			describeLinks(b, snap, r, a)
		}
		b.WriteString(" ")
	}
}

// describeLinks writes the stored links of a version or component, including those to documents that have no version to show.
func describeLinks(b *strings.Builder, snap *store.Snapshot, r store.Record, a *contenttypes.Attribute) {
	if a.System || a.Mapped {
		return
	}
	for _, set := range []store.LinkSet{store.PublishedLinks, store.DraftLinks} {
		snap.LinksFrom(a, set, r.Ref(), func(l store.Link) bool {
			fmt.Fprintf(b, "[%d→%s %d %q %d %d]", set, l.To.Type, l.To.Doc, l.To.Locale, l.FromPos, l.ToPos)
			return true
		})
	}
}
