package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
)

// TestFilesOfOtherTypesAreNotLinked links a sound where a media attribute takes images, in each way that there is. It
// is refused, and an upload that should have been linked leaves no file. Content from before the attribute said so is
// listed by check and cannot be published.
func TestFilesOfOtherTypesAreNotLinked(t *testing.T) {
	album := func(options string) string {
		return "kind: collectionType\ninfo: {singularName: album, pluralName: albums, displayName: A}\noptions: {draftAndPublish: true}\n" +
			"attributes: {name: {type: string}, cover: {type: media" + options +
			"}, page: {type: component, component: part.page}}\n"
	}
	page := func(options string) string {
		return "info: {displayName: P}\nattributes: {pictures: {type: media, multiple: true" + options + "}}\n"
	}
	dir := writeProject(t, map[string]string{
		"content-types/album.yaml": album(""), "components/part/page.yaml": page(""),
		"config/permissions.yaml": "roles: {public: {'api::album.album': [find, create, update, publish], 'plugin::upload.content-api': [find, upload]}}\n",
	})
	r, stop := run(t, dir, gateway.Options{}, nil)
	sound := uploadTo(t, r.Base, nil, wav)
	id := sound[0]["id"]
	status, answer := send(t, "POST", r.Base+"/api/albums?status=draft", "",
		fmt.Sprintf(`{"data":{"name":"before","cover":%v,"page":{"pictures":[%[1]v]}}}`, id))
	if status != 201 {
		t.Fatal(status, answer)
	}
	var before struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal([]byte(answer), &before); err != nil {
		t.Fatal(err)
	}
	stop()

	const images = ", allowedTypes: [images]"
	writeFiles(t, dir, map[string]string{"content-types/album.yaml": album(images),
		"components/part/page.yaml": page(images)})
	d, problems, _, err := gateway.Check(dir, gateway.Options{})
	if len(problems) > 0 || err != nil {
		t.Fatal(problems, err)
	}
	forecast, err := gateway.Directory(dir, gateway.Options{}).Foresee(t.Context(), d.Definition)
	if err != nil {
		t.Fatal(err)
	}
	var misfits []string
	for _, m := range forecast.Content.Misfits {
		misfits = append(misfits, m.String())
	}
	if want := []string{
		"api::album.album.cover takes only images, and a file is of another type: 1 version",
		"part.page.pictures in api::album.album takes only images, and a file is of another type: 1 version",
	}; !slices.Equal(misfits, want) {
		t.Errorf("misfits %q", misfits)
	}

	r, _ = run(t, dir, gateway.Options{}, nil)
	for _, c := range []struct{ name, method, path, body, at string }{
		{"publication", "POST", "/api/albums/" + before.Data.DocumentID + "/actions/publish", "", `["cover"],`},
		{"body", "POST", "/api/albums", `{"data":{"cover":%v}}`, `["cover"]`},
		{"list in a component", "POST", "/api/albums", `{"data":{"page":{"pictures":[%v]}}}`, `["page","pictures"]`},
		{"GraphQL", "POST", "/graphql", `{"query":"mutation{createAlbum(data:{cover:\"%v\"}){documentId}}"}`,
			`["cover"]`},
		{"batch", "POST", "/api/_batch",
			`{"operations":[{"op":"create","type":"api::album.album","data":{"cover":%v}}]}`, `["cover"]`},
	} {
		body := c.body
		if strings.Contains(body, "%v") {
			body = fmt.Sprintf(body, id)
		}
		_, answer := send(t, c.method, r.Base+c.path, "", body)
		if at := `"path":` + strings.TrimSuffix(c.at, ","); !strings.Contains(answer, at) ||
			!strings.Contains(answer, `takes only images, and \"file.bin\" is audio/`) || !strings.Contains(answer, "ValidationError") {
			t.Errorf("%s: %s", c.name, answer)
		}
	}
	if status, answer := send(t, "POST", r.Base+"/api/albums?status=draft", "",
		`{"data":{"name":"after"}}`); status != 201 {
		t.Fatal(status, answer)
	}
	to := map[string]string{"ref": "api::album.album", "refId": "2", "field": "cover"}
	if uploaded := uploadTo(t, r.Base, to, wav); uploaded != nil {
		t.Errorf("the sound was uploaded: %v", uploaded)
	}
	if _, files := get(t, r.Base+"/api/upload/files", ""); strings.Count(files, `"hash"`) != 1 {
		t.Errorf("files %s", files)
	}
	if uploaded := uploadTo(t, r.Base, to, pixel); len(uploaded) != 1 {
		t.Errorf("uploaded %v", uploaded)
	}
}

// wav is the beginning of a sound, and pixel an image.
var (
	wav   = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x44\xac\x00\x00\x88\x58\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	pixel = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")
)

// uploadTo uploads a file with fields of the form. It returns nil if that is refused with 400.
func uploadTo(t *testing.T, base string, fields map[string]string, content []byte) (uploaded []map[string]any) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("files", "file.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(base+"/api/upload", form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusBadRequest {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(&uploaded); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status, err)
	}
	return uploaded
}
