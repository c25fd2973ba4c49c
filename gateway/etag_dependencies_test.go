package gateway_test

import (
	"fmt"
	"net/http"
	"testing"
)

// dependentFiles are a project whose answers can show and be decided by other types in every way: relations in both
// directions, through components and dynamic zones, polymorphic ones, and files.
var dependentFiles = map[string]string{
	"content-types/story.yaml": `
kind: collectionType
info: {singularName: story, pluralName: stories, displayName: Story}
attributes:
  title: {type: string}
  cover: {type: media}
  owner: {type: relation, relation: manyToOne, target: api::writer.writer, inversedBy: stories}
  about: {type: relation, relation: morphToMany}
  body: {type: component, component: parts.quote, repeatable: true}
  zone: {type: dynamiczone, components: [parts.quote, parts.rule]}
`,
	"content-types/writer.yaml": `
kind: collectionType
info: {singularName: writer, pluralName: writers, displayName: Writer}
attributes:
  name: {type: string}
  picture: {type: media}
  city: {type: relation, relation: manyToOne, target: api::city.city}
  stories: {type: relation, relation: oneToMany, target: api::story.story, mappedBy: owner}
`,
	"content-types/city.yaml": `
kind: collectionType
info: {singularName: city, pluralName: cities, displayName: City}
attributes:
  name: {type: string}
`,
	"components/parts/quote.yaml": `
info: {displayName: Quote}
attributes:
  text: {type: string}
  picture: {type: media}
  by: {type: relation, relation: oneToOne, target: api::writer.writer}
`,
	"components/parts/rule.yaml": `
info: {displayName: Rule}
attributes:
  width: {type: integer}
`,
}

