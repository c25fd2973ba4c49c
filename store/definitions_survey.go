package store

import (
	"slices"

	"lectern/contenttypes"
)

// A survey goes through content to answer questions about it: once through the rows of each type that any question is about.
type survey struct {
	snap      *Snapshot
	questions []*question
}

// A question is asked of all records of one type or component.
type question struct {
	schema *contenttypes.Schema
	// ask reports whether a record is concerned.
	ask func(Record) bool
	// conclude is told how many versions have such a record.
	conclude func(versions int)

	hit      bool
	versions int
}

func (s *survey) ask(schema *contenttypes.Schema, ask func(Record) bool, conclude func(versions int)) {
	s.questions = append(s.questions, &question{schema: schema, ask: ask, conclude: conclude})
}

// run answers all questions.
func (s *survey) run(m *contenttypes.Model) {
	bySchema := map[*contenttypes.Schema][]*question{}
	for _, q := range s.questions {
		bySchema[q.schema] = append(bySchema[q.schema], q)
	}
	for _, t := range m.Types {
		concerned := slices.ContainsFunc(s.questions, func(q *question) bool { return holds(&t.Schema, q.schema) })
		if !concerned {
			continue
		}
		s.snap.eachRowOf(s.snap.bound.of(&t.Schema), func(r Record) {
			visit(r, bySchema)
			for _, q := range s.questions {
				if q.hit {
					q.versions++
					q.hit = false
				}
			}
		})
	}
	for _, q := range s.questions {
		q.conclude(q.versions)
	}
}

// visit asks a record, and the components in it.
func visit(r Record, questions map[*contenttypes.Schema][]*question) {
	schema := r.table.bound.schema
	for _, q := range questions[schema] {
		q.hit = q.ask(r) || q.hit
	}
	for _, a := range schema.Attributes {
		if a.IsStored() && !a.IsScalar() {
			r.Each(a, func(item Record) bool {
				visit(item, questions)
				return true
			})
		}
	}
}

// holds reports whether records of a schema are, or may have in them, records of another.
func holds(s, inner *contenttypes.Schema) bool {
	if s == inner {
		return true
	}
	for _, a := range s.Attributes {
		if a.Component != nil && holds(&a.Component.Schema, inner) {
			return true
		}
		for _, c := range a.Components {
			if holds(&c.Schema, inner) {
				return true
			}
		}
	}
	return false
}

// linkCounts says what of a relation's links does not fit what it is to be.
type linkCounts struct {
	links   int // in the plane that has more
	foreign int // that lead to another type than they should
	from    int // ends that have more than one and should not
	to      int // targets that have more than one and should not
}

// countLinks goes through the links of an attribute. target is the number of the type that they should lead to, 0 for any;
// one and oneBack say whether an end, and a target, may have one only.
func (s *Snapshot) countLinks(schema, field, target uint16, one, oneBack bool) (n linkCounts) {
	for _, plane := range []Status{Published, Draft} {
		links := 0
		s.eachList(linkPrefix(schema, field, byte(fromSide), byte(plane)), func(length int, first []byte) {
			links += length
			if one && length > 1 {
				n.from++
			}
		}, func(v []byte) {
			if to, _ := parseLinkEnd(v); target != 0 && to.schema != target {
				n.foreign++
			}
		})
		n.links = max(n.links, links)
		if oneBack {
			s.eachList(linkPrefix(schema, field, byte(toSide), byte(plane)), func(length int, _ []byte) {
				if length > 1 {
					n.to++
				}
			}, func([]byte) {})
		}
	}
	return n
}

// eachList calls list with the length of each list of links, and link with the value of each link.
func (s *Snapshot) eachList(prefix []byte, list func(length int, first []byte), link func(v []byte)) {
	var first []byte
	length := 0
	s.eachKey(links, prefix, func(k, v []byte) bool {
		s.stats.links++
		if first == nil || string(first[:linkListLen]) != string(k[:linkListLen]) {
			if length > 0 {
				list(length, first)
			}
			first, length = k, 0
		}
		length++
		link(v)
		return true
	})
	if length > 0 {
		list(length, first)
	}
}
