package answers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/gateway"
	"lectern/internal/simulation/program"
	"lectern/store"
)

// checkReplayed applies the log of the store of a data directory to an empty store. The content must be the same. It
// fails if a write changes content without an entry in the log that says how.
func checkReplayed(dir, data string) error {
	d, err := gateway.Load(dir, nil)
	if err != nil {
		return err
	}
	want, err := store.Open(filepath.Join(data, "content.db"), d.Model, store.Options{})
	if err != nil {
		return err
	}
	defer want.Close()
	temp, err := os.MkdirTemp("", "replayed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	path := filepath.Join(temp, "content.db")
	if err := want.View(func(snap *store.Snapshot) error { return replay(snap, path) }); err != nil {
		return err
	}
	got, err := store.Open(path, d.Model, store.Options{})
	if err != nil {
		return err
	}
	defer got.Close()
	if got.Revision() != want.Revision() {
		return fmt.Errorf("the replayed store has the revision %d, want %d", got.Revision(), want.Revision())
	}
	return errors.Join(compareContent(want, got), got.Check())
}

// replay applies the log of a snapshot to an empty store at path.
func replay(snap *store.Snapshot, path string) error {
	entries, err := program.WholeLog(snap)
	if err != nil {
		return err
	}
	r, err := store.OpenReplica(path, store.Options{})
	if err != nil {
		return err
	}
	for part := range slices.Chunk(entries, 7) {
		if err := r.Apply(part...); err != nil {
			return errors.Join(err, r.Close())
		}
	}
	return r.Close()
}

// compareContent compares what two stores show.
func compareContent(want, got *store.Store) error {
	wantLines, err := contentOf(want)
	if err != nil {
		return err
	}
	gotLines, err := contentOf(got)
	if err != nil {
		return err
	}
	for i := range min(len(wantLines), len(gotLines)) {
		if wantLines[i] != gotLines[i] {
			return fmt.Errorf("the replayed store has\n%s\nwant\n%s", gotLines[i], wantLines[i])
		}
	}
	if len(wantLines) != len(gotLines) || len(wantLines) < 30 {
		return fmt.Errorf("the replayed store has %d lines of content, want %d", len(gotLines), len(wantLines))
	}
	return nil
}

// contentOf describes everything that reads of a store show: all versions of all types with their components and links,
// and the log.
func contentOf(s *store.Store) (lines []string, err error) {
	err = s.View(func(snap *store.Snapshot) error {
		for _, typ := range s.Model().Types {
			lines = append(lines, fmt.Sprintf("%s: revision %d", typ.UID, snap.Revision(typ)))
			statuses := []store.Status{store.Published}
			if typ.DraftAndPublish {
				statuses = append(statuses, store.Draft)
			}
			for _, status := range statuses {
				page, err := snap.Find(&store.Query{Type: typ, Status: status, Locales: store.LocaleSet{All: true},
					Limit: -1, Count: true})
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
		entries, err := program.WholeLog(snap)
		for _, e := range entries {
			lines = append(lines, fmt.Sprintf("entry %d of %s at %s by %v: %v", e.Sequence, e.Epoch, e.Time, e.By,
				snap.Changes(e)))
		}
		return err
	})
	return lines, err
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

// describeLinks writes the stored links of a version or component, including those to documents that have no version to
// show.
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
