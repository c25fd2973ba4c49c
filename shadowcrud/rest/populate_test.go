package rest_test

import (
	"fmt"
	"testing"
)

// TestPopulateComponents filters, sorts and counts the related documents of components and zones.
func TestPopulateComponents(t *testing.T) {
	const path = "/api/articles/<a>?fields=title&populate"
	entry := func(rest string) string {
		return `{"data":{"id":0,"documentId":"D","title":"A"` + rest + `},"meta":{}}`
	}
	city := func(name string) string { return `{"id":0,"city":"` + name + `"}` }
	run(t, []exchange{
		{name: "a tag", method: "POST", path: "/api/tags", body: `{"data":{"name":"go"}}`, status: 201, save: "go"},
		{name: "create", method: "POST", path: "/api/articles", status: 201, save: "a",
			body: `{"data":{"title":"A","place":{"city":"Rome"},
			"places":[{"city":"Oslo"},{"city":"Bern","tag":"<go>"},{"city":"Rome"}],
			"zone":[{"__component":"parts.place","city":"Oslo"},{"__component":"parts.quote","text":"q"},{"__component":"parts.place","city":"Bern"}]}}`},
		{name: "filters", method: "GET", path: path + "[places][filters][city][$ne]=Bern", status: 200,
			want: entry(`,"places":[` + city("Oslo") + "," + city("Rome") + `]`)},
		{name: "filters through a relation", method: "GET", path: path + "[places][filters][tag][name]=go", status: 200,
			want: entry(`,"places":[` + city("Bern") + `]`)},
		{name: "sort", method: "GET", path: path + "[places][sort]=city:desc", status: 200,
			want: entry(`,"places":[` + city("Rome") + "," + city("Oslo") + "," + city("Bern") + `]`)},
		{name: "sort by id", method: "GET", path: path + "[places][sort]=id:desc", status: 200,
			want: entry(`,"places":[` + city("Rome") + "," + city("Bern") + "," + city("Oslo") + `]`)},
		{name: "count", method: "GET", path: path + "[places][count]=true&populate[places][filters][city]=Bern",
			status: 200, want: entry(`,"places":{"count":1}`)},
		{name: "a single one", method: "GET", path: path + "[place][filters][city]=Bern", status: 200,
			want: entry(`,"place":null`)},
		{name: "a zone", method: "GET", path: path +
			"[zone][on][parts.place][filters][city]=Bern&populate[zone][on][parts.quote]=true", status: 200,
			want: entry(`,"zone":[{"__component":"parts.quote","id":0,"text":"q"},{"__component":"parts.place","id":0,"city":"Bern"}]`)},
		{name: "a zone keeps its order", method: "GET", path: path + "[zone][on][parts.place][sort]=city", status: 200,
			want: entry(`,"zone":[{"__component":"parts.place","id":0,"city":"Oslo"},{"__component":"parts.place","id":0,"city":"Bern"}]`)},
	})
}

