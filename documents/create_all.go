package documents

import (
	"context"
	"errors"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/permission"
	"lectern/store"
)

// An Attachment identifies the relation or media attribute of an existing version to which CreateAll links new
// documents. Row is the id of that version's row.
type Attachment struct {
	Attr *contenttypes.Attribute // a relation or media attribute of Type
	Type *contenttypes.ContentType
	Row  uint64
	// Access is of the caller, whose rules of update hold for the version; nil: there are none.
	Access *permission.Access
}

// ErrNoRow means that the version to which CreateAll was to link documents does not exist.
var ErrNoRow = errors.New("there is no such row")

// CreateAll creates documents of one type in one transaction: all of them or none. If at is not nil, it links them to
// that attribute in their order. They are added at the end of a list, or the last of them replaces the one linked
// document. If the row of at does not exist, none is created, and the error is ErrNoRow. Of several Once, that of the
// first write counts.
func (s *Service) CreateAll(ctx context.Context, writes []Write, at *Attachment) error {
	if len(writes) == 0 {
		return nil
	}
	ctx, release, err := s.LockHooked(ctx, writes[0].Type)
	if err != nil {
		return err
	}
	defer release()
	list := make([]*Prepared, len(writes))
	for i, w := range writes {
		if list[i], err = s.PrepareHooked(ctx, CreateAction, w); err != nil {
			return err
		}
	}
	err = s.store.WriteOnce(ctx, writes[0].Once, func(tx *store.Tx) error {
		refs := make([]store.Ref, len(writes))
		for i, p := range list {
			err := s.run(tx, p, func(wr *writing) error {
				err := wr.saveNew()
				refs[i] = wr.ref(wr.locale)
				return err
			})
			if err != nil {
				return err
			}
		}
		if at == nil {
			return nil
		}
		return s.attach(tx, at, refs)
	})
	return s.afterAll(ctx, list, err)
}

// attach adds links to refs to the attribute of an existing version.
func (s *Service) attach(tx *store.Tx, at *Attachment, refs []store.Ref) error {
	doc, status, locale, ok := tx.DocumentByRow(at.Type, at.Row)
	if !ok {
		return ErrNoRow
	}
	wr := &writing{s: s, tx: tx, w: &Write{Type: at.Type}, t: at.Type, locale: locale}
	row := tx.Version(at.Type, doc, status, locale)
	wr.limit = at.Access.LimitOf(at.Type, UpdateAction.String())
	wr.written = version{status, locale}
	switch l := wr.limit; {
	case l == nil:
	case l.Where != nil && !meets(tx.Snapshot, at.Type, doc, wr.written, l.Where):
		if sees(tx.Snapshot, at.Type, doc, at.Access) {
			return apierror.Forbidden()
		}
		return ErrNoRow
	case !l.Writes(at.Attr), l.Sets(at.Attr):
		return apierror.ForbiddenKey(at.Attr.Name, at.Attr.Name, fromBody, "")
	}
	if at.Access != nil && status == store.Published && !at.Access.Publishes(at.Type) {
		return errPublishes
	}
	wr.begin(doc, row.DocumentID())
	if !at.Attr.ToMany() {
		refs = refs[len(refs)-1:]
	}
	in := &linkInput{attr: at.Attr}
	for _, ref := range refs {
		in.connect = append(in.connect, linkItem{connection: connection{ref: ref}})
	}
	if found := wr.checkFiles(at.Attr, []string{at.Attr.Name}, refs); len(found) > 0 {
		return issues.Error(found...)
	}
	if err := wr.relate(in, wr.ref(locale), status); err != nil {
		return err
	}
	wr.batch.Log(at.Type, wr.id, store.Updated)
	return wr.apply()
}
