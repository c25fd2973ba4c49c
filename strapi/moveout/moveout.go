// Package moveout writes all content of a project as an archive that `strapi import` takes.
//
// Write makes one pass over the rows: each row becomes an entity, with its components inside, and the links that it
// owns. Drafts and published versions are rows of their own, as in Strapi, so a link between two documents becomes one
// link for each pair of versions that show it. Ids of rows and components stay. A link to a document that has no
// version of that status is left out, since Strapi has no place for it.
//
// Reading the source: row.go makes entities, links.go links, folders.go the folders of files, schema.go the
// definitions, assets.go copies the uploaded files.
package moveout

import (
	"context"
	"fmt"
	"time"

	"lectern/contenttypes"
	"lectern/internal/tempfile"
	"lectern/jsontree"
	"lectern/store"
	"lectern/strapi/archive"
)

// strapiVersion is the version of Strapi whose archives Write follows.
const strapiVersion = "5.54.0"

// A Source is the content to write.
type Source struct {
	Model         *contenttypes.Model
	Store         *store.Store
	DefaultLocale string

	// Open opens an uploaded file, or one of its formats, by the name under which it is stored. It is nil if there are
	// no uploads. The caller keeps files from being removed until Write returns.
	Open func(ctx context.Context, name string) (File, error)

	// Dir is a directory for a temporary file with the rows of uploaded files.
	Dir string

	// Reserve is called with the memory that is needed in total, before more than that is used. An error ends Write. It
	// may be nil.
	Reserve func(bytes int64) error
}

// Write writes all content to w and closes w. Schemas, rows and links come from one snapshot of the store. The uploaded
// files are copied after it has ended, since a long snapshot would keep the store from reusing its pages. Memory grows
// only with the longest row.
func Write(ctx context.Context, w *archive.Writer, s Source) error {
	files, err := tempfile.New(s.Dir)
	if err != nil {
		return err
	}
	defer files.Close()
	now := time.Now().UTC().Format(contenttypes.TimeFormat)
	e := &exporter{ctx: ctx, w: w, Source: s, now: now, folders: folderTree{}, files: newFileList(files)}
	if err := e.reserve(fixedMemory); err != nil {
		return err
	}
	if err := e.schemas(); err != nil {
		return err
	}
	if err := s.Store.View(e.rows); err != nil {
		return err
	}
	if err := e.assets(); err != nil {
		return err
	}
	if err := e.settings(); err != nil {
		return err
	}
	return w.Close(archive.Metadata{CreatedAt: now, Version: strapiVersion})
}

// fixedMemory is about what a Writer and the compression take, whatever the content is.
const fixedMemory = 16 << 20

// An exporter writes the content of one Source.
type exporter struct {
	ctx context.Context
	w   *archive.Writer
	s   *store.Snapshot
	Source

	now     string // when the archive is made
	folders folderTree
	files   *fileList
	row     []byte // memory of the current row
	room    int64  // bytes that are reserved
}

// reserve makes sure that bytes are reserved.
func (e *exporter) reserve(bytes int64) error {
	if e.Reserve == nil || bytes <= e.room {
		return nil
	}
	if err := e.Reserve(bytes); err != nil {
		return err
	}
	e.room = bytes
	return nil
}

// isMoved reports whether the archive has the rows of a type. It has none of types that Strapi does not know. API
// tokens are known to it, but their keys cannot be.
func isMoved(t *contenttypes.ContentType) bool {
	return !t.Internal || t.UID == contenttypes.PermissionUID
}

// rows writes all rows and links of a snapshot.
func (e *exporter) rows(s *store.Snapshot) error {
	e.s = s
	for _, t := range e.Model.Types {
		if !isMoved(t) {
			continue
		}
		for _, status := range store.StatusesOf(t) {
			err := store.EachRow(e.ctx, s, t, status, func(r store.Record) error {
				if err := e.document(t, r); err != nil {
					return fmt.Errorf("document %s: %w", r.JSON(t.Attribute("documentId")), err)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("export %s: %w", t.UID, err)
			}
		}
	}
	return nil
}

// settings writes the settings that Strapi does not set by itself at its next start.
func (e *exporter) settings() error {
	if e.Model.Type(contenttypes.LocaleUID) == nil {
		return nil
	}
	return e.w.WriteSetting(archive.Setting{Type: "core-store", Value: jsontree.ObjectOf(
		"id", jsontree.Number("1"), "key", "plugin_i18n_default_locale", "value", e.DefaultLocale, "type", "string",
		"environment", nil, "tag", nil,
	)})
}
