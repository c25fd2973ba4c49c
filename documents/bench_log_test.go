package documents_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// BenchmarkWriters measures creations and updates of published articles by 1 and by 16 writers, with the log of changes
// and without it. It reports what each write costs the disk: bytes written, bytes by which the file grows, and commits.
func BenchmarkWriters(b *testing.B) {
	for _, writers := range []int{1, 16} {
		for _, update := range []bool{false, true} {
			for _, off := range []bool{false, true} {
				name := fmt.Sprintf("%s/%d/%s", map[bool]string{false: "create", true: "update"}[update], writers,
					map[bool]string{false: "log", true: "nolog"}[off])
				b.Run(name, func(b *testing.B) { benchmarkWriters(b, writers, update, store.LogLimits{Off: off}) })
			}
		}
	}
}

func benchmarkWriters(b *testing.B, writers int, update bool, log store.LogLimits) {
	text := strings.Repeat("Some words of a text. ", 11)
	model := testModel(b)
	s := storetest.OpenWith(b, model, store.Options{Log: log})
	svc := documents.NewService(s, model, "en")
	article := model.Type("api::article.article")
	var ids []string
	create := func(n int64) error {
		return svc.Create(b.Context(), documents.Write{Type: article, Access: permission.FullAccess,
			Data: body(b, fmt.Sprintf(`{"title":"The title of an article","rank":%d,"slug":"s%d","boxes":[{"title":"a"},{"title":%q}]}`, n%100, n, text)),
			After: func(_ *store.Snapshot, r store.Record) error {
				if update {
					ids = append(ids, strings.Trim(string(r.JSON(article.Attribute("documentId"))), `"`))
				}
				return nil
			}})
	}
	const before = 500
	for n := range before {
		if err := create(int64(n)); err != nil {
			b.Fatal(err)
		}
	}
	wrote, size, commits := written(b), sizeOf(b, s), s.Stats().Commits
	var next atomic.Int64
	next.Store(before)
	b.ReportAllocs()
	b.ResetTimer()
	var working sync.WaitGroup
	for range writers {
		working.Go(func() {
			for n := next.Add(1); n <= int64(before+b.N) && !b.Failed(); n = next.Add(1) {
				var err error
				if update {
					err = svc.Update(b.Context(), documents.Write{Type: article, Access: permission.FullAccess,
						DocumentID: ids[n%before],
						Data:       body(b, fmt.Sprintf(`{"rank":%d}`, n%100))})
				} else {
					err = create(n)
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	working.Wait()
	b.ReportMetric(float64(written(b)-wrote)/float64(b.N), "written/op")
	b.ReportMetric(float64(sizeOf(b, s)-size)/float64(b.N), "growth/op")
	b.ReportMetric(float64(s.Stats().Commits-commits)/float64(b.N), "commits/op")
}

// written returns how many bytes the process has written, 0 where the system does not tell.
func written(b *testing.B) (n int64) {
	f, err := os.Open("/proc/self/io")
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "wchar: "); ok {
			if _, err := fmt.Sscan(text, &n); err != nil {
				b.Fatal(err)
			}
		}
	}
	return n
}

// sizeOf returns how many bytes of the store's file are in use.
func sizeOf(b *testing.B, s *store.Store) int64 {
	u, err := s.Usage()
	if err != nil {
		b.Fatal(err)
	}
	return u.Bytes - u.FreeBytes
}
