package auth

import (
	"fmt"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/permission"
)

// Drafts says who may read the drafts of the documents that they may read.
type Drafts uint8

// Who may read drafts.
const (
	ReadableDrafts Drafts = iota // everybody
	GrantedDrafts                // who has the permission findDrafts
)

// with returns the permissions of a caller who was granted these.
func (d Drafts) with(permissions []string) []string {
	if d == GrantedDrafts {
		return permissions
	}
	return append(slices.Clip(permissions), permission.EveryDraft)
}

// UnstatedDrafts is a warning for a project whose config/api.yaml does not say who may read drafts. granted are the
// permissions of each role. It is "" if no role reads drafts without the permission to.
func UnstatedDrafts(m *contenttypes.Model, granted map[string][]string) string {
	for _, role := range slices.Sorted(maps.Keys(granted)) {
		for _, t := range m.Types {
			may := func(action string) bool { return slices.Contains(granted[role], t.UID+"."+action) }
			if t.DraftAndPublish && (may("find") || may("findOne")) && !may(permission.FindDrafts) {
				return fmt.Sprintf("the role %s, and whoever else may find a type, may read its drafts too, such as those of %s: "+
					"write `drafts: granted` into config/api.yaml, and in config/permissions.yaml grant findDrafts to who needs it; "+
					"or write `drafts: readable` if that is meant", role, t.UID)
			}
		}
	}
	return ""
}
