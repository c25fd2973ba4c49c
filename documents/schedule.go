package documents

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// A Timing says when a publication or unpublication is to be carried out, and who asked for it. A zero time is none.
type Timing struct {
	PublishAt, UnpublishAt time.Time
	By                     store.Principal
}

// MaxLateness is how far in the past the time of a schedule may be. It tolerates the difference between the clocks of
// client and server.
const MaxLateness = time.Minute

// ReadTiming reads the body of an action on a document: {"data": {"publishAt": …, "unpublishAt": …}}. allowed lists the
// keys that data may have; none if the action cannot be scheduled. It returns nil if the body asks for no time. Unknown
// keys are errors, because ignoring a misspelled time would carry out the action at once.
func ReadTiming(body any, allowed ...string) (*Timing, error) {
	if body == nil {
		return nil, nil
	}
	o, ok := body.(*jsontree.Object)
	if !ok {
		if len(allowed) == 0 {
			return nil, apierror.Validation("the body must be an object, or there must be none")
		}
		return nil, apierror.Validation(`the body is an object such as {"data": {"` + allowed[0] +
			`": "2030-01-01T09:00:00Z"}}`)
	}
	for _, key := range o.Keys {
		if key != "data" {
			return nil, apierror.UnknownKey(key, "", fromBody, "")
		}
	}
	data, ok := o.Value("data").(*jsontree.Object)
	if !ok && o.Value("data") != nil {
		return nil, apierror.Validation("data must be an object")
	}
	if data == nil {
		return nil, nil
	}
	for _, key := range data.Keys {
		if !slices.Contains(allowed, key) {
			return nil, apierror.UnknownKey(key, "", fromBody, "")
		}
	}
	return TimingOf(data.Value)
}

