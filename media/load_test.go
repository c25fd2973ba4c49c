package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// most limits the memory of a server under load, without the kernel's file cache.
const most = 150 << 20

// TestLoadLosesNoUploadAndStaysInItsMemory uploads files of 1 MB from 16 clients, and images of 4 megapixels, to a
// server in its own process. No upload is lost, and the server's memory stays below most. MEDIA_TEST_LOAD sets the
// number of files; for each twenty files there is one image.
func TestLoadLosesNoUploadAndStaysInItsMemory(t *testing.T) {
	files, err := strconv.Atoi(os.Getenv("MEDIA_TEST_LOAD"))
	switch {
	case err == nil:
	case testing.Short():
		files = 8
	default:
		files = 60
	}
	dir := writeProject(t, "")
	base, pid := startWatched(t, dir)
	peak := watchMemory(t, pid)
	s := &server{T: t, base: base, dir: dir}

	sums := sync.Map{} // checksum of the sent content by url
	began := time.Now()
	share := func(clients, n int, do func(i int)) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for i := next.Add(1); i <= int64(n) && !t.Failed(); i = next.Add(1) {
					do(int(i))
				}
			})
		}
		all.Wait()
	}
	send := func(name string, data []byte) {
		if url := s.stream(name, data); url != "" {
			sums.Store(url, sha256.Sum256(data))
		}
	}
	share(16, files, func(i int) {
		data := make([]byte, 1<<20)
		rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(data)
		send("opaque.bin", data)
	})
	t.Logf("%d files in %v, anonymous memory up to %d MB", files, time.Since(began).Round(time.Millisecond), peak()>>20)

	began = time.Now()
	images := [][]byte{[]byte(jpegOf(noisy(2400, 1600), 6)), []byte(pngOf(noisy(2400, 1600)))}
	share(8, files/20, func(i int) { send("image.jpg", images[i%2]) })
	t.Logf("%d images in %v, anonymous memory up to %d MB", files/20, time.Since(began).Round(time.Millisecond),
		peak()>>20)

	count := 0
	sums.Range(func(url, sum any) bool {
		count++
		res, err := http.Get(base + url.(string))
		if err != nil {
			t.Error(err)
			return false
		}
		defer res.Body.Close()
		h := sha256.New()
		io.Copy(h, res.Body)
		if got := h.Sum(nil); !bytes.Equal(got, slice(sum.([32]byte))) {
			t.Errorf("%s: lost or changed", url)
		}
		return true
	})
	if count != files+files/20 {
		t.Errorf("%d of %d uploads came in", count, files+files/20)
	}
	if got := peak(); got > most && !raceDetector {
		t.Errorf("the server took %d MB of anonymous memory", got>>20)
	}
}

func slice(sum [32]byte) []byte { return sum[:] }

// noisy returns an image that compresses badly.
func noisy(w, h int) image.Image {
	m := picture(w, h)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		if i%4 != 3 {
			m.Pix[i] = m.Pix[i]/2 + uint8(rng.Int())>>3
		}
	}
	return m
}

// stream uploads a file without buffering the form in memory.
func (s *server) stream(name string, data []byte) (url string) {
	head, contentType := form(file(name, "", "|"))
	before, after, _ := bytes.Cut(head, []byte("|"))
	r, err := http.NewRequest("POST", s.base+"/api/upload",
		io.MultiReader(bytes.NewReader(before), bytes.NewReader(data), bytes.NewReader(after)))
	if err != nil {
		s.Error(err)
		return ""
	}
	r.ContentLength = int64(len(before) + len(data) + len(after))
	r.Header.Set("Content-Type", contentType)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Error(err)
		return ""
	}
	defer res.Body.Close()
	var files []fileAnswer
	if err := json.NewDecoder(res.Body).Decode(&files); err != nil || res.StatusCode != 201 || len(files) != 1 {
		s.Errorf("upload: %d %v", res.StatusCode, err)
		return ""
	}
	return files[0].URL
}

// watchMemory samples the anonymous resident memory of a process until the test ends; peak returns the maximum.
func watchMemory(t *testing.T, pid int) (peak func() int64) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	if _, err := os.Stat(status); err != nil {
		t.Log("memory is not measured on this system")
		return func() int64 { return 0 }
	}
	var seen atomic.Int64
	look := func() int64 {
		text, _ := os.ReadFile(status)
		_, rest, _ := strings.Cut(string(text), "RssAnon:")
		var kb int64
		fmt.Sscan(rest, &kb)
		if now := kb << 10; now > seen.Load() {
			seen.Store(now)
		}
		return seen.Load()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	done := make(chan struct{})
	t.Cleanup(func() { tick.Stop(); close(done) })
	go func() {
		for {
			select {
			case <-tick.C:
				look()
			case <-done:
				return
			}
		}
	}()
	return look
}
