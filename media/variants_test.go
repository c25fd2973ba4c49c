package media_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/gateway/admin"
	"lectern/media"
)

const imageSecret = "a secret of images"

// imageConfig returns a config/plugins.yaml that allows some sizes without a signature, and all with one.
func imageConfig(more string) string {
	return fmt.Sprintf("upload: {config: {images: {sizes: [40, 60x60, x20], secret: %s}%s}}", imageSecret, more)
}

// imageStats returns the counters of images on request.
func (s *server) imageStats() (stats media.ImageStats) {
	s.Helper()
	err := s.project.View(s.Context(), func(c admin.Content) error {
		stats = c.Media.ImageStats()
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return stats
}

// signed returns the URL of a file with the parameters of a variant and their signature.
func (s *server) signed(fileURL, query string) string {
	s.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		s.Fatal(err)
	}
	v := media.Variant{Fit: media.Fit(values.Get("fit")), Format: values.Get("format")}
	fmt.Sscan(values.Get("width"), &v.Width)
	fmt.Sscan(values.Get("height"), &v.Height)
	link, err := v.SignedURL(imageSecret, fileURL)
	if err != nil {
		s.Fatal(err)
	}
	return link
}

// TestVariantsHaveTheirFitAndFormat asks for images in every fit and format, and checks their size, their type and the
// colours near their corners.
func TestVariantsHaveTheirFitAndFormat(t *testing.T) {
	s := serve(t, imageConfig(""))
	red, green, blue, white, black := color.RGBA{255, 0, 0, 255}, color.RGBA{0, 255, 0, 255},
		color.RGBA{0, 0, 255, 255}, color.White, color.Black
	corners := []color.Color{red, green, blue, white} // clockwise
	wide := s.upload(file("wide.png", "image/png", pngOf(picture(120, 80))))[0].URL
	photo := s.upload(file("photo.jpg", "image/jpeg", jpegOf(picture(120, 80), 0)))[0].URL
	onSide := s.upload(file("side.jpg", "image/jpeg", jpegOf(picture(120, 80), 6)))[0].URL // shown turned clockwise
	flat := s.upload(file("flat.webp", "image/webp", webpFlat(120, 80)))[0].URL
	for _, test := range []struct {
		url, query string
		want       string // type, width and height
		corners    []color.Color
	}{
		{wide, "width=40", "image/png 40x27", corners},
		{wide, "height=20", "image/png 30x20", corners},
		{wide, "width=60&height=60", "image/png 60x40", corners},
		{wide, "width=60&height=60&fit=inside", "image/png 60x40", corners},
		{wide, "width=60&height=60&fit=outside", "image/png 90x60", corners},
		{wide, "width=60&height=60&fit=cover", "image/png 60x60", corners},
		{wide, "width=60&height=60&fit=contain", "image/png 60x60", []color.Color{black, black, black, black}},
		{wide, "width=60&height=60&fit=fill", "image/png 60x60", corners},
		{wide, "width=40&format=jpeg", "image/jpeg 40x27", corners},
		{wide, "width=40&format=webp", "image/webp 40x27", corners},
		{photo, "width=40", "image/jpeg 40x27", corners},
		{photo, "width=40&format=png", "image/png 40x27", corners},
		{onSide, "width=40", "image/jpeg 40x60", []color.Color{white, red, green, blue}},
		{onSide, "width=60&height=60&fit=cover", "image/jpeg 60x60", []color.Color{white, red, green, blue}},
		{flat, "width=40", "image/webp 40x27", nil},
		{flat, "width=40&format=webp", "image/webp 40x27", nil},
	} {
		a := s.get(test.url + "?" + test.query)
		m, _, err := image.Decode(bytes.NewReader(a.body))
		if a.status != 200 || err != nil {
			t.Errorf("%s: %d %v", test.query, a.status, err)
			continue
		}
		size := m.Bounds().Size()
		if got := fmt.Sprintf("%s %dx%d", a.header.Get("Content-Type"), size.X, size.Y); got != test.want {
			t.Errorf("%s?%s: %s, not %s", test.url, test.query, got, test.want)
		}
		for i, want := range test.corners {
			x, y := []int{4, size.X - 5, size.X - 5, 4}[i], []int{4, 4, size.Y - 5, size.Y - 5}[i]
			if !near(m.At(x, y), want) {
				t.Errorf("%s?%s: corner %d is %v, not %v", test.url, test.query, i, m.At(x, y), want)
			}
		}
		if strings.Contains(test.query, "contain") && !near(m.At(4, 14), red) {
			t.Errorf("%s: the image is not in the middle: %v", test.query, m.At(4, 14))
		}
	}
}

// TestVariantsOfOtherFiles checks that files of which no variant is made are served as they are, also images that
// cannot be decoded, and images of too many pixels refused.
func TestVariantsOfOtherFiles(t *testing.T) {
	s := serve(t, imageConfig(", pixelLimit: 10000"))
	animated := riff("VP8X", "\x02"+vp8x(10, 10)[1:], "ANIM", "\x00\x00\x00\x00\x00\x00")
	still := pngOf(picture(100, 100))
	control := "acTL\x00\x00\x00\x01\x00\x00\x00\x00"
	animatedPNG := still[:33] + "\x00\x00\x00\x08" +
		string(binary.BigEndian.AppendUint32([]byte(control), crc32.ChecksumIEEE([]byte(control)))) + still[33:]
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><script/></svg>`
	for name, data := range map[string]string{
		"a.gif": gifOf(picture(100, 100)), "a.svg": svg, "a.webp": animated, "a.png": animatedPNG, "a.txt": "hello",
		"called.png": svg,
	} {
		f := s.upload(file(name, "image/png", data))[0]
		if a := s.get(f.URL + "?width=40&format=png"); a.status != 200 || string(a.body) != data ||
			a.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d, %d bytes", name, a.status, len(a.body))
		}
	}
	for name, data := range map[string]string{
		"huge.png": pngHead(100000, 100000), "large.png": pngOf(picture(101, 100)),
		"hidden.webp": riff("VP8X", vp8x(10, 10), "VP8L", webpFlat(16383, 16383)[20:]),
	} {
		writeFile(t, filepath.Join(s.dir, "data/uploads", name), data) // as an operator may
		if a := s.get("/uploads/" + name + "?width=40"); a.status != 400 ||
			!strings.Contains(string(a.body), "ApplicationError") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if got := s.imageStats(); got.Made != 0 || got.Cache.Files != 0 {
		t.Errorf("%+v", got)
	}
	cut := still[:200]
	writeFile(t, filepath.Join(s.dir, "data/uploads/cut-off.png"), cut)
	for range 2 {
		if a := s.get("/uploads/cut-off.png?width=40"); a.status != 200 || string(a.body) != cut ||
			a.header.Get("Content-Type") != "image/png" {
			t.Errorf("cut off: %d %q", a.status, a.body)
		}
	}
	if got := s.imageStats(); got.Made != 0 || got.Cached != 1 { // it was decoded once
		t.Errorf("%+v", got)
	}
}

// TestVariantParameters checks which requests are refused, and that other parameters are ignored.
func TestVariantParameters(t *testing.T) {
	s := serve(t, imageConfig(""))
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	valid := strings.TrimPrefix(s.signed(f, "width=50"), f+"?")
	for query, status := range map[string]int{
		"width=40":                            200,
		"width=40&height=":                    400,
		"width=50":                            400,
		"width=40&height=40":                  400,
		"format=png":                          400,
		"width=0":                             400,
		"width=-40":                           400,
		"width=+40":                           400,
		"width=040":                           400,
		"width=4e1":                           400,
		"width=40.0":                          400,
		"width=99999999999999999999":          400,
		"width=10001":                         400,
		"width=40&width=40":                   400,
		"width=40&format=gif":                 400,
		"width=40&format=avif":                400,
		"width=40&fit=middle":                 400,
		"fit=cover":                           400,
		"%zz=1":                               400,
		"signature=abc":                       400,
		valid:                                 200,
		valid + "&v=7":                        200,
		strings.Replace(valid, "50", "51", 1): 403,
		valid + "0":                           403,
		valid[:len(valid)-1]:                  403,
		valid + "&format=webp":                403,
		valid + "&signature=x":                400,
		"width=50&signature=":                 400,
		"width=40&signature=x":                403,
		s.signed("", "width=10000")[1:]:       403, // of another file
		s.signed(f, "width=9&height=9")[len(f)+1:]:  200,
		s.signed(f, "format=webp")[len(f)+1:]:       200,
		s.signed(f, "width=10000")[len(f)+1:]:       200,
		s.signed(f, "width=40&fit=fill")[len(f)+1:]: 200,
	} {
		a := s.get(f + "?" + query)
		if a.status != status || status != 200 && !strings.Contains(string(a.body), `"error":{"status":`) {
			t.Errorf("%s: %d %.300s", query, a.status, a.body)
		}
	}
	original := pngOf(picture(120, 80))
	for _, query := range []string{"", "?", "?v=1", "?v=1&v=2", "?updatedAt=2026", "?width[]=40", "?Width=40"} {
		if a := s.get(f + query); a.status != 200 || string(a.body) != original {
			t.Errorf("%s: %d, not the original", query, a.status)
		}
	}
	for _, path := range []string{"/uploads/none.png", "/uploads/.incoming/spare", "/uploads/..%2fcontent.db",
		"/uploads/../content.db", "/uploads/a/b.png"} {
		if a := s.get(path + "?width=40"); a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// TestQueryChangesNothingWithoutVariants checks that without configured sizes and without a secret a query changes
// nothing, and that the cache of an earlier run is removed.
func TestQueryChangesNothingWithoutVariants(t *testing.T) {
	s := serve(t, imageConfig(""))
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	if a := s.get(f + "?width=40"); a.status != 200 || s.imageStats().Cache.Files != 1 {
		t.Errorf("%d %+v", a.status, s.imageStats())
	}
	s.stop()
	writeFile(t, filepath.Join(s.dir, "config/plugins.yaml"), "")
	s.start()
	for _, query := range []string{"?width=40", "?width=0", "?width=1&width=2", "?fit=x&signature=y", "?%zz"} {
		if a := s.get(f + query); a.status != 200 || string(a.body) != pngOf(picture(120, 80)) {
			t.Errorf("%s: %d", query, a.status)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "data/image-cache")); !os.IsNotExist(err) ||
		s.imageStats() != (media.ImageStats{}) {
		t.Errorf("%v %+v", err, s.imageStats())
	}
}

// TestVariantsAnswerConditionsAndRanges checks the headers of variants, conditional requests, ranges and HEAD.
func TestVariantsAnswerConditionsAndRanges(t *testing.T) {
	s := serve(t, imageConfig(`, cacheControl: "max-age=60"`))
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	original := s.get(f)
	a := s.get(f + "?width=40")
	etag := a.header.Get("ETag")
	if a.header.Get("Cache-Control") != "max-age=60" || a.header.Get("Last-Modified") != original.header.Get(
		"Last-Modified") || len(etag) < 10 || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", a.header)
	}
	for _, other := range []string{original.header.Get("ETag"), s.get(f + "?height=20").header.Get("ETag"),
		s.get(f + "?width=40&format=webp").header.Get("ETag")} {
		if other == etag {
			t.Errorf("two images have the ETag %s", etag)
		}
	}
	if again := s.get(f + "?fit=inside&width=40"); again.header.Get("ETag") != etag ||
		!bytes.Equal(again.body, a.body) {
		t.Error("the same image has another ETag")
	}
	if got := s.get(f+"?width=40", "If-None-Match", etag); got.status != 304 || len(got.body) > 0 {
		t.Errorf("If-None-Match: %d", got.status)
	}
	if got := s.get(f+"?width=40", "Range", "bytes=0-9"); got.status != 206 || !bytes.Equal(got.body, a.body[:10]) {
		t.Errorf("Range: %d %q", got.status, got.body)
	}
	if got := s.do("HEAD", f+"?height=20", "", nil); got.status != 200 ||
		got.header.Get("Content-Type") != "image/png" || got.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v", got.status, got.header)
	}
	if got := s.imageStats(); got.Made != 3 || got.Cached != 4 || got.Cache.Files != 3 {
		t.Errorf("%+v", got)
	}
}

// TestVariantsTogether asks for one image from a hundred clients at once. It is made once.
func TestVariantsTogether(t *testing.T) {
	s := serve(t, imageConfig(""))
	f := s.upload(file("a.jpg", "image/jpeg", jpegOf(picture(1200, 800), 0)))[0].URL
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			if a := s.get(f + "?width=40"); a.status != 200 || a.header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	clients.Wait()
	if got := s.imageStats(); got.Made != 1 {
		t.Errorf("made %d times", got.Made)
	}
}

// noise returns an image that no encoder makes much smaller.
func noise(w, h int) *image.RGBA {
	m, random := image.NewRGBA(image.Rect(0, 0, w, h)), rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = uint8(random.Uint32()) | 255*uint8(i%4/3)
	}
	return m
}

// cached returns how many bytes the files of the image cache have, and their paths.
func (s *server) cached() (total int64, paths []string) {
	s.Helper()
	dir := filepath.Join(s.dir, "data/image-cache")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			s.Fatal(err)
		}
		total += info.Size()
		paths = append(paths, filepath.Join(dir, e.Name()))
	}
	return total, paths
}

// TestVariantCacheBound asks for more images than the cache can hold. Its files never have more bytes than it may have,
// and all images are served, also one that is too large to be cached.
func TestVariantCacheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	s := serve(t, fmt.Sprintf("upload: {config: {images: {secret: %s, cache: 1mb}}}", imageSecret))
	f := s.upload(file("a.png", "image/png", pngOf(noise(400, 400))))[0].URL
	for side := 150; side < 180; side++ {
		if a := s.get(s.signed(f, fmt.Sprint("width=", side))); a.status != 200 {
			t.Fatalf("%d: %d %s", side, a.status, a.body)
		}
		if total, _ := s.cached(); total > 1<<20 {
			t.Fatalf("%d bytes in the cache", total)
		}
	}
	if got := s.imageStats(); got.Made != 30 || got.Cache.Evicted == 0 || got.Cache.Files < 5 {
		t.Errorf("%+v", got)
	}
	before := s.imageStats().Cache
	for range 2 {
		if a := s.get(s.signed(f, "format=png&width=390")); a.status != 200 || len(a.body) < 1<<18 {
			t.Errorf("too large to be cached: %d, %d bytes", a.status, len(a.body))
		}
	}
	if got := s.imageStats(); got.Cache != before || got.Made != 32 {
		t.Errorf("%+v, before %+v", got, before)
	}
}

// TestVariantCacheOutlivesARestart restarts the server, which serves cached images without making them again, unless
// they are damaged. A backup does not have them.
func TestVariantCacheOutlivesARestart(t *testing.T) {
	s := serve(t, imageConfig(""))
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	first := s.get(f + "?width=40")
	s.stop()
	s.start()
	if again := s.get(f + "?width=40"); !bytes.Equal(again.body, first.body) ||
		again.header.Get("ETag") != first.header.Get("ETag") || s.imageStats().Made != 0 {
		t.Errorf("after a restart: %d %+v", again.status, s.imageStats())
	}
	_, paths := s.cached()
	if len(paths) != 1 {
		t.Fatalf("%v", paths)
	}
	for i, content := range []string{"", "short", string(first.body)} {
		writeFile(t, paths[0], content)
		if again := s.get(f + "?width=40"); !bytes.Equal(again.body, first.body) || s.imageStats().Made != int64(i+1) {
			t.Errorf("damaged: %d %+v", again.status, s.imageStats())
		}
	}
	if err := os.RemoveAll(filepath.Dir(paths[0])); err != nil {
		t.Fatal(err)
	}
	if again := s.get(f + "?width=40"); !bytes.Equal(again.body, first.body) || s.imageStats().Made != 4 {
		t.Errorf("removed: %d %+v", again.status, s.imageStats())
	}
	var backup bytes.Buffer
	if err := s.project.Backup(t.Context(), &backup); err != nil ||
		bytes.Contains(backup.Bytes(), []byte("image-cache")) {
		t.Errorf("backup: %v", err)
	}
}

// TestVariantsAreServedIfTheyCannotBeCached checks that images are served when they cannot be cached, and that the log
// says so once.
func TestVariantsAreServedIfTheyCannotBeCached(t *testing.T) {
	s := serve(t, imageConfig(""))
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	s.expectErrors.Store(true)
	writeFile(t, filepath.Join(s.dir, "data/image-cache"), "") // where the directory belongs
	for range 2 {
		if a := s.get(f + "?width=40"); a.status != 200 || a.header.Get("Content-Type") != "image/png" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if got := s.imageStats(); got.Made != 2 || got.Cache.Bytes != 0 {
		t.Errorf("%+v", got)
	}
}

// TestVariantsFollowTheFile replaces and deletes a file. Its variants are removed from the cache, and those of other
// files stay.
func TestVariantsFollowTheFile(t *testing.T) {
	s := serve(t, imageConfig(""))
	files := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))),
		file("b.png", "image/png", pngOf(picture(120, 80))))
	for _, f := range files {
		s.get(f.URL + "?width=40")
		s.get(f.URL + "?height=20")
	}
	old := s.get(files[0].URL + "?width=40")
	s.changed(files[0].ID, file("a.png", "image/png", pngOf(picture(80, 120))))
	if _, paths := s.cached(); len(paths) != 2 {
		t.Errorf("after the replacement: %v", paths)
	}
	a := s.get(files[0].URL + "?width=40")
	if c, _, err := image.DecodeConfig(bytes.NewReader(a.body)); err != nil || c.Width != 40 || c.Height != 60 ||
		a.header.Get("ETag") == old.header.Get("ETag") {
		t.Errorf("%v %+v", err, c)
	}
	if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", files[0].ID), "", nil); a.status != 200 {
		t.Fatalf("delete: %d", a.status)
	}
	if _, paths := s.cached(); len(paths) != 2 || s.get(files[0].URL+"?width=40").status != 404 ||
		s.get(files[1].URL+"?width=40").status != 200 {
		t.Errorf("after the removal: %v", paths)
	}
}

// TestVariantMemory checks that an image that takes more memory than there is is refused before it is decoded.
func TestVariantMemory(t *testing.T) {
	dir := writeProject(t, imageConfig(""))
	writeFile(t, filepath.Join(dir, "config/server.yaml"), "limits: {memory: 32mb, answer: 4mb}")
	s := &server{T: t, dir: dir}
	s.start()
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	writeFile(t, filepath.Join(s.dir, "data/uploads/large.png"), pngHead(4000, 4000)) // 64 MB
	for _, link := range []string{"/uploads/large.png?width=40", s.signed(f, "width=3000&height=3000&fit=fill"),
		s.signed(f, "width=3000&height=3000&fit=contain")} {
		if a := s.get(link); a.status != 400 || !strings.Contains(string(a.body), "limits.memory") {
			t.Errorf("%s: %d %s", link, a.status, a.body)
		}
	}
	if a := s.get(f + "?width=40"); a.status != 200 {
		t.Errorf("a small one: %d %s", a.status, a.body)
	}
}

// TestVariantsOfABucketEndWithTheirClient makes variants of files in a bucket. While the bucket does not answer, the
// client leaves: the work for it ends.
func TestVariantsOfABucketEndWithTheirClient(t *testing.T) {
	b := newBucket(t)
	config := strings.Replace(b.config(""), "config: {", "config: {images: {sizes: [40, 50]}, ", 1)
	s := serve(t, config)
	f := s.upload(file("a.png", "image/png", pngOf(picture(120, 80))))[0].URL
	a := s.get(f + "?width=40")
	if c, _, err := image.DecodeConfig(bytes.NewReader(a.body)); a.status != 200 || err != nil || c.Width != 40 {
		t.Errorf("%d %v %+v", a.status, err, c)
	}
	var gets atomic.Int32
	hanging, ended := make(chan struct{}), make(chan struct{})
	b.before = func(r *http.Request) {
		if r.Method == "GET" && gets.Add(1) == 2 { // the first is for the head of the file
			close(hanging)
			<-r.Context().Done()
			close(ended)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", s.base+f+"?width=50", nil)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := http.DefaultClient.Do(r)
		answered <- err
	}()
	timeout := time.After(20 * time.Second)
	wait := func(what string, c chan struct{}) {
		select {
		case <-c:
		case <-timeout:
			t.Fatalf("%s did not happen", what)
		}
	}
	wait("the request to the bucket", hanging)
	leave()
	wait("the end of the request to the bucket", ended)
	if err := <-answered; err == nil {
		t.Error("it was answered")
	}
	if got := s.imageStats(); got.Made != 1 {
		t.Errorf("%+v", got)
	}
}
