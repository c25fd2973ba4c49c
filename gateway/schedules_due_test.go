package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/gateway"
)

// TestSchedulesComeDueOnceWhenTheClockIsSet sets the clock back and forward. A schedule must be carried out exactly
// once.
func TestSchedulesComeDueOnceWhenTheClockIsSet(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", "Soup")
	start := p.clock.Now()
	p.act(202, path, "publish", object{"publishAt": p.in(time.Hour)})
	p.looks()
	p.clock.set(start.Add(-24 * time.Hour))
	p.looks()
	p.clock.pass(2 * time.Hour)
	p.looks()
	if p.isPublished(path) {
		t.Fatal("published a day early by a clock that was set back")
	}
	p.clock.set(start.AddDate(1, 0, 0))
	p.clock.pass(10 * time.Second)
	p.lists()
	if !p.isPublished(path) {
		t.Fatal("not published by a clock that was set forward")
	}
	p.act(202, path, "unpublish", object{"unpublishAt": p.in(time.Hour)})
	p.looks()
	p.clock.set(start)
	p.looks()
	p.clock.set(start.AddDate(2, 0, 0))
	p.clock.pass(10 * time.Second)
	p.lists()
	if p.clock.most > 10*time.Second {
		t.Errorf("the scheduler slept for %s, however the clock was set", p.clock.most)
	}
	p.clock.set(start.Add(-24 * time.Hour)) // both are in the future once more, but not scheduled
	p.act(202, path, "publish", object{"publishAt": p.in(48 * time.Hour)})
	p.looks()
	if published, unpublished := p.publications(t); published != 1 || unpublished != 1 {
		t.Errorf("%d publications, %d unpublications", published, unpublished)
	}
}

// TestOverdueSchedulesAreCarriedOutInOrder restarts the server after schedules came due: it carries them out in the
// order of their times.
func TestOverdueSchedulesAreCarriedOutInOrder(t *testing.T) {
	p := plan(t, nil)
	const count = 5
	for i := range count {
		path := p.draft("/api/articles", fmt.Sprint(i))
		at := time.Duration(count-i) * time.Hour
		p.act(202, path, "publish", object{"publishAt": p.in(at), "unpublishAt": p.in(at + 30*time.Minute)})
	}
	last := p.draft("/api/articles", "last")
	p.act(202, last, "publish", object{"publishAt": p.in(48 * time.Hour)})
	p.stop()
	p.clock.set(p.clock.Now().Add(24 * time.Hour))
	p.start(t)
	p.lists("publish pending")
	p.until("all are logged", func() bool { return strings.Count(p.log.String(), "carried out a schedule") >= 2*count })
	var times []string
	for line := range strings.SplitSeq(p.log.String(), "\n") {
		if _, rest, ok := strings.Cut(line, " at="); ok && strings.Contains(line, "carried out a schedule") {
			times = append(times, strings.Fields(rest)[0])
		}
	}
	if len(times) != 2*count || !slices.IsSorted(times) {
		t.Errorf("carried out in the order %q", times)
	}
	p.stop()
	p.start(t)
	if published, unpublished := p.publications(t); published != count || unpublished != count {
		t.Errorf("%d publications, %d unpublications", published, unpublished)
	}
}

// TestScheduleThatFailsKeepsItsError publishes a draft that is not valid: the schedule keeps the error, is not tried
// again, and can be replaced.
func TestScheduleThatFailsKeepsItsError(t *testing.T) {
	p := plan(t, nil)
	path := p.draft("/api/articles", nil)
	p.act(202, path, "publish", object{"publishAt": p.in(time.Hour)})
	p.looks()
	p.clock.pass(time.Hour)
	p.lists("publish failed")
	r := p.want(200, "GET", "/api/_schedules", "full", nil)
	if e, _ := r.at("data").([]any)[0].(object)["error"].(object); e["message"] != "title must be defined." &&
		e["name"] != "ValidationError" {
		t.Errorf("%v", e)
	}
	p.want(200, "PUT", path+"?status=draft", "full", object{"data": object{"title": "Soup"}})
	p.act(202, path, "publish", object{"publishAt": p.in(time.Hour)})
	if all := p.listed("full", ""); !slices.Equal(all, []string{"publish pending"}) {
		t.Errorf("%v", all)
	}
	p.looks()
	p.clock.pass(time.Hour)
	p.lists()
	if !p.isPublished(path) {
		t.Error("not published")
	}
	if n := strings.Count(
		p.log.String(), "a schedule failed"); n != 1 { // it was logged before the next was carried out
		t.Errorf("logged %d failures", n)
	}
}

