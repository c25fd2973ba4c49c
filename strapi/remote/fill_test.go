package remote_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"testing"
)

// A site is a server that speaks the content API, with the key of a full-access token.
type site struct {
	t    testing.TB
	base string
	key  string
}

// do sends a request and returns the status and the body of the answer.
func (s site) do(method, path, kind string, body []byte) (int, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	if body != nil {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// send sends v as JSON, and returns the answer. Any status of 400 or more fails the test.
func (s site) send(method, path string, v any) any {
	s.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	status, answer := s.do(method, path, "application/json", body)
	if status >= 400 {
		s.t.Fatalf("%s %s %s: %d %s", method, path, body, status, answer)
	}
	var got any
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &got); err != nil {
			s.t.Fatal(err)
		}
	}
	return got
}

type values = map[string]any

// write creates or changes a document and returns its documentId.
func (s site) write(method, path string, data values) string {
	s.t.Helper()
	return s.send(method, path, values{"data": data}).(values)["data"].(values)["documentId"].(string)
}

// upload uploads a file and returns its id.
func (s site) upload(name string, content []byte) any {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("files", name)
	if err != nil {
		s.t.Fatal(err)
	}
	part.Write(content)
	info, _ := json.Marshal(values{"alternativeText": "alt of " + name, "caption": "caption of " + name})
	form.WriteField("fileInfo", string(info))
	form.Close()
	status, answer := s.do("POST", "/api/upload", form.FormDataContentType(), body.Bytes())
	if status != 201 {
		s.t.Fatalf("upload: %d %s", status, answer)
	}
	var files []values
	if err := json.Unmarshal(answer, &files); err != nil {
		s.t.Fatal(err)
	}
	return files[0]["id"]
}

// picture returns a PNG image of one colour.
func picture(t testing.TB, width, height int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		img.Set(i%width, i/width, color.RGBA{R: uint8(width), G: 100, B: 50, A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fill writes content of the kitchen project that uses each kind of attribute, link, status and locale. It creates n
// documents of the types that tests page through.
func (s site) fill(n int) {
	s.t.Helper()
	small := s.upload("small.png", picture(s.t, 20, 10))
	large := s.upload("Crème brûlée.png", picture(s.t, 300, 200))
	text := s.upload("notes.txt", []byte("some notes\n"))
	user := s.send("POST", "/api/users", values{"username": "ada", "email": "ada@example.com", "password": "secret-1",
		"role": 1}).(values)
	s.send("POST", "/api/users", values{"username": "bob", "email": "bob@example.com", "password": "secret-2",
		"role": 2, "confirmed": true})

	var categories, people, menus []string
	for i := range 5 {
		data := values{"name": fmt.Sprintf("Category %d", i), "position": i}
		if i > 0 {
			data["parent"] = categories[0]
		}
		path := "/api/categories"
		if i == 4 {
			path += "?status=draft"
		}
		categories = append(categories, s.write("POST", path, data))
	}
	for i := range 4 {
		people = append(people, s.write("POST", "/api/people", values{"firstName": fmt.Sprintf("P%d", i), "age": 20 + i,
			"email": fmt.Sprintf("p%d@example.com", i), "avatar": small}))
		menus = append(menus,
			s.write("POST", "/api/menus", values{"title": fmt.Sprintf("Menu %d", i), "dishes": []values{
				{"name": "Soup", "price": 4.5, "categories": []string{categories[3], categories[1]}},
				{"name": "Bread", "categories": []string{categories[4], categories[0]}}}}))
	}
	s.fillRestaurants(n, categories, people, menus, small, large, text)
	s.fillOthers(n, user["documentId"], categories)
}

func (s site) fillRestaurants(n int, categories, people, menus []string, small, large, text any) {
	s.t.Helper()
	var restaurants []string
	for i := range n {
		data := values{"name": fmt.Sprintf("Restaurant %d", i), "seats": i + 1, "visits": "12345678901234",
			"tier": "gold", "vegan": i%2 == 0,
			"categories": []string{categories[i%4], categories[(i+2)%5]}, "owner": people[i%4],
			"hidden": "private text", "secret": "password"}
		path := "/api/restaurants"
		switch i % 5 {
		case 0:
			data["dz"] = []values{
				{"__component": "blocks.slider", "caption": "first", "files": []any{large, small}},
				{"__component": "blocks.rich-text", "body": "# Text"},
				{"__component": "default.closingperiod", "label": "Winter", "start_date": "2026-12-24", "media": text},
				{"__component": "blocks.slider", "caption": "last"}}
			data["gallery"], data["cover"] = []any{text, large, small}, large
			data["address"] = values{"street": "Main", "city": "Graz", "geo": values{"lat": 47.07, "lng": 15.43}}
		case 1:
			data["closingPeriods"] = []values{{"label": "B", "media": small}, {"label": "A", "end_date": "2026-01-02"}}
			data["description"] = []values{{"type": "paragraph",
				"children": []values{{"type": "text", "text": "Hi & <you>"}}}}
			data["extra"] = values{"z": []any{1, "two", nil, 1.25}, "a": values{}}
			data["opensAt"], data["openedOn"], data["inspectedAt"] = "08:30:00.000", "2020-02-29",
				"2026-11-22T10:00:00.000Z"
		case 2:
			path += "?status=draft"
			data["rating"], data["price"], data["contact"] = 4.25, 19.99, "x@example.com"
		}
		if i < len(menus) {
			data["menu"] = menus[i]
		}
		if i > 1 {
			data["related"] = []string{restaurants[i-1], restaurants[i-2]}
		}
		id := s.write("POST", path, data)
		restaurants = append(restaurants, id)
		if i%3 == 0 {
			s.write("PUT", "/api/restaurants/"+id+"?locale=fr",
				values{"name": fmt.Sprintf("Resto %d", i), "summary": "en français",
					"categories": []string{categories[1]}})
		}
		if i%4 == 0 {
			s.write("PUT", "/api/restaurants/"+id+"?status=draft", values{"name": fmt.Sprintf("Edited %d", i),
				"categories": []string{categories[2], categories[1], categories[0]}})
		}
		s.write("POST", "/api/reviews", values{"stars": i%5 + 1, "comment": fmt.Sprintf("Review %d", i),
			"restaurant": id})
	}
	s.write("PUT", "/api/homepage", values{"title": "Home", "featured": []string{restaurants[1], restaurants[0]},
		"hero": []values{{"__component": "blocks.slider", "caption": "hero", "files": []any{small, large}}}})
	s.write("PUT", "/api/homepage?locale=de&status=draft", values{"title": "Start", "featured": []string{}})
	s.write("POST", "/api/meal-plans",
		values{"title": "Plan of places", "days": 3, "places": []string{restaurants[1], restaurants[0]}})
}

func (s site) fillOthers(n int, user any, categories []string) {
	s.t.Helper()
	for i := range n {
		data := values{"title": fmt.Sprintf("Plan %d", i), "code": "ABC", "days": i, "level": "very hard",
			"steps": []values{{"name": "Step", "categories": []string{categories[2], categories[0]}}}}
		if i%2 == 0 {
			data["author"] = user
		}
		id := s.write("POST", "/api/meal-plans", data)
		if i%2 == 1 {
			s.write("PUT", "/api/meal-plans/"+id+"?locale=de", values{"title": fmt.Sprintf("Plan %d auf Deutsch", i)})
		}
	}
	s.write("PUT", "/api/setting", values{"siteName": "Kitchen", "maintenance": true})
}