// TestPublicationOfWhatIsShown requests one publication state. All related documents that have drafts must be in that
// state, at any depth.
func TestPublicationOfWhatIsShown(t *testing.T) {
	exchanges := []exchange{
		{name: "a tag", method: "POST", path: "/api/tags", body: `{"data":{"name":"go"}}`, status: 201, save: "go"},
		{name: "a draft", method: "POST", path: "/api/articles?status=draft",
			body: `{"data":{"title":"never","tags":["<go>"]}}`, status: 201, save: "never"},
		{name: "a published one", method: "POST", path: "/api/articles",
			body: `{"data":{"title":"same","tags":["<go>"]}}`, status: 201, save: "same"},
		{name: "another", method: "POST", path: "/api/articles", body: `{"data":{"title":"new","tags":["<go>"]}}`,
			status: 201, save: "new"},
		{name: "modify it", method: "PUT", path: "/api/articles/<new>?status=draft", body: `{"data":{}}`, status: 200},
		{name: "translate it", method: "PUT", path: "/api/articles/<same>?status=draft&locale=fr",
			body: `{"data":{"title":"même"}}`, status: 200},
	}
	title := func(names ...string) string {
		list := ""
		for i, name := range names {
			if i > 0 {
				list += ","
			}
			list += fmt.Sprintf(`{"id":0,"documentId":"D","title":%q}`, name)
		}
		return list
	}
	for query, want := range map[string]string{
		"":                                  title("same", "new"),
		"publicationFilter=never-published": title(),
		"publicationFilter=modified":        title("new"),
		"hasPublishedVersion=false":         title(),
		"hasPublishedVersion=true":          title("same", "new"),
		"status=draft":                      title("never", "same", "new"),
		"status=draft&publicationFilter=never-published": title("never"),
		"status=draft&publicationFilter=unmodified":      title("same"),
		"status=draft&hasPublishedVersion=false":         title("never"),
		"status=draft&hasPublishedVersion=true":          title("same", "new"),
	} {
		exchanges = append(exchanges, exchange{name: query, method: "GET",
			path:   "/api/tags/<go>?fields=name&populate[articles][fields]=title&" + query,
			status: 200, want: `{"data":{"id":0,"documentId":"D","name":"go","articles":[` + want + `]},"meta":{}}`})
	}
	const deep = "/api/tags?fields=id&pagination[withCount]=false&publicationFilter=modified&status=draft&populate[articles][fields]=title"
	exchanges = append(exchanges,
		exchange{name: "deep", method: "GET",
			path: deep + "&populate[articles][populate][tags][populate][articles][count]=true&populate[articles][populate][tags][fields]=id", status: 200,
			want: `{"data":[{"id":0,"documentId":"D","articles":[{"id":0,"documentId":"D","title":"new","tags":[{"id":0,"documentId":"D","articles":{"count":1}}]}]}],"meta":{"pagination":{"page":1,"pageSize":25}}}`},
		exchange{name: "with filters", method: "GET", path: deep + "&populate[articles][filters][title]=same",
			status: 200,
			want:   `{"data":[{"id":0,"documentId":"D","articles":[]}],"meta":{"pagination":{"page":1,"pageSize":25}}}`},
		exchange{name: "localizations", method: "GET",
			path: "/api/articles/<same>?status=draft&fields=title&publicationFilter=has-published-version&populate=localizations", status: 200,
			want: `{"data":{"id":0,"documentId":"D","title":"same","localizations":[]},"meta":{}}`},
		exchange{name: "the answer to a write", method: "PUT",
			path: "/api/tags/<go>?fields=id&populate[articles][count]=true&publicationFilter=modified",
			body: `{"data":{}}`, status: 200,
			want: `{"data":{"id":0,"documentId":"D","articles":{"count":2}},"meta":{}}`},
	)
	run(t, exchanges)
}

// TestConditionOnTheLocale reads single documents. A top-level filter on the locale replaces the parameter locale.
func TestConditionOnTheLocale(t *testing.T) {
	exchanges := []exchange{
		{name: "create", method: "POST", path: "/api/articles?locale=fr", body: `{"data":{"title":"fr"}}`, status: 201,
			save: "a"},
		{name: "translate", method: "PUT", path: "/api/articles/<a>?locale=de", body: `{"data":{"title":"de"}}`,
			status: 200},
	}
	for query, title := range map[string]string{
		"filters[locale]=fr":                                           "fr",
		"locale=de&filters[locale]=fr":                                 "fr",
		"locale=fr&filters[locale][$containsi]=E":                      "de",
		"locale=*&filters[locale][$in][]=en&filters[locale][$in][]=de": "de",
		"filters[locale][]=de&filters[locale][]=fr":                    "fr",
		"filters[locale][$notNull]=true":                               "fr",
		"filters[locale][$notNull]=true&filters[title]=de":             "de",
		"filters[locale]=en":                                           "",
		"locale=*":                                                     "",
		"locale=de&filters[$or][0][locale]=fr":                         "",
		"locale=de&filters[locale][$notNull]=true&filters[title]=":     "",
		"": "",
	} {
		x := exchange{name: query, method: "GET", path: "/api/articles/<a>?fields=title&" + query, status: 404,
			want: notFound}
		if title != "" {
			x.status, x.want = 200, `{"data":{"id":0,"documentId":"D","title":"`+title+`"},"meta":{}}`
		}
		exchanges = append(exchanges, x)
	}
	run(t, exchanges)
}
