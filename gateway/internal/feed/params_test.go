package feed

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"lectern/documents/apierror"
	"lectern/shadowcrud/qs"
)

// FuzzParams reads the parameters in any query string. They are within their bounds and none is ignored, or the answer
// is 400.
func FuzzParams(f *testing.F) {
	for _, query := range []string{
		"since=0&limit=3&feed=normal&types=restaurant,menu&types[1]=api::review.review&locale=en&status=draft",
		"feed=eventsource&heartbeat=true&since=now", "feed=longpoll&timeout=99999999&heartbeat=-1", "limit=10001",
		"limit[]=1",
		"include=document&fields[0]=name&populate[menu][fields]=*&locale=*", "fields=name", "types=,&locale= ",
		"types[a]=b", "Since=1",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := qs.Parse(query)
		if err != nil {
			return
		}
		p, err := parseParams(q)
		var refused *apierror.Error
		if err != nil && (!errors.As(err, &refused) || refused.Status != http.StatusBadRequest ||
			refused.Message == "") {
			t.Errorf("%q: %v", query, err)
		}
		if err != nil {
			return
		}
		kinds := []kind{atOnce, longPoll, eventStream}
		if !slices.Contains(kinds, p.kind) || p.limit < 1 || p.limit > mostLimit || p.heartbeat < leastInterval ||
			p.heartbeat > mostInterval ||
			p.timeout < leastInterval || p.timeout > mostInterval || p.types != nil && len(p.types) == 0 ||
			slices.Contains(p.types, "") ||
			slices.Contains(p.locales, "") || !p.document && len(p.selection.Keys) > 0 {
			t.Errorf("%q: %+v", query, p)
		}
		for _, key := range q.Keys {
			if !slices.Contains(paramNames, key) {
				t.Errorf("%q: the parameter %q is ignored", query, key)
			}
		}
	})
}
