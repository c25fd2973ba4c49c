package media

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
	"lectern/store"
)

// An existing holds the fields of a stored file's document that later requests need.
type existing struct {
	documentID, hash, ext, url, provider, updated string
	names                                         []string // stored names of the file and its formats
}

// look returns the stored file with this id.
func (l *Library) look(id uint64) (old existing, err error) {
	err = l.store.View(func(s *store.Snapshot) error {
		old, _, err = l.find(s, id)
		return err
	})
	return old, err
}

// find does the work of look within a snapshot. It returns errNoEntity if no file has this id.
func (l *Library) find(s *store.Snapshot, id uint64) (existing, store.Record, error) {
	doc, status, locale, ok := s.DocumentByRow(l.typ, id)
	if !ok {
		return existing{}, store.Record{}, errNoEntity
	}
	row := s.Version(l.typ, doc, status, locale)
	return existingIn(l.typ, row), row, nil
}

// existingIn returns the stored file that a row describes.
func existingIn(t *contenttypes.ContentType, row store.Record) existing {
	text := func(name string) string {
		v, _ := value(row, t, name).(string)
		return v
	}
	old := existing{documentID: text("documentId"), hash: text("hash"), ext: text("ext"), url: text("url"),
		provider: text("provider"), updated: text("updatedAt")}
	add := func(url string) {
		if name := path.Base(url); isStoredName(name) {
			old.names = append(old.names, name)
		}
	}
	add(old.url)
	if formats, ok := value(row, t, "formats").(*jsontree.Object); ok {
		for _, key := range formats.Keys {
			if f, ok := formats.Value(key).(*jsontree.Object); ok {
				add(f.Text("url"))
			}
		}
	}
	return old
}

// LocalNames returns the names of the files in the directory of uploads that belong to the document with this
// documentId; "" stands for all documents. t is the content-type of files.
func LocalNames(s *store.Snapshot, t *contenttypes.ContentType, documentID string) (names []string, err error) {
	q := &store.Query{Type: t, Limit: -1}
	if documentID != "" {
		if q.Filter, err = documents.FilterOf(t, documents.Eq("documentId", documentID)); err != nil {
			return nil, err
		}
	}
	page, err := s.Find(q)
	if err != nil {
		return nil, err
	}
	for _, row := range page.Rows {
		if file := existingIn(t, row); file.provider == (*local)(nil).Provider() {
			names = append(names, file.names...)
		}
	}
	return names, nil
}

// Missing counts the documents of files in the directory of uploads that lacks the file or a format of it.
func (l *Library) Missing(ctx context.Context) (count int, err error) {
	root := l.dir.root()
	err = l.store.View(func(s *store.Snapshot) error {
		q := &store.Query{Type: l.typ, Limit: -1}
		return s.Each(q, func(int64) error { return nil }, func(rows []store.Record) error {
			for _, row := range rows {
				if f := existingIn(l.typ, row); f.provider == l.local.Provider() &&
					slices.ContainsFunc(f.names, func(name string) bool {
						_, err := root.Lstat(name)
						return errors.Is(err, fs.ErrNotExist)
					}) {
					count++
				}
			}
			return ctx.Err()
		})
	})
	return count, err
}

func value(row store.Record, t *contenttypes.ContentType, name string) any {
	v, err := jsontree.Parse(row.JSON(t.Attribute(name)), jsontree.MaxDepth)
	if err != nil {
		return nil
	}
	return v
}

// without returns the stored names of the file and its formats that are not in others.
func (e existing) without(others []string) (rest []string) {
	for _, name := range e.names {
		if !slices.Contains(others, name) {
			rest = append(rest, name)
		}
	}
	return rest
}
