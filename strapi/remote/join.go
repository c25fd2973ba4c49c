package remote

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"lectern/jsontree"
	"lectern/strapi/archive"
)

// A version names a row without its id, which changes with each publication.
type version struct{ uid, documentID, locale, status string }

// An edge is a link in a relation that has two directions.
type edge struct {
	relation      *attribute // of the owner
	owner, target uint64
}

// A morphEdge is a link of a polymorphic relation that was written. The two listings of a type without drafts show the
// same link.
type morphEdge struct {
	edge
	uid string // of the target
}

// A joiner writes rows and links. A link is shown by the row that owns it, and its position in the list of the other
// side by the row at the other end, so it reads all rows twice before it writes them.
type joiner struct {
	r       *reader
	out     *output
	ids     map[version]uint64
	inverse map[edge]int     // position in the list of the target
	gone    map[version]bool // documents of which a row was there when the run began, and has been removed since
	lost    map[string]int64 // links to unknown targets, by attribute
	morphs  map[morphEdge]bool
	far     []farLink     // links that their owner may not show
	shown   map[edge]bool // those of the same kind that it shows
	texts   map[string]string
}

// A farLink is a link as its target shows it.
type farLink struct {
	listing *listing
	owner   *schema
	edge
}

// hidesLocales reports whether a row does not show all links that it has in a relation: one without locales that holds
// one document shows one localization of it, and may have a link to each.
func hidesLocales(owner *schema, relation *attribute, target *schema) bool {
	return !owner.localized && target.localized &&
		(relation.relation == "manyToOne" || relation.relation == "oneToOne") && !relation.private
}

func newJoiner(r *reader, out *output) *joiner {
	return &joiner{r: r, out: out, ids: map[version]uint64{}, inverse: map[edge]int{}, gone: map[version]bool{},
		lost:   map[string]int64{},
		morphs: map[morphEdge]bool{}, shown: map[edge]bool{}, texts: map[string]string{}}
}

// eachLive calls do with the last reading of each row of a listing that is still there, and dead, if it is not nil,
// with those of the others.
func (r *reader) eachLive(l *listing, do func(*jsontree.Object) error, dead func(*jsontree.Object)) error {
	last := map[uint64]int{} // by id: the number of the reading that counts
	n := 0
	if _, err := r.staging.eachRow(l, func(row *jsontree.Object) error {
		id, err := idOf(row)
		n++
		last[id] = n
		return err
	}, func(id uint64) { delete(last, id) }); err != nil {
		return err
	}
	n = 0
	_, err := r.staging.eachRow(l, func(row *jsontree.Object) error {
		id, err := idOf(row)
		n++
		number, live := last[id]
		switch {
		case err != nil:
			return err
		case number == n:
			return do(row)
		case !live && dead != nil:
			dead(row)
		}
		return nil
	}, func(uint64) {})
	return err
}

// addAccounts writes locales, roles and permissions.
func (j *joiner) addAccounts(a *accounts) error {
	for _, row := range a.locales {
		if err := j.plain(localeUID, row, "isDefault"); err != nil {
			return err
		}
	}
	if a.defaultLocale != "" {
		j.out.setting(archive.Setting{Type: "core-store",
			Value: jsontree.ObjectOf("id", jsontree.Number("1"), "key", "plugin_i18n_default_locale",
				"value", a.defaultLocale, "type", "string", "environment", nil, "tag", nil)})
	}
	for _, row := range a.roles {
		if err := j.plain(roleUID, row, "nb_users"); err != nil {
			return err
		}
	}
	positions := map[uint64]float64{}
	for i, p := range a.permissions {
		role, err := idOf(p.role)
		if err != nil {
			return err
		}
		id := uint64(i + 1)
		times := func(key string) any { return p.role.Value(key) }
		j.entity(permissionUID, id, jsontree.ObjectOf("documentId", madeID(p.role.Text("documentId")+" "+p.action),
			"action", p.action,
			"createdAt", times("createdAt"), "updatedAt", times("updatedAt"), "publishedAt", times("publishedAt"),
			"locale", nil))
		positions[role]++
		j.link(archive.Link{Kind: basic, Relation: "manyToOne",
			Left:  archive.End{Type: permissionUID, Field: "role", ID: id},
			Right: archive.End{Type: roleUID, Field: "permissions", ID: role, Pos: positions[role]}})
	}
	return nil
}

