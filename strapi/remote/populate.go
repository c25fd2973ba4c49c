package remote

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of one request, which servers and the proxies before them have.
const (
	maxBrackets = 20   // levels of brackets below a parameter's name; Strapi does not read more
	maxParams   = 900  // parameters of a query string
	maxLeaves   = 5000 // parameters of all requests for one page
)

var errTooDeep = errors.New("components are nested too deeply to be asked for")

// populateGroups returns the parameters that populate all of a type: media, relations as documentIds, components and
// dynamic zones. Each group fits in a URL whose query has at most room bytes; the groups are asked one after the other,
// and merge puts the answers together.
func (d *definitions) populateGroups(s *schema, room int) ([][]string, error) {
	var groups packer
	groups.room = room
	for i := range s.attributes {
		a := &s.attributes[i]
		leaves, err := d.leaves(a, "populate", 0)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", s.uid, a.name, err)
		}
		if groups.fits(leaves) {
			groups.add(leaves)
			continue
		}
		if a.typ == "dynamiczone" { // the order of the items, which a part of their components does not tell
			groups.add([]string{"populate[" + a.name + "]=true"})
			groups.flush()
		}
		groups.split(leaves)
	}
	groups.flush()
	if len(groups.done) == 0 {
		groups.done = [][]string{nil}
	}
	return groups.done, nil
}

// leaves returns the parameters that populate an attribute. prefix is the parameter that they stand in, with that many
// levels of brackets.
func (d *definitions) leaves(a *attribute, prefix string, brackets int) ([]string, error) {
	at := prefix + "[" + a.name + "]"
	switch {
	case a.private:
		return nil, nil
	case a.typ == "media":
		return []string{at + "[fields][0]=documentId"}, nil
	case a.typ == "relation":
		return d.relationLeaves(a, at), nil
	case a.typ == "component":
		return d.componentLeaves(a.components[0], at, brackets+1)
	case a.typ != "dynamiczone":
		return nil, nil
	}
	var all []string
	for _, uid := range a.components {
		leaves, err := d.componentLeaves(uid, at+"[on]["+uid+"]", brackets+3)
		if err != nil {
			return nil, err
		}
		all = append(all, leaves...)
	}
	if len(all) == 0 {
		all = []string{at + "=true"}
	}
	return all, nil
}

// relationLeaves asks for the documentIds, and for the locales where the targets have several.
func (d *definitions) relationLeaves(a *attribute, at string) []string {
	if a.isPolymorphic() {
		return []string{at + "=true"}
	}
	target := d.byUID[a.target]
	if target == nil || !isRead(target) {
		return nil
	}
	leaves := []string{at + "[fields][0]=documentId"}
	if target.localized {
		leaves = append(leaves, at+"[fields][1]=locale")
	}
	return leaves
}

// componentLeaves asks for a component and all that it holds. A component within itself is followed as deep as brackets
// go.
func (d *definitions) componentLeaves(uid, at string, brackets int) ([]string, error) {
	c := d.byUID[uid]
	if c == nil {
		return nil, fmt.Errorf("there is no component %s", uid)
	}
	var all []string
	for i := range c.attributes {
		if brackets+4 > maxBrackets { // [populate][name][fields][0]
			break
		}
		leaves, err := d.leaves(&c.attributes[i], at+"[populate]", brackets+1)
		if err != nil {
			return nil, err
		}
		if all = append(all, leaves...); len(all) > maxLeaves {
			return nil, errTooDeep
		}
	}
	if len(all) == 0 {
		all = []string{at + "=true"}
	}
	return all, nil
}

// isRead reports whether the rows of a type are read, so that links may lead to them.
func isRead(s *schema) bool {
	return strings.HasPrefix(s.uid, "api::") || s.uid == userUID || s.uid == roleUID || s.uid == fileUID
}

// A packer fills groups of parameters up to a length.
type packer struct {
	room int // bytes of a group
	done [][]string

	group []string
	size  int
}

func sizeOf(params []string) int {
	n := 0
	for _, p := range params {
		n += len(p) + 1
	}
	return n
}

// fits reports whether parameters fit in one group.
func (p *packer) fits(params []string) bool {
	return sizeOf(params) <= p.room && len(params) <= maxParams
}

// add puts parameters in the same group.
func (p *packer) add(params []string) {
	if n := sizeOf(params); p.size+n > p.room || len(p.group)+len(params) > maxParams {
		p.flush()
	}
	p.group = append(p.group, params...)
	p.size += sizeOf(params)
}

// split puts parameters in as many groups as it takes, and nothing else in these.
func (p *packer) split(params []string) {
	p.flush()
	for _, one := range params {
		p.add([]string{one})
	}
	p.flush()
}

func (p *packer) flush() {
	if len(p.group) > 0 {
		p.done = append(p.done, p.group)
	}
	p.group, p.size = nil, 0
}
