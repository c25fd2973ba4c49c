package evolve

import (
	"fmt"

	"lectern/contenttypes"
)

// relation compares a relation or media attribute with the attribute of that name now, which may be nil or hold no
// links.
func (c *comparison) relation(was, is *contenttypes.Attribute) {
	if was.Mapped {
		if is != nil && is.IsStored() {
			c.renew(was)
		}
		return // the links belong to the other side
	}
	owning, flipped := c.owner(was, is)
	if owning == nil {
		c.linksGone(was, is)
		return
	}
	if flipped {
		schema, field := c.catalog.Field(was)
		c.flips = append(c.flips, steps(&FlipLinks{schema, field, owning.Owner.UID, owning.Name})...)
	} else if sameRelation(was, owning) {
		return
	}
	c.relationFits(was, owning, flipped)
}

// owner returns the attribute that has the links of a relation under the new definitions, nil if none has. flipped says
// that it is the other side, because inversedBy has moved there.
func (c *comparison) owner(was, is *contenttypes.Attribute) (owning *contenttypes.Attribute, flipped bool) {
	if is != nil && is.IsRelation() && !is.Mapped {
		return is, false
	}
	if was.Inverse == nil {
		return nil, false
	}
	s := schemaOf(c.is, was.Inverse.Owner.UID)
	if s == nil {
		return nil, false
	}
	n := s.Attribute(was.Inverse.Name)
	if n == nil || !n.IsRelation() || n.Mapped || n.Target == nil || n.Target.UID != was.Owner.UID {
		return nil, false
	}
	return n, true
}

// sameRelation reports whether all links that fit was fit is.
func sameRelation(was, is *contenttypes.Attribute) bool {
	return was.ToMany() == is.ToMany() && targetUID(was) == targetUID(is) && onePerTarget(was) == onePerTarget(is)
}

func targetUID(a *contenttypes.Attribute) string {
	if a.Target == nil {
		return ""
	}
	return a.Target.UID
}

// onePerTarget reports whether each target may have one link at most, because the other side is a to-one relation.
func onePerTarget(owning *contenttypes.Attribute) bool {
	return owning.Inverse != nil && !owning.Inverse.ToMany()
}

func (c *comparison) linksGone(was, is *contenttypes.Attribute) {
	if is != nil {
		c.renew(was)
	}
	n := c.content.CountLinks(was, LinkRule{}).Links
	if n == 0 {
		return
	}
	drop := migration(dropAttribute, attributeName(was))
	switch {
	case is == nil:
		c.refuse(append(c.renames(was), drop), "attribute %s of %s is gone; it has %s", was.Name, was.Owner.UID,
			plural(n, "link"))
	default:
		c.refuse([]Migration{drop}, "attribute %s of %s was %s and is %s; it has %s", was.Name, was.Owner.UID,
			describe(was), describe(is), plural(n, "link"))
	}
}

// relationFits refuses a change of a relation if links lead to a type that it no longer leads to, or are more than it
// may have now.
func (c *comparison) relationFits(was, is *contenttypes.Attribute, flipped bool) {
	rule := LinkRule{One: !is.ToMany(), OneBack: onePerTarget(is)}
	if flipped {
		rule.One, rule.OneBack = rule.OneBack, rule.One
	} else {
		rule.Target = targetUID(is)
	}
	n := c.content.CountLinks(was, rule)
	changed := fmt.Sprintf("attribute %s of %s was %s and is %s", was.Name, was.Owner.UID, describe(was), describe(is))
	if flipped {
		changed = fmt.Sprintf("attribute %s of %s is %s now", is.Name, is.Owner.UID, describe(is))
	}
	drop := migration(dropLinks, attributeName(was))
	switch {
	case n.Foreign > 0:
		c.refuse([]Migration{drop}, "%s; it has %s to another type", changed, plural(n.Foreign, "link"))
	case n.From > 0:
		c.refuse([]Migration{migration(keepFirst, attributeName(was)), drop}, "%s; %s more than one link", changed,
			haveLists(n.From))
	case n.To > 0:
		calls := []Migration{drop}
		if was.Inverse != nil {
			calls = []Migration{migration(keepFirst, attributeName(was.Inverse)), drop}
		}
		c.refuse(calls, "%s, whose targets have one link each; %s more", changed, haveLists(n.To))
	}
}

func haveLists(n int) string {
	if n == 1 {
		return "1 list has"
	}
	return fmt.Sprintf("%d lists have", n)
}

// linkSets plans to copy or remove the draft links of a relation when drafts are switched on or off on either side.
func (c *comparison) linkSets(is *contenttypes.Attribute) {
	was := schemaOf(c.was, is.Owner.UID).Attribute(is.Name)
	if was == nil || !was.IsRelation() || was.Mapped && was.Inverse == nil {
		return // it had no links
	}
	if was.Mapped { // the links are those of the other side
		was = was.Inverse
	}
	switch before, now := was.HasDraftLinks(), is.HasDraftLinks(); {
	case !before && now:
		c.after = append(c.after, steps(&AddDraftLinks{is.Owner.UID, is.Name})...)
	case before && !now:
		c.after = append(c.after, steps(&DropDraftLinks{is.Owner.UID, is.Name})...)
	}
}