// TimingOf returns the times that value returns for publishAt and unpublishAt, each nil or a text as RFC 3339 defines
// it. It returns nil if both are nil.
func TimingOf(value func(key string) any) (*Timing, error) {
	var t Timing
	for _, m := range []struct {
		key  string
		into *time.Time
	}{{"publishAt", &t.PublishAt}, {"unpublishAt", &t.UnpublishAt}} {
		v := value(m.key)
		if v == nil {
			continue
		}
		text, _ := v.(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.UTC().Year() > 9999 || at.UTC().Year() < 1 {
			return nil, apierror.Validation(
				m.key + " must be a time with its zone as RFC 3339 defines it, such as 2030-01-01T09:00:00Z")
		}
		*m.into = roundUp(at.UTC())
	}
	if t == (Timing{}) {
		return nil, nil
	}
	return &t, nil
}

// roundUp returns a time with whole milliseconds, the precision of the store. It is not before t, so that nothing is
// carried out early.
func roundUp(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); !whole.Equal(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}

// check returns an error if a time of t is past, if the unpublication does not come after the publication, or if the
// caller may not unpublish.
func (t *Timing) check(w *Write, now time.Time) error {
	if !t.UnpublishAt.IsZero() && w.Access != nil && !w.Access.Allows(w.Type, UnpublishAction.String()) {
		return apierror.Forbidden()
	}
	for _, m := range []struct {
		key string
		at  time.Time
	}{{"publishAt", t.PublishAt}, {"unpublishAt", t.UnpublishAt}} {
		if !m.at.IsZero() && m.at.Before(now.Add(-MaxLateness)) {
			return apierror.Validation(m.key + " is in the past: it is " + now.UTC().Format(contenttypes.TimeFormat) +
				" at the server")
		}
	}
	if !t.PublishAt.IsZero() && !t.UnpublishAt.IsZero() && !t.UnpublishAt.After(t.PublishAt) {
		return apierror.Validation("unpublishAt must be later than publishAt")
	}
	return nil
}

// A Schedule is a publication or unpublication that is to be carried out later, or that has failed. It is the document
// of a built-in type.
type Schedule struct {
	ID          string // documentId of the schedule itself
	Action      Action // PublishAction or UnpublishAction
	At          time.Time
	ContentType string // uid
	Document    string // documentId
	Locale      string // "" if the type is not localized
	By          store.Principal
}

// schedules reads and writes the documents of the type of schedules.
type schedules struct {
	typ                                              *contenttypes.ContentType
	action, at, contentType, document, locale        *contenttypes.Attribute
	state, failure, principalKind, principalName, id *contenttypes.Attribute
}

// The states of a schedule.
const (
	pending = "pending"
	failed  = "failed"
)

// schedulesOf returns the schedules of a model; typ is nil if the model has no such type.
func schedulesOf(m *contenttypes.Model) (l schedules) {
	if l.typ = m.Type(contenttypes.ScheduleUID); l.typ == nil {
		return l
	}
	for name, a := range map[string]**contenttypes.Attribute{
		"action": &l.action, "at": &l.at, "contentType": &l.contentType, "document": &l.document,
		"documentLocale": &l.locale,
		"state":          &l.state, "error": &l.failure, "principalKind": &l.principalKind,
		"principalName": &l.principalName,
		"documentId":    &l.id,
	} {
		*a = l.typ.Attribute(name)
	}
	return l
}

// read returns the Schedule in a row.
func (l *schedules) read(r store.Record) Schedule {
	value := func(a *contenttypes.Attribute) string { s, _ := values.Decode(r.JSON(a)).(string); return s }
	at, _ := time.Parse(time.RFC3339, value(l.at)) // written by put
	sc := Schedule{
		ID: value(l.id), Action: PublishAction, At: at, ContentType: value(l.contentType), Document: value(l.document),
		Locale: value(l.locale),
		By:     store.Principal{Kind: value(l.principalKind), Name: value(l.principalName)},
	}
	if value(l.action) == UnpublishAction.String() {
		sc.Action = UnpublishAction
	}
	return sc
}

// of calls yield with the schedules of a document, in all locales, until yield returns false.
func (l *schedules) of(s *store.Snapshot, t *contenttypes.ContentType, documentID string,
	yield func(store.Record, Schedule) bool) {
	if l.typ == nil {
		return
	}
	s.Equal(l.typ, store.Published, "", l.document, jsontree.AppendString(nil, documentID), func(r store.Record) bool {
		sc := l.read(r)
		return sc.ContentType != t.UID || yield(r, sc)
	})
}

// find returns the row of the schedule with this documentId; it does not exist if there is none.
func (l *schedules) find(s *store.Snapshot, id string) store.Record {
	if doc, ok := s.Document(l.typ, id); ok {
		return s.Version(l.typ, doc, store.Published, "")
	}
	return store.Record{}
}

// drop adds the removal of a schedule to a batch.
func (l *schedules) drop(b *store.Batch, r store.Record, id string) {
	b.DeleteRow(l.typ, r.Doc(), store.Published, "")
	b.Log(l.typ, id, store.Deleted)
}

// schedule adds a schedule for the document to the batch. It replaces the one with the same action and locale.
func (wr *writing) schedule(action Action, at time.Time) error {
	l := &wr.s.schedules
	if l.typ == nil {
		return fmt.Errorf("schedule: the model has no type %s", contenttypes.ScheduleUID)
	}
	l.of(wr.tx.Snapshot, wr.t, wr.id, func(r store.Record, old Schedule) bool {
		if old.Action == action && old.Locale == wr.locale {
			l.drop(&wr.batch, r, old.ID)
		}
		return true
	})
	made := &writing{s: wr.s, tx: wr.tx, t: l.typ}
	made.create(wr.tx.NewDoc(), wr.s.documentIDs.next())
	row := made.newRow(version{status: store.Published})
	made.setTime(row, "publishedAt")
	by := wr.w.Timing.By
	for a, text := range map[*contenttypes.Attribute]string{
		l.action: action.String(), l.at: at.Format(contenttypes.TimeFormat), l.contentType: wr.t.UID, l.document: wr.id,
		l.locale: wr.locale,
		l.state:  pending, l.principalKind: by.Kind, l.principalName: by.Name,
	} {
		if text != "" {
			row.Values[a.Index].JSON = jsontree.AppendString(nil, text)
		}
	}
	wr.batch.PutRow(row)
	wr.batch.Log(l.typ, made.id, store.Created)
	return nil
}

// unschedule adds the removal of the schedules of the document in these locales to the batch.
func (wr *writing) unschedule(locales []string) {
	if !wr.t.DraftAndPublish {
		return
	}
	l := &wr.s.schedules
	l.of(wr.tx.Snapshot, wr.t, wr.id, func(r store.Record, sc Schedule) bool {
		if slices.Contains(locales, sc.Locale) {
			l.drop(&wr.batch, r, sc.ID)
		}
		return true
	})
}

// defers reports whether an action is to be carried out later. Then no hooks are called now: they are when it is
// carried out, which is also when the document is checked.
func (t *Timing) defers(action Action) bool {
	return t != nil && (action == UnpublishAction || !t.PublishAt.IsZero())
}

// timed publishes or unpublishes a document, now or later.
func (s *Service) timed(ctx context.Context, w Write, action Action) error {
	if w.Timing == nil {
		return s.transition(ctx, w, action, timing(action, nil))
	}
	if err := w.Timing.check(&w, s.Now()); err != nil {
		return err
	}
	if !w.Timing.defers(action) {
		return s.scheduled(s.transition(ctx, w, action, timing(action, w.Timing)))
	}
	p, err := s.prepare(ctx, w, action, nil)
	if err != nil {
		return err
	}
	return s.scheduled(s.store.WriteOnce(ctx, w.Once,
		func(tx *store.Tx) error { return s.run(tx, p, inTransition(timing(action, w.Timing))) }))
}

// timing returns what publishes or unpublishes, now or later.
func timing(action Action, t *Timing) func(*writing) error {
	switch {
	case t.defers(action):
		return (*writing).actLater
	case action == PublishAction:
		return (*writing).publishNow
	}
	return (*writing).unpublish
}

// publishNow publishes the draft, and schedules its unpublication if that has a time.
func (wr *writing) publishNow() error {
	if err := wr.publishDraft(); err != nil {
		return err
	}
	return wr.unpublishLater()
}

// actLater schedules what has a time.
func (wr *writing) actLater() error {
	draft := version{store.Draft, wr.locale}
	if wr.written = draft; wr.row(draft) == nil {
		wr.written = wr.published()
	}
	at := wr.w.Timing.PublishAt
	if wr.row(wr.written) == nil || !at.IsZero() && wr.row(draft) == nil {
		return apierror.NotFound()
	}
	if !at.IsZero() {
		if err := wr.schedule(PublishAction, at); err != nil {
			return err
		}
	}
	return wr.unpublishLater()
}

// unpublishLater adds the schedule of the unpublication to the batch, if it has a time.
func (wr *writing) unpublishLater() error {
	if t := wr.w.Timing; t != nil && !t.UnpublishAt.IsZero() {
		return wr.schedule(UnpublishAction, t.UnpublishAt)
	}
	return nil
}

// scheduled reports that schedules were written, unless err is not nil, and returns err.
func (s *Service) scheduled(err error) error {
	if err == nil && s.Scheduled != nil {
		s.Scheduled()
	}
	return err
}

// EachSchedule calls yield with the row and the action of each schedule of the document that r is a version of, in the
// locale of r, until yield returns false. Answers may show a schedule only to callers who may use its action.
func (s *Service) EachSchedule(snap *store.Snapshot, r store.Record, yield func(store.Record, Action) bool) {
	s.schedules.of(snap, r.Type(), r.DocumentID(), func(row store.Record, sc Schedule) bool {
		return sc.Locale != r.Locale() || yield(row, sc.Action)
	})
}

// CancelSchedule deletes the schedule with this documentId. A missing one, and one that the caller may not see, are an
// Error 404.
func (s *Service) CancelSchedule(ctx context.Context, once *store.Once, id string, access *permission.Access) error {
	found, err := s.changeSchedule(ctx, once, id, func(_ *store.Tx, r store.Record, b *store.Batch) error {
		sc := s.schedules.read(r)
		if !access.AllowsAction(sc.ContentType+"."+sc.Action.String()) || s.limitsSchedules(access, sc) {
			return apierror.NotFound()
		}
		s.schedules.drop(b, r, id)
		return nil
	})
	if err == nil && !found {
		err = apierror.NotFound()
	}
	return err
}

// changeSchedule applies the batch that change makes for the schedule with this documentId, if there is one.
func (s *Service) changeSchedule(ctx context.Context, once *store.Once, id string,
	change func(*store.Tx, store.Record, *store.Batch) error) (found bool, err error) {
	err = s.store.WriteOnce(ctx, once, func(tx *store.Tx) error {
		r := s.schedules.find(tx.Snapshot, id)
		if found = r.Exists(); !found {
			return nil
		}
		var b store.Batch
		if err := change(tx, r, &b); err != nil {
			return err
		}
		return tx.Apply(&b)
	})
	return found, err
}

// limitsSchedules reports whether rules keep a caller from schedules like this one.
func (s *Service) limitsSchedules(access *permission.Access, sc Schedule) bool {
	t := s.model.Type(sc.ContentType)
	return t != nil && hidesSchedules(access, t, sc.Action)
}

// hidesSchedules reports whether the caller may see and cancel no schedules of an action on documents of a type: those
// of whom rules limit what they may see of the type, or where they may use the action, cannot.
func hidesSchedules(access *permission.Access, t *contenttypes.ContentType, action Action) bool {
	l := access.LimitOf(t, action.String())
	return l != nil && l.Where != nil || access.Visible(t, store.Draft) != nil
}

// VisibleSchedules returns a filter for the schedules that a caller may see and cancel: those whose action they may use
// themselves. nil means all of them. ok is false if the caller may publish and unpublish nothing.
func VisibleSchedules(m *contenttypes.Model, access *permission.Access) (visible store.Filter, ok bool) {
	if access == permission.FullAccess {
		return nil, true
	}
	t := m.Type(contenttypes.ScheduleUID)
	if t == nil {
		return nil, false
	}
	var some store.Or
	for _, action := range []Action{PublishAction, UnpublishAction} {
		var uids []any
		for _, typ := range m.Types {
			if typ.DraftAndPublish && access.Allows(typ, action.String()) && !hidesSchedules(access, typ, action) {
				uids = append(uids, typ.UID)
			}
		}
		if len(uids) > 0 {
			some = append(some, store.And{
				store.Compare{Attr: t.Attribute("action"), Op: store.Eq, Values: []any{action.String()}},
				store.Compare{Attr: t.Attribute("contentType"), Op: store.In, Values: uids},
			})
		}
	}
	return some, len(some) > 0
}