// TestETagsDependOnWhatAnswersShow changes one document at a time, and asks for answers which that changes: each must
// get another ETag.
func TestETagsDependOnWhatAnswersShow(t *testing.T) {
	a := serve(t, dependentFiles)
	create := func(plural string, data object) string {
		return a.want(201, "POST", "/api/"+plural, "full", object{"data": data}).at("data.documentId").(string)
	}
	a.upload("full", fileForm("a.txt", []byte("hello")))
	file := 1
	city := create("cities", object{"name": "ada"})
	writer := create("writers", object{"name": "ada", "city": city, "picture": file})
	other := create("writers", object{"name": "b", "city": create("cities", object{"name": "b"})})
	quote := object{"text": "x", "by": writer, "picture": file}
	story := object{"title": "one", "owner": writer, "cover": file, "body": []any{quote},
		"zone": []any{object{"__component": "parts.quote", "text": "x", "by": writer, "picture": file},
			object{"__component": "parts.rule", "width": 3}},
		"about": []any{object{"__type": "api::writer.writer", "documentId": writer}}}
	create("stories", story)
	create("stories", object{"title": "two", "owner": other})
	names := []string{"c", "ada"} // before and behind "b", and what filters ask for
	rename := func(path string) func(int) {
		return func(turn int) { a.want(200, "PUT", path, "full", object{"data": object{"name": names[turn%2]}}) }
	}
	for _, test := range []struct {
		changed string
		change  func(turn int)
		paths   []string
	}{
		{"the writer's name", rename("/api/writers/" + writer), []string{
			"/api/stories?populate=*", "/api/stories?populate=owner", "/api/stories?populate[body][populate]=by",
			"/api/stories?populate[zone][on][parts.quote][populate]=by",
			"/api/stories?populate[zone][on][parts.quote][filters][by][name]=ada",
			"/api/stories?populate[zone][on][parts.rule]=true&populate[owner][fields]=name",
			"/api/stories?populate=about", "/api/stories?populate[about][on][api::writer.writer][fields]=name",
			"/api/stories?populate[about][on][api::writer.writer][filters][name]=ada",
			"/api/stories?populate[cover][populate]=related",
			"/api/stories?filters[owner][name]=ada&filters[title][$ne]=none",
			byGET("{stories{about{... on Writer{name}}}}"),
			"/api/stories?filters[owner][name]=ada", "/api/stories?filters[$not][owner][name]=ada",
			"/api/stories?filters[body][by][name]=ada",
			"/api/stories?filters[$or][0][owner][name]=ada&filters[$or][1][title]=none",
			"/api/stories?filters[$and][0][$or][0][owner][name]=ada",
			"/api/stories?sort=owner.name", "/api/writers?populate[stories][filters][owner][name]=ada",
			"/api/writers?populate[stories][populate]=owner",
			byGET("{stories{owner{name}}}"), byGET("{stories{body{by{name}}}}"),
			byGET("{stories{zone{... on ComponentPartsQuote{by{name}}}}}"),
			byGET("query{stories{...F}} fragment F on Story{zone{__typename ...G}} fragment G on ComponentPartsQuote{by{name}}"),
			byGET(`{stories(filters:{owner:{name:{eq:"ada"}}}){title}}`),
			byGET(`{stories(filters:{not:{owner:{name:{eq:"ada"}}}}){title}}`),
			byGET(`{stories(filters:{or:[{owner:{name:{eq:"ada"}}},{title:{eq:"none"}}]}){title}}`),
			byGET(`{stories(sort:"owner.name"){title}}`),
			byGET(`{stories_connection(filters:{owner:{name:{eq:"ada"}}}){pageInfo{total}}}`),
			byGET(`{writers{stories(filters:{owner:{name:{eq:"ada"}}}){title}}}`),
			byGET("{writers{stories{owner{name}}}}"),
		}},
		{"the city's name", rename("/api/cities/" + city), []string{
			"/api/stories?populate[owner][populate]=city",
			"/api/stories?populate[zone][on][parts.quote][populate][by][populate]=city",
			"/api/stories?populate[about][on][api::writer.writer][populate]=city",
			"/api/stories?filters[owner][city][name]=ada",
			"/api/stories?populate[owner][filters][city][name]=ada", "/api/writers?sort=city.name",
			"/api/stories?populate[body][populate][by][populate]=city",
			byGET("{stories{owner{city{name}}}}"), byGET(`{stories(filters:{owner:{city:{name:{eq:"ada"}}}}){title}}`),
			byGET("{stories{zone{... on ComponentPartsQuote{by{city{name}}}}}}"),
		}},
		{"the file's caption", func(turn int) {
			form := fmt.Sprintf(
				"--b\r\nContent-Disposition: form-data; name=\"fileInfo\"\r\n\r\n{\"caption\": \"caption %d\"}\r\n--b--\r\n", turn)
			a.want(200, "POST", fmt.Sprint("/api/upload?id=", file), "full", form, "Content-Type",
				"multipart/form-data; boundary=b")
		}, []string{
			"/api/stories?populate=cover", "/api/stories?populate[zone][on][parts.quote][populate]=picture",
			"/api/stories?populate[body][populate]=picture",
			"/api/stories?populate[owner][populate]=picture",
			"/api/stories?populate[about][on][api::writer.writer][populate]=picture",
			byGET("{stories{cover{caption}}}"), byGET("{stories{owner{picture{caption}}}}"),
			byGET("{stories{zone{... on ComponentPartsQuote{picture{caption}}}}}"),
		}},
		{"the writer's stories",
			func(turn int) { create("stories", object{"title": fmt.Sprint("turn ", turn), "owner": writer}) }, []string{
				"/api/writers?filters[stories][title]=turn+0",
				byGET(`{writers(filters:{stories:{title:{eq:"turn 1"}}}){name}}`),
				"/api/writers?populate=stories", "/api/writers?populate[stories][count]=true",
				byGET("{writers{stories{title}}}"), byGET("{writers{stories_connection{nodes{title}}}}"),
			}},
	} {
		turn := 0
		for _, path := range test.paths {
			before := a.do("GET", path, "full", nil, preflight...)
			test.change(turn)
			turn++
			after := a.do("GET", path, "full", nil, preflight...)
			if before.status != http.StatusOK || after.status != http.StatusOK || before.text == after.text {
				t.Errorf("%s does not change GET %s: %d %.300s, %d %.300s", test.changed, path, before.status,
					before.text, after.status, after.text)
				continue
			}
			if was, is := before.header.Get("ETag"), after.header.Get("ETag"); was == is {
				t.Errorf("%s changes GET %s, and not its ETag %q", test.changed, path, is)
			}
		}
	}
}
