package execution

import (
	"errors"
	"net/http"
	"strconv"

	"lectern/documents/apierror"
	"lectern/media"
	"lectern/shadowcrud/graphql/schema"
	"lectern/store"
)

var errNoFile = &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError", Message: "Entity not found"}

// file updates the name, caption and other information of a file, or deletes the file, and prints it.
func (m *mutation) file() error {
	if m.engine.media == nil {
		return errNoFile
	}
	id, err := strconv.ParseUint(m.args.Text("id"), 10, 64)
	if m.field.Spec.Kind == schema.DeleteFile {
		if err == nil {
			err = m.engine.media.Delete(m.Ctx, m.keptBy(nil), id, m.show, m.access)
		} else {
			err = media.ErrNoFile
		}
		if errors.Is(err, media.ErrNoFile) {
			m.takeBack()
			return nil
		}
		return err
	}
	if err != nil {
		return errNoFile
	}
	var info media.Info
	if given := m.args.Object("info"); given != nil {
		if info, err = media.ReadInfo(given); err != nil {
			return err
		}
	}
	return m.engine.media.Edit(m.Ctx, m.keptBy(nil), id, info, m.show)
}

// show prints the row of a file. It is the callback of media.Library, called within its transaction.
func (m *mutation) show(s *store.Snapshot, row store.Record) error {
	m.takeBack()
	m.loader.Snapshot, m.loader.Status = s, store.Published
	m.printed = m.row(row)
	return m.Failed
}
