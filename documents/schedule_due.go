package documents

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
	"lectern/store"
)

// DueSchedules returns the pending schedules whose time has come at now, the earliest first and those of the same time
// in the order of their creation. It skips the first offset of them and returns at most limit. next is when the first
// of the others is due; zero if there is none.
func (s *Service) DueSchedules(now time.Time, offset, limit int) (due []Schedule, next time.Time, err error) {
	l := &s.schedules
	if l.typ == nil {
		return nil, next, nil
	}
	at := now.UTC().Format(contenttypes.TimeFormat)
	find := func(snap *store.Snapshot, op store.Op, offset, limit int) ([]store.Record, error) {
		page, err := snap.Find(&store.Query{
			Type: l.typ, Sort: []store.SortKey{{Path: []*contenttypes.Attribute{l.at}}}, Offset: offset, Limit: limit,
			Filter: store.And{
				store.Compare{Attr: l.at, Op: op, Values: []any{at}},
				store.Compare{Attr: l.state, Op: store.Eq, Values: []any{pending}},
			},
		})
		return page.Rows, err
	}
	err = s.store.View(func(snap *store.Snapshot) error {
		due, next = nil, time.Time{}
		rows, err := find(snap, store.Lte, offset, limit)
		if err != nil {
			return err
		}
		for _, r := range rows {
			due = append(due, l.read(r))
		}
		rows, err = find(snap, store.Gt, 0, 1)
		if len(rows) > 0 {
			next = l.read(rows[0]).At
		}
		return err
	})
	return due, next, err
}

// An Outcome is what became of a schedule that was due.
type Outcome uint8

const (
	// CarriedOut means that the document was published or unpublished, and its schedule removed, in one batch.
	CarriedOut Outcome = iota
	// NothingToUnpublish means that the document had no published version. The schedule was removed.
	NothingToUnpublish
	// Cancelled means that the schedule was gone: somebody cancelled it, replaced it, or deleted the document.
	Cancelled
	// Refused means that the document cannot be published. The schedule keeps the error, and is not tried again.
	Refused
)

// These errors end the transaction of a schedule that is due without a change.
var (
	errCancelled          = errors.New("the schedule is gone")
	errNothingToUnpublish = errors.New("the document has no published version")
)

// CarryOut carries out a schedule that is due, as Publish and Unpublish would, hooks included. The change of the
// document and the removal of the schedule are one batch, so the schedule is carried out exactly once however often
// CarryOut is called and whenever the server is killed. It does not check permissions: those of the caller were checked
// when the schedule was made.
//
// For Refused, why is the error that the schedule keeps. If err is not nil, the schedule stays pending: the cause may
// pass.
func (s *Service) CarryOut(ctx context.Context, sc Schedule) (outcome Outcome, why *apierror.Error, err error) {
	t := s.model.Type(sc.ContentType)
	switch {
	case t == nil:
		err = apierror.Application("there is no content-type " + sc.ContentType + " any more")
	case !t.DraftAndPublish:
		err = apierror.Application("documents of " + sc.ContentType + " have no drafts any more")
	default:
		err = s.carryOut(store.WithPrincipal(ctx, sc.By), t, sc)
	}
	switch {
	case errors.Is(err, errCancelled):
		return Cancelled, nil, nil
	case errors.Is(err, errNothingToUnpublish):
		outcome, err = s.endSchedule(ctx, sc.ID, NothingToUnpublish, nil)
	case errors.As(err, &why) && why.Status < 500 && why.Status != http.StatusTooManyRequests:
		outcome, err = s.endSchedule(ctx, sc.ID, Refused, why)
	}
	return outcome, why, err
}

// carryOut publishes or unpublishes the document of a schedule, and removes the schedule.
func (s *Service) carryOut(ctx context.Context, t *contenttypes.ContentType, sc Schedule) error {
	l, w := &s.schedules, Write{Type: t, DocumentID: sc.Document, Locale: sc.Locale, Status: store.Published}
	do := (*writing).publishDraft
	if sc.Action == UnpublishAction {
		w.Status, do = store.Draft, (*writing).unpublish
	}
	return s.write(ctx, w, sc.Action, inTransition(func(wr *writing) error {
		r := l.find(wr.tx.Snapshot, sc.ID)
		if !r.Exists() {
			return errCancelled
		}
		if sc.Action == UnpublishAction && wr.row(wr.published()) == nil {
			return errNothingToUnpublish
		}
		l.drop(&wr.batch, r, sc.ID)
		return do(wr)
	}))
}

// endSchedule ends a schedule that was not carried out: it records the error why, or removes the schedule if there is
// none. The outcome is Cancelled if the schedule is gone.
func (s *Service) endSchedule(ctx context.Context, id string, outcome Outcome, why *apierror.Error) (Outcome, error) {
	l := &s.schedules
	found, err := s.changeSchedule(ctx, nil, id, func(tx *store.Tx, r store.Record, b *store.Batch) error {
		if why == nil {
			l.drop(b, r, id)
			return nil
		}
		row, wr := r.Decode(), &writing{s: s, tx: tx, t: l.typ}
		wr.begin(r.Doc(), id)
		wr.setTime(row, "updatedAt")
		row.Values[l.state.Index].JSON = jsontree.AppendString(nil, failed)
		row.Values[l.failure.Index].JSON = jsontree.Append(nil, recorded(why))
		b.PutRow(row)
		b.Log(l.typ, id, store.Updated)
		return nil
	})
	switch {
	case err != nil:
		return outcome, fmt.Errorf("record what became of a schedule: %w", err)
	case !found:
		return Cancelled, nil
	}
	return outcome, nil
}

// maxRecorded is how many issues of a validation error a schedule keeps.
const maxRecorded = 20

// recorded returns an error as a schedule keeps it: {name, message, details} without the values of the document.
func recorded(e *apierror.Error) *jsontree.Object {
	o := jsontree.NewObject()
	o.Set("name", e.Name)
	o.Set("message", e.Message)
	details := jsontree.NewObject()
	if given, ok := e.Details.(*jsontree.Object); ok {
		if list, ok := given.Value("errors").([]any); ok {
			list = list[:min(len(list), maxRecorded)]
			kept := make([]any, 0, len(list))
			for _, item := range list {
				kept = append(kept, withoutValue(item))
			}
			details.Set("errors", kept)
		}
	}
	o.Set("details", details)
	return o
}

func withoutValue(issue any) any {
	o, ok := issue.(*jsontree.Object)
	if !ok {
		return issue
	}
	kept := jsontree.NewObject()
	for _, key := range o.Keys {
		if key != "value" {
			kept.Set(key, o.Value(key))
		}
	}
	return kept
}
