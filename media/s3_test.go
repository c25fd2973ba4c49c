package media_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// A bucket is an in-memory server that speaks the protocol of Amazon S3.
type bucket struct {
	backend *s3mem.Backend
	url     string
	refuse  atomic.Bool         // refuse every write
	before  func(*http.Request) // called with each request; may be nil
}

func newBucket(t *testing.T) *bucket {
	t.Helper()
	log.SetOutput(io.Discard) // the server logs each refusal
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	b := &bucket{backend: s3mem.New()}
	if err := b.backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(b.backend).Server()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.refuse.Load() && (r.Method == "PUT" || r.Method == "POST") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if b.before != nil {
			b.before(r)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

// names returns the names in the bucket.
func (b *bucket) names(t *testing.T) (names []string) {
	t.Helper()
	list, err := b.backend.ListBucket("files", nil, gofakes3.ListBucketPage{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Contents {
		names = append(names, o.Key)
	}
	slices.Sort(names)
	return names
}

func (b *bucket) config(baseURL string) string {
	return fmt.Sprintf("upload: {config: {provider: s3, providerOptions: {endpoint: %q, bucket: files, region: eu-central-1, accessKey: key, secretKey: secret, baseUrl: %q}}}", b.url, baseURL)
}

// TestFilesOfABucketLeaveNothingOnTheDisk stores, serves, replaces and deletes files in a bucket. Nothing remains in
// the directory.
func TestFilesOfABucketLeaveNothingOnTheDisk(t *testing.T) {
	b := newBucket(t)
	s := serve(t, b.config(""))
	f := s.upload(file("photo.png", "image/png", pngOf(picture(600, 400))),
		file("page.html", "text/html", "<html><script>"))
	photo, page := f[0], f[1]
	if photo.Provider != "s3" || !strings.HasPrefix(photo.URL, "/uploads/photo_") {
		t.Errorf("%+v", photo)
	}
	want := []string{page.Hash + ".html", photo.Hash + ".png", "small_" + photo.Hash + ".png",
		"thumbnail_" + photo.Hash + ".png"}
	if got := b.names(t); !slices.Equal(got, want) {
		t.Errorf("in the bucket: %v", got)
	}
	for name, x := range photo.Formats {
		s.checkFormat(photo, name, x)
	}
	a := s.get(photo.URL)
	if string(a.body) != pngOf(picture(600, 400)) || a.header.Get("Content-Type") != "image/png" ||
		a.header.Get("ETag") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if a := s.get(photo.URL, "If-None-Match", a.header.Get("ETag")); a.status != 304 {
		t.Errorf("again: %d", a.status)
	}
	if a := s.get(photo.URL, "Range", "bytes=1-3"); a.status != 206 || string(a.body) != "PNG" {
		t.Errorf("a range: %d %q", a.status, a.body)
	}
	if a := s.get(page.URL); a.header.Get("Content-Disposition") != "attachment" {
		t.Errorf("a page: %v", a.header)
	}
	object, err := b.backend.HeadObject("files", page.Hash+".html")
	if err != nil || object.Metadata["Content-Disposition"] != "attachment" ||
		!strings.HasPrefix(object.Metadata["Content-Type"], "text/html") {
		t.Errorf("in the bucket: %v %v", object, err)
	}
	if a := s.get("/uploads/none.txt"); a.status != 404 {
		t.Errorf("what is not there: %d %s", a.status, a.body)
	}
	next := s.changed(photo.ID, file("next.png", "image/png", pngOf(picture(300, 200))))
	if got := b.names(t); len(got) != 3 || next.URL != photo.URL {
		t.Errorf("replaced: %v", got)
	}
	if a := s.get(photo.URL); string(a.body) != pngOf(picture(300, 200)) {
		t.Error("it has the old content")
	}
	for _, f := range []fileAnswer{photo, page} {
		if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", f.ID), "", nil); a.status != 200 {
			t.Errorf("delete: %d %s", a.status, a.body)
		}
	}
	if got := b.names(t); len(got) > 0 {
		t.Errorf("after that: %v", got)
	}
	s.empty()
}

// TestURLsBeginWithTheBaseURLOfTheBucket checks that the URL of a file begins with the configured base URL.
func TestURLsBeginWithTheBaseURLOfTheBucket(t *testing.T) {
	b := newBucket(t)
	s := serve(t, b.config("https://files.example.org/x/"))
	f := s.upload(file("a.png", "image/png", pngOf(picture(300, 200))))[0]
	if f.URL != "https://files.example.org/x/"+f.Hash+".png" ||
		f.Formats["thumbnail"].URL != "https://files.example.org/x/thumbnail_"+f.Hash+".png" {
		t.Errorf("%+v", f)
	}
	if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", f.ID), "", nil); a.status != 200 || len(b.names(t)) > 0 {
		t.Errorf("%d %v", a.status, b.names(t))
	}
}

// TestRefusalOfABucketLeavesNothing uploads to a storage that refuses writes. There is no document and nothing in the
// spool, and the answer does not reveal the storage's error.
func TestRefusalOfABucketLeavesNothing(t *testing.T) {
	b := newBucket(t)
	s := serve(t, b.config(""))
	f := s.upload(file("a.txt", "text/plain", "old"))[0]
	b.refuse.Store(true)
	s.expectErrors.Store(true)
	for _, query := range []string{"", fmt.Sprint("?id=", f.ID)} {
		if a := s.post(query, file("a.txt", "text/plain", "new")); a.status != 500 ||
			strings.Contains(string(a.body), "127.0.0.1") {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	b.refuse.Store(false)
	if a := s.get(f.URL); string(a.body) != "old" {
		t.Errorf("%s", a.body)
	}
	if _, spooled := s.stored(); len(s.allFiles()) != 1 || len(spooled) > 0 || len(b.names(t)) != 1 {
		t.Errorf("kept: %v %v %v", s.allFiles(), spooled, b.names(t))
	}
}

// TestReplacementInABucketIsFinishedAtTheStart replaces a file while the storage takes one object and refuses the next.
// The next start finishes the replacement, so that the image and its formats are not of two pictures.
func TestReplacementInABucketIsFinishedAtTheStart(t *testing.T) {
	b := newBucket(t)
	s := serve(t, b.config(""))
	f := s.upload(file("photo.png", "image/png", pngOf(picture(600, 400))))[0]
	var puts atomic.Int64
	b.before = func(r *http.Request) {
		if r.Method == "PUT" && puts.Add(1) == 1 {
			b.refuse.Store(true)
		}
	}
	s.expectErrors.Store(true)
	next := pngOf(picture(900, 300))
	if a := s.post(fmt.Sprint("?id=", f.ID), file("photo.png", "image/png", next)); a.status != 500 {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.stop()
	b.refuse.Store(false)
	s.expectErrors.Store(false)
	s.start()
	until := time.Now().Add(20 * time.Second)
	for {
		_, spooled := s.stored()
		if len(spooled) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("left: %v", spooled)
		}
	}
	now := s.allFiles()[0]
	if a := s.get(now.URL); string(a.body) != next || now.Width == nil || *now.Width != 900 {
		t.Errorf("%+v", now)
	}
	for name, x := range now.Formats {
		s.checkFormat(now, name, x)
	}
}

// TestFilesOfTheFormerProviderAreServed changes the provider to a bucket. The files in the directory are still served
// and can be deleted.
func TestFilesOfTheFormerProviderAreServed(t *testing.T) {
	s := serve(t, "")
	old := s.upload(file("a.txt", "text/plain", "old"))[0]
	s.stop()
	b := newBucket(t)
	writeFile(t, s.dir+"/config/plugins.yaml", b.config(""))
	s.start()
	s.upload(file("b.txt", "text/plain", "new"))
	if a := s.get(old.URL); string(a.body) != "old" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := s.changed(old.ID, file("c.txt", "text/plain", "changed")); got.URL != old.URL {
		t.Errorf("%+v", got)
	}
	if a := s.get(old.URL); string(a.body) != "changed" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.do("DELETE", fmt.Sprint("/api/upload/files/", old.ID), "", nil); a.status != 200 {
		t.Errorf("delete: %d %s", a.status, a.body)
	}
	if files, _ := s.stored(); len(files) > 0 || len(b.names(t)) != 1 {
		t.Errorf("%v %v", files, b.names(t))
	}
}
