package remote

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lectern/jsontree"
)

const (
	maxRounds  = 5  // of reading again what has changed
	rereadSize = 50 // rows that are asked for by their ids at once
)

// A stamp tells the states of a version apart.
type stamp struct {
	id        uint64
	updatedAt string
}

// readChanges compares the staged rows with those of the server, and reads again what has changed since, until nothing
// has.
func (r *reader) readChanges(ctx context.Context, listings []*listing) error {
	for range maxRounds {
		changed := make([]bool, len(listings))
		err := r.each(ctx, len(listings), func(ctx context.Context, i int) (err error) {
			changed[i], err = r.readChangesOf(ctx, listings[i])
			return err
		})
		if err != nil {
			return err
		}
		if !slices.Contains(changed, true) {
			return nil
		}
		if err := r.rereadLinked(ctx, listings); err != nil {
			return err
		}
	}
	for _, l := range listings {
		if !l.bare && l.counted != l.listed {
			return fmt.Errorf("GET %s: the server counts %d rows, and lists %d", l.path, l.counted, l.listed)
		}
	}
	return fmt.Errorf("%w: run the command again, it goes on from here, and stop editing for that time", errChanged)
}

// readChangesOf reads again what has changed in a listing, and reports whether anything had.
func (r *reader) readChangesOf(ctx context.Context, l *listing) (bool, error) {
	staged, pages, err := r.staged(l)
	if err != nil {
		return false, err
	}
	if l.schema.single {
		return r.rereadSingle(ctx, l, staged, pages)
	}
	if !l.bare {
		if same, err := r.isUnchanged(ctx, l, staged); same || err != nil {
			return false, err
		}
	}
	listed, err := r.stamps(ctx, l)
	if err != nil {
		return false, err
	}
	var gone, changed []uint64
	for id := range staged {
		if _, there := listed[id]; !there {
			gone = append(gone, id)
		}
	}
	for id, s := range listed {
		if staged[id] != s {
			changed = append(changed, id)
		}
	}
	slices.Sort(gone)
	slices.Sort(changed)
	l.listed = int64(len(listed))
	if len(gone)+len(changed) == 0 {
		return !l.bare && l.counted != l.listed, nil
	}
	earlier := func(row *jsontree.Object) error {
		s, err := stampOf(row)
		if listed[s.id] != s {
			r.addLinked(l, row)
		}
		return err
	}
	if err := r.eachLive(l, earlier, nil); err != nil {
		return false, err
	}
	return true, r.reread(ctx, l, pages, gone, changed)
}

// staged returns the state of the rows of a listing that were read and are still there, and how many pages there are.
func (r *reader) staged(l *listing) (map[uint64]stamp, int, error) {
	rows := map[uint64]stamp{}
	pages, err := r.staging.eachRow(l, func(row *jsontree.Object) error {
		s, err := stampOf(row)
		rows[s.id] = s
		return err
	}, func(id uint64) { delete(rows, id) })
	return rows, pages, err
}

func stampOf(row *jsontree.Object) (stamp, error) {
	id, err := idOf(row)
	return stamp{id, strings.Clone(row.Text("updatedAt"))}, err
}

// isUnchanged asks for the number of rows, the row with the highest id, and the one that was changed last. Every change
// of content changes one of the three: a publication and a new document have a new id.
func (r *reader) isUnchanged(ctx context.Context, l *listing, staged map[uint64]stamp) (bool, error) {
	newest, err := r.request(ctx, l, 1, []string{"sort=id:desc", "fields[0]=updatedAt"})
	if err != nil {
		return false, err
	}
	l.counted, l.listed = newest.total, newest.total
	latest, err := r.request(ctx, l, 1, []string{"sort=updatedAt:desc", "fields[0]=updatedAt"})
	if err != nil || newest.total != int64(len(staged)) || len(newest.rows) == 0 {
		return newest.total == 0 && len(staged) == 0, err
	}
	for _, row := range slices.Concat(newest.rows, latest.rows) {
		s, err := stampOf(row)
		if err != nil || staged[s.id] != s {
			return false, err
		}
	}
	for id := range staged {
		if newestID, _ := idOf(newest.rows[0]); id > newestID {
			return false, nil
		}
	}
	return true, nil
}

// stamps lists the state of all rows of a listing, without their content.
func (r *reader) stamps(ctx context.Context, l *listing) (map[uint64]stamp, error) {
	all := map[uint64]stamp{}
	for cursor := uint64(0); ; {
		p, err := r.request(ctx, l, r.o.PageSize, append(after(cursor), "fields[0]=updatedAt"))
		if err != nil || len(p.rows) == 0 {
			return all, err
		}
		for _, row := range p.rows {
			s, _ := stampOf(row) // checked by request
			if s.id <= cursor {
				return nil, l.outOfOrder(s.id, cursor)
			}
			cursor = s.id
			all[s.id] = s
		}
		if len(all) > maxRows {
			return nil, fmt.Errorf("GET %s: there are more than %d rows", l.path, maxRows)
		}
	}
}