// TestHooksRunForSchedules calls hooks for schedules that are due: they can refuse a publication, fail for a while, and
// write.
func TestHooksRunForSchedules(t *testing.T) {
	var x gateway.Extensions
	var before, after, fails atomic.Int64
	var cancel atomic.Pointer[string]
	x.Hooks(documents.Hooks{
		BeforePublish: func(ctx context.Context, e *documents.Event) error {
			before.Add(1)
			if id := cancel.Load(); id != nil { // between the look at what is due and the transaction
				return e.Documents().CancelSchedule(ctx, nil, *id, permission.FullAccess)
			}
			if fails.Add(-1) >= 0 {
				return errors.New("the printer is out of paper")
			}
			if values, err := e.Values(); err == nil && values.Value("title") == "secret" {
				return &apierror.Error{Status: 403, Name: "PolicyError", Message: "not to be published"}
			}
			return nil
		},
		AfterPublish: func(context.Context, *documents.Event) error { after.Add(1); return nil },
	}, "api::article.article")
	p := plan(t, &x)

	path := p.draft("/api/articles", "Soup")
	fails.Store(3)
	p.act(202, path, "publish", object{"publishAt": p.in(time.Hour), "unpublishAt": p.in(2 * time.Hour)})
	if before.Load() != 0 {
		t.Error("hooks were called for a schedule that is made")
	}
	p.looks()
	p.clock.pass(3 * time.Hour) // both are due
	p.until("the first attempt", func() bool { return before.Load() == 1 })
	for n := range int64(3) {
		p.looks() // too early for another attempt
		if all := p.listed("full", ""); !slices.Equal(all, []string{"publish pending", "unpublish pending"}) ||
			before.Load() != n+1 {
			t.Fatalf("after %d attempts: %v", before.Load(), all)
		}
		p.clock.pass(time.Second << n)
		p.until("another attempt", func() bool { return before.Load() == n+2 })
	}
	p.lists()
	if p.isPublished(path) || after.Load() != 1 {
		t.Errorf("published %v, %d hooks after publications", p.isPublished(path), after.Load())
	}

	refused := p.draft("/api/articles", "secret")
	p.act(202, refused, "publish", object{"publishAt": p.in(time.Second)})
	p.clock.pass(time.Minute)
	p.lists("publish failed")
	p.want(204, "DELETE", refused, "full", nil)

	cancelled := p.draft("/api/articles", "Bread")
	r := p.act(202, cancelled, "publish", object{"publishAt": p.in(time.Hour)})
	id := r.at("meta.schedules").([]any)[0].(object)["documentId"].(string)
	cancel.Store(&id)
	p.looks()
	p.clock.pass(time.Hour)
	p.lists()
	if p.isPublished(cancelled) {
		t.Error("a schedule that was cancelled at the last moment was carried out")
	}
	if published, unpublished := p.publications(t); published != 1 || unpublished != 1 {
		t.Errorf("%d publications, %d unpublications", published, unpublished)
	}
}

// TestSchedulesEndWithTheDraftsOfTheirType takes away the drafts of a type while schedules are pending.
func TestSchedulesEndWithTheDraftsOfTheirType(t *testing.T) {
	p := plan(t, nil)
	article, page := p.draft("/api/articles", "Soup"), p.draft("/api/pages", "Soup")
	p.want(200, "POST", article+"/actions/publish", "full", nil)
	for _, path := range []string{article, page} {
		p.act(202, path, "publish", object{"publishAt": p.in(time.Hour)})
	}
	other := p.draft("/api/pages", "Bread")
	p.act(202, other, "publish", object{"publishAt": p.in(time.Hour)})
	p.want(200, "GET", "/api/_schedules?filters[document]="+url.QueryEscape(strings.TrimPrefix(page, "/api/pages/")),
		"full", nil)
	p.stop()
	writeFiles(t, p.dir,
		map[string]string{"content-types/article.yaml": strings.Replace(scheduledFiles["content-types/article.yaml"],
			"draftAndPublish: true", "draftAndPublish: false", 1)})
	p.clock.set(p.clock.Now().Add(2 * time.Hour))
	p.start(t)
	p.lists("publish failed")
	r := p.want(200, "GET", "/api/_schedules", "full", nil)
	if !strings.Contains(r.text, "documents of api::article.article have no drafts any more") {
		t.Error(r.text)
	}
	if !p.isPublished(page) || !p.isPublished(other) {
		t.Error("a schedule of another type was not carried out")
	}
}
