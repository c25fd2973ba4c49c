package execution

import (
	"errors"
	"net/http"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/media"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

// fileUses are the media attributes of content-types: those through which a file is used.
func fileUses(m *contenttypes.Model) []*contenttypes.Attribute {
	var uses []*contenttypes.Attribute
	for _, t := range m.Types {
		for _, a := range t.Attributes {
			if a.Type == contenttypes.Media && !a.Private && !t.Internal {
				uses = append(uses, a)
			}
		}
	}
	return uses
}

// usesOf finds the documents that use files, as far as the caller may find them.
func (x *execution) usesOf(files []store.Record, into *store.Related) {
	into.Set(nil)
	into.Starts = into.Starts[:1]
	for _, file := range files {
		for _, use := range x.engine.uses {
			owner, _ := use.OwnerType()
			if !x.access.Allows(owner, "find") {
				continue
			}
			plane := x.status
			if !use.HasDraftLinks() {
				plane = store.Published
			}
			x.snap.LinksTo(use, plane, file.Ref(), func(l store.Link) bool {
				if r := x.snap.Version(owner, l.From.Doc, x.status, l.From.Locale); r.Exists() {
					into.Items = append(into.Items, int32(len(into.Rows)))
					into.Rows = append(into.Rows, r)
				}
				return x.rows+len(into.Rows) <= x.most
			})
		}
		into.Starts = append(into.Starts, int32(len(into.Items)))
	}
}

var errNoFile = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Entity not found"}

// file changes what is said of a file, or removes it, and prints it.
func (m *mutation) file() error {
	if m.engine.media == nil {
		return errNoFile
	}
	id, err := strconv.ParseUint(m.given.text("id"), 10, 64)
	if m.field.spec.Kind == schema.DeleteFile {
		if err == nil {
			err = m.engine.media.Delete(m.ctx, id, m.show)
		} else {
			err = media.ErrNoFile
		}
		if errors.Is(err, media.ErrNoFile) {
			m.again()
			return nil
		}
		return err
	}
	if err != nil {
		return errNoFile
	}
	var info media.Info
	if given := m.given.object("info"); given != nil {
		if info, err = media.ReadInfo(given); err != nil {
			return err
		}
	}
	return m.engine.media.Edit(m.ctx, id, info, m.show)
}

// show prints the row that a mutation is about.
func (m *mutation) show(s *store.Snapshot, row store.Record) error {
	m.again()
	m.snap, m.status = s, store.Published
	m.printed = m.row(row)
	return m.failed
}