// addLinked notes the documents that a row links by relations with two directions. If the row has changed, their lists
// may have changed as well, and nothing else would tell.
func (r *reader) addLinked(l *listing, row *jsontree.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.definitions.split(l.schema, row, func(from linkFrom) { // rows are checked before they are staged
		if from.attribute.inversedBy == "" && from.attribute.mappedBy == "" {
			return
		}
		for _, t := range from.targets {
			document := version{uid: from.attribute.target, documentID: strings.Clone(t.Text("documentId"))}
			r.linked[document] = true
		}
	})
}

// rereadLinked reads documents again whose links may have changed.
func (r *reader) rereadLinked(ctx context.Context, listings []*listing) error {
	linked := map[string][]string{}
	for document := range r.linked {
		linked[document.uid] = append(linked[document.uid], document.documentID)
	}
	clear(r.linked)
	return r.each(ctx, len(listings), func(ctx context.Context, i int) error {
		l := listings[i]
		documents := linked[l.schema.uid]
		if len(documents) == 0 {
			return nil
		}
		_, pages, err := r.staged(l)
		if err != nil {
			return err
		}
		if l.schema.single {
			_, err := r.rereadSingle(ctx, l, nil, pages)
			return err
		}
		slices.Sort(documents)
		for some := range slices.Chunk(documents, rereadSize) {
			if pages, err = r.addReread(ctx, l, pages, some); err != nil {
				return err
			}
		}
		return nil
	})
}

// addReread stages all rows of some documents as further pages of a listing, and returns the number of pages after
// that.
func (r *reader) addReread(ctx context.Context, l *listing, pages int, documents []string) (int, error) {
	filter := in("documentId", documents)
	for cursor := uint64(0); ; {
		p, err := r.list(ctx, l, r.o.PageSize, append(after(cursor), filter...))
		if err == nil {
			err = r.checkRows(l, p.rows)
		}
		if err != nil || len(p.rows) == 0 {
			return pages, err
		}
		last, _ := idOf(p.rows[len(p.rows)-1]) // checked by list
		if last <= cursor {
			return pages, l.outOfOrder(last, cursor)
		}
		cursor = last
		pages++
		if err := r.staging.addPage(l, pages, header{again: true}, p.rows); err != nil {
			return pages, err
		}
	}
}

// reread stages rows that have changed as further pages of the listing.
func (r *reader) reread(ctx context.Context, l *listing, pages int, gone, changed []uint64) error {
	if len(gone) > 0 {
		pages++
		if err := r.staging.addPage(l, pages, header{again: true, gone: gone}, nil); err != nil {
			return err
		}
	}
	for ids := range slices.Chunk(changed, min(rereadSize, r.o.PageSize)) {
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = strconv.FormatUint(id, 10)
		}
		p, err := r.list(ctx, l, len(ids), append(in("id", texts), "sort=id:asc"))
		if err != nil {
			return err
		}
		if err := r.checkRows(l, p.rows); err != nil {
			return err
		}
		for _, row := range p.rows {
			r.addLinked(l, row)
		}
		pages++
		if err := r.staging.addPage(l, pages, header{again: true}, p.rows); err != nil {
			return err
		}
		r.countReread(int64(len(p.rows)))
	}
	return nil
}

// rereadSingle reads a single type again, and stages it if it has changed.
func (r *reader) rereadSingle(ctx context.Context, l *listing, staged map[uint64]stamp, pages int) (bool, error) {
	p, err := r.single(ctx, l)
	if err != nil {
		return false, err
	}
	changed := len(p.rows) != len(staged)
	gone := map[uint64]bool{}
	for id := range staged {
		gone[id] = true
	}
	for _, row := range p.rows {
		s, _ := stampOf(row) // checked by single
		changed = changed || staged[s.id] != s
		delete(gone, s.id)
	}
	if !changed {
		return false, nil
	}
	h := header{again: true}
	for id := range gone {
		h.gone = append(h.gone, id)
	}
	slices.Sort(h.gone)
	if err := r.checkRows(l, p.rows); err != nil {
		return false, err
	}
	r.countReread(int64(len(p.rows)))
	return true, r.staging.addPage(l, pages+1, h, p.rows)
}

func (r *reader) countReread(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Reread += n
}
