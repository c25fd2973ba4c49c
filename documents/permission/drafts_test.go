package permission_test

import (
	"bytes"
	"testing"

	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

func TestDrafts(t *testing.T) {
	model := storetest.Model(t, storetest.Archive(t, "../testdata/model.txtar"))
	article := model.Type("api::article.article") // has drafts
	find, drafts := article.UID+".find", article.UID+"."+permission.FindDrafts
	granted := permission.NewAccess([]string{find, drafts})
	without := permission.NewAccess([]string{find})
	every := permission.NewAccess([]string{find, permission.EveryDraft})
	modified, published := store.Modified, store.HasPublishedVersion
	for name, tt := range map[string]struct {
		access        *permission.Access
		drafts, sight bool
	}{
		"granted":              {granted, true, false},
		"not granted":          {without, false, true},
		"drafts are no action": {every, true, false},
		"full access":          {permission.FullAccess, true, false},
		"another type": {permission.NewAccess([]string{find, drafts, "api::tag.tag.find"}), true,
			true}, // which may have drafts, for all that an Access knows
	} {
		a := tt.access
		if got := a.FindsDrafts(article); got != tt.drafts {
			t.Errorf("%s: finds drafts: %v", name, got)
		}
		if got := a.StatusOf(article, store.Draft); (got == store.Draft) != tt.drafts ||
			a.StatusOf(article, store.Published) != store.Published {
			t.Errorf("%s: shows %v for drafts", name, got)
		}
		if a.Reads(article, store.Draft, nil) != tt.drafts || a.Reads(article, store.Published, &modified) != tt.drafts ||
			!a.Reads(article, store.Published, nil) || !a.Reads(article, store.Published, &published) {
			t.Errorf("%s: what may be asked for is wrong", name)
		}
		if got := a.Sight(store.Draft) != nil; got != tt.sight || a.Sight(store.Published) != nil {
			t.Errorf("%s: limits what is seen: %v", name, got)
		}
	}
	if writer := model.Type("api::writer.writer"); !without.FindsDrafts(writer) ||
		without.StatusOf(writer, store.Draft) != store.Draft {
		t.Error("a type without drafts is limited")
	}
	if bytes.Equal(granted.AppendFingerprint(nil), without.AppendFingerprint(nil)) ||
		bytes.Equal(every.AppendFingerprint(nil), without.AppendFingerprint(nil)) {
		t.Error("callers who see other drafts have the same fingerprint")
	}
	if n := testing.AllocsPerRun(100, func() { without.Sight(store.Draft); without.Sight(store.Published) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