// plain writes a row without links.
func (j *joiner) plain(uid string, row *jsontree.Object, without string) error {
	id, err := idOf(row)
	if err != nil {
		return fmt.Errorf("%s: %w", uid, err)
	}
	data := jsontree.NewObject()
	for _, key := range row.Keys {
		if key != "id" && key != without {
			data.Set(key, row.Value(key))
		}
	}
	data.Set("locale", nil)
	j.ids[version{uid: uid, documentID: row.Text("documentId")}] = id
	j.entity(uid, id, data)
	return nil
}

func (j *joiner) entity(uid string, id uint64, data *jsontree.Object) {
	j.r.report.Rows[uid]++
	j.out.entity(archive.Entity{Type: uid, ID: id, Data: data})
}

func (j *joiner) link(l archive.Link) {
	j.r.report.Links++
	j.out.link(l)
}

// index notes the id of each version, and then the positions that only the far end of a link shows.
func (j *joiner) index(ctx context.Context, listings []*listing) error {
	for _, l := range listings {
		if l.again {
			continue
		}
		if err := j.r.eachLive(l, func(row *jsontree.Object) error {
			id, err := idOf(row)
			name := strings.Clone(row.Text("documentId")) // the row must not stay in memory
			j.ids[version{l.schema.uid, name, j.intern(localeOf(l.schema, row)), statusOfRow(l.schema, l.status)}] = id
			return cmp.Or(err, ctx.Err())
		}, func(row *jsontree.Object) {
			j.gone[version{uid: l.schema.uid, documentID: strings.Clone(row.Text("documentId"))}] = true
		}); err != nil {
			return err
		}
	}
	for _, l := range listings {
		if err := j.r.eachLive(l, func(row *jsontree.Object) error {
			_, err := j.r.definitions.split(l.schema, row, func(from linkFrom) { j.addInverse(l, from) })
			return cmp.Or(err, ctx.Err())
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// intern returns a text that many rows share, without what is around it in memory.
func (j *joiner) intern(text string) string {
	if _, ok := j.texts[text]; !ok {
		text = strings.Clone(text)
		j.texts[text] = text
	}
	return j.texts[text]
}

func localeOf(s *schema, row *jsontree.Object) string {
	if !s.localized {
		return ""
	}
	return row.Text("locale")
}

// statusOfRow returns the status of the rows of a type in a listing.
func statusOfRow(s *schema, listing string) string {
	if !s.drafts {
		return ""
	}
	return listing
}

// addInverse notes the positions of a list whose links belong to its targets.
func (j *joiner) addInverse(l *listing, from linkFrom) {
	owner := j.r.definitions.byUID[from.attribute.target]
	if from.attribute.mappedBy == "" || owner == nil {
		return
	}
	for i := range owner.attributes {
		relation := &owner.attributes[i]
		if relation.name != from.attribute.mappedBy {
			continue
		}
		for n, t := range from.targets {
			for _, id := range j.resolve(l, from.attribute, owner, t) {
				e := edge{relation, id, from.id}
				j.inverse[e] = n + 1
				if hidesLocales(owner, relation, from.owner) {
					j.far = append(j.far, farLink{l, owner, e})
				}
			}
		}
	}
}

// resolve returns the ids of the rows that a target of an attribute stands for in a listing: one as a rule, none if the
// document is gone. Lists of users show the draft and the published version of a document as two targets, and a
// polymorphic relation shows the version that was linked, whichever status is asked for. Ids tell the versions apart;
// if the target has an id from before a publication, it may be either.
func (j *joiner) resolve(l *listing, a *attribute, s *schema, target *jsontree.Object) []uint64 {
	statuses := []string{statusOfRow(s, l.status)}
	if s.drafts && (l.status == "" || a.isPolymorphic()) {
		statuses = []string{"draft", "published"}
	}
	var ids []uint64
	for _, status := range statuses {
		if id, ok := j.ids[version{s.uid, target.Text("documentId"), localeOf(s, target), status}]; ok {
			ids = append(ids, id)
		}
	}
	if id, err := idOf(target); err == nil && len(ids) > 1 && slices.Contains(ids, id) {
		return []uint64{id}
	}
	return ids
}

// write writes the rows of all listings and the links that they own.
func (j *joiner) write(ctx context.Context, listings []*listing) error {
	for _, l := range listings {
		if err := j.r.eachLive(l, func(row *jsontree.Object) error {
			data, err := j.r.definitions.split(l.schema, row, func(from linkFrom) { j.writeLinks(l, from) })
			if err != nil || l.again {
				return cmp.Or(err, ctx.Err())
			}
			if l.schema.uid == fileUID {
				data = fileRow(data)
			}
			if _, ok := data.Get("locale"); !ok {
				data.Set("locale", nil)
			}
			id, err := idOf(row)
			j.entity(l.schema.uid, id, data)
			return cmp.Or(err, j.out.err, ctx.Err())
		}, nil); err != nil {
			return err
		}
	}
	j.writeFar()
	return nil
}

// writeFar writes the links that only their targets show.
func (j *joiner) writeFar() {
	for _, f := range j.far {
		if !j.shown[f.edge] {
			j.shown[f.edge] = true
			from := linkFrom{owner: f.owner, id: f.edge.owner, attribute: f.relation}
			j.link(j.linkTo(f.listing, from, j.r.definitions.byUID[f.relation.target], f.target, 0))
		}
	}
}

// writeLinks writes the links of an attribute that owns them.
func (j *joiner) writeLinks(l *listing, from linkFrom) {
	a := from.attribute
	if a.mappedBy != "" || a.private {
		return
	}
	for i, t := range from.targets {
		uid := a.target
		switch {
		case a.typ == "media":
			uid = fileUID
		case a.isPolymorphic():
			uid = t.Text("__type")
		}
		target := j.r.definitions.byUID[uid]
		if target == nil || l.again && !target.drafts {
			continue
		}
		ids := j.resolve(l, a, target, t)
		shown := l.again && a.isPolymorphic() // by the first listing
		if len(ids) == 0 && !shown && !j.gone[version{uid: uid, documentID: t.Text("documentId")}] {
			j.lost[from.owner.uid+"."+a.name]++
		}
		for _, id := range ids {
			if a.isPolymorphic() && !j.isNew(morphEdge{edge{a, from.id, id}, target.uid}) {
				continue
			}
			if hidesLocales(from.owner, a, target) {
				j.shown[edge{a, from.id, id}] = true
			}
			j.link(j.linkTo(l, from, target, id, i))
		}
	}
}

// isNew reports whether a link of a polymorphic relation is not written yet, and notes that it is now.
func (j *joiner) isNew(e morphEdge) bool {
	known := j.morphs[e]
	j.morphs[e] = true
	return !known
}

// The kinds of links of an archive.
const (
	basic    = "relation.basic"
	circular = "relation.circular" // between rows of one type
	morph    = "relation.morph"    // to rows of several types
)

// linkTo returns the link to a target at an index of a list.
func (j *joiner) linkTo(l *listing, from linkFrom, target *schema, id uint64, index int) archive.Link {
	a := from.attribute
	pos := float64(index + 1)
	if target.drafts && !from.owner.drafts &&
		l.status != "" { // between the draft and the published version of the next target
		pos = 2*pos - 1
		if l.again {
			pos++
		}
	}
	owner := archive.End{Type: from.owner.uid, Field: a.name, ID: from.id}
	other := archive.End{Type: target.uid, ID: id}
	switch {
	case a.typ == "media": // the side of the file stands left
		owner.Pos, other.Field = pos, "related"
		return archive.Link{Kind: morph, Relation: "morphToMany", Left: other, Right: owner}
	case a.isPolymorphic():
		owner.Pos = pos
		return archive.Link{Kind: morph, Relation: a.relation, Left: owner, Right: other}
	}
	if a.relation == "oneToMany" || a.relation == "manyToMany" {
		owner.Pos = pos
	}
	if a.inversedBy != "" {
		other.Field = a.inversedBy
		if a.relation != "oneToOne" {
			other.Pos = float64(
				j.inverse[edge{a, from.id, id}]) // 0, which stands for none, if the other side does not show it
		}
	}
	kind := basic
	if from.owner.uid == target.uid {
		kind = circular
	}
	return archive.Link{Kind: kind, Relation: a.relation, Left: owner, Right: other}
}
