//go:build unix

package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// A restaurants is a service whose store has categories, persons and restaurants like those of a real site.
type restaurants struct {
	t          testing.TB
	svc        *documents.Service
	store      *store.Store
	rnd        *rand.Rand
	categories []string
	people     []string
	made       []string // the documentIds of the restaurants
}

func newRestaurants(t testing.TB, n int) *restaurants {
	model := storetest.Model(t, storetest.Archive(t, "testdata/restaurants.txtar"))
	s := storetest.Open(t, model)
	r := &restaurants{t: t, svc: documents.NewService(s, model, "en"), store: s, rnd: rand.New(rand.NewPCG(1, 2))}
	for i := range 50 {
		r.categories = append(r.categories, r.create("category",
			map[string]any{"name": fmt.Sprint("category ", i), "position": i}))
	}
	for i := range max(20, n/5) {
		r.people = append(r.people, r.create("person", map[string]any{"firstName": r.word(), "lastName": r.word(),
			"age": 18 + i%60, "email": fmt.Sprintf("p%d@example.org", i)}))
	}
	for len(r.made) < n {
		var batch []documents.Write
		for range min(100, n-len(r.made)) {
			batch = append(batch, r.write("restaurant", r.restaurant(len(r.made)+len(batch))))
		}
		if err := r.svc.CreateAll(t.Context(), batch, nil); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

var words = strings.Fields(`amber basil cedar delta ember fjord grove heron inlet jetty knoll larch maple nadir ocean
	pearl quartz ridge slate tulip umber vault willow xenon yarrow zephyr`)

func (r *restaurants) word() string { return words[r.rnd.IntN(len(words))] }

func (r *restaurants) write(typ string, data map[string]any) documents.Write {
	raw, err := json.Marshal(data)
	if err != nil {
		r.t.Fatal(err)
	}
	v, err := jsontree.Parse(raw, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	t := r.store.Model().Type("api::" + typ + "." + typ)
	return documents.Write{Type: t, Access: permission.FullAccess, Data: v.(*jsontree.Object),
		After: func(_ *store.Snapshot, row store.Record) error {
			if typ == "restaurant" {
				r.made = append(r.made, strings.Trim(string(row.JSON(t.Attribute("documentId"))), `"`))
			}
			return nil
		}}
}

func (r *restaurants) create(typ string, data map[string]any) (id string) {
	w := r.write(typ, data)
	w.After = func(_ *store.Snapshot, row store.Record) error {
		id = strings.Trim(string(row.JSON(w.Type.Attribute("documentId"))), `"`)
		return nil
	}
	if err := r.svc.Create(r.t.Context(), w); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// restaurant returns the body of the i-th restaurant.
func (r *restaurants) restaurant(i int) map[string]any {
	var summary []string
	for range 12 {
		summary = append(summary, r.word())
	}
	text := strings.Join(summary, " ")
	return map[string]any{
		"name": fmt.Sprintf("%s %s %d", r.word(), r.word(), i), "slug": fmt.Sprintf("r-%d", i), "summary": text,
		"seats": 1 + r.rnd.IntN(400), "price": float64(r.rnd.IntN(10000)) / 100, "rating": float64(r.rnd.IntN(50)) / 10,
		"vegan": r.rnd.IntN(2) == 1, "tier": []string{"bronze", "silver", "gold"}[r.rnd.IntN(3)],
		"openedOn": fmt.Sprintf("20%d-0%d-1%d", 10+r.rnd.IntN(15), 1+r.rnd.IntN(9), r.rnd.IntN(9)),
		"description": []any{map[string]any{"type": "paragraph",
			"children": []any{map[string]any{"type": "text", "text": text}}}},
		"categories": []string{r.categories[r.rnd.IntN(25)], r.categories[25+r.rnd.IntN(25)]},
		"owner":      r.people[r.rnd.IntN(len(r.people))],
		"address": map[string]any{"street": fmt.Sprintf("%d %s street", i, r.word()), "city": r.word(),
			"geo": map[string]any{"lat": i % 90, "lng": i % 180}},
		"closingPeriods": []any{map[string]any{"label": "winter", "start_date": "2024-12-24",
			"end_date": "2025-01-02"}},
		"dz": []any{map[string]any{"__component": "blocks.rich-text", "body": text}},
	}
}

// BenchmarkPages prints how many pages a creation and an update of a restaurant write, by bucket, each in a transaction
// of its own, on the average of some dozens.
func BenchmarkPages(b *testing.B) {
	n := benchScale(b)
	r := newRestaurants(b, n)
	for _, kind := range []string{"create", "update", "review"} {
		b.Run(kind, func(b *testing.B) {
			total, times := map[string]int{}, 0
			for i := range 40 {
				pages, err := r.store.PagesWritten(func() error {
					switch kind {
					case "create":
						return r.svc.Create(b.Context(), r.write("restaurant", r.restaurant(n+i)))
					case "review":
						return r.svc.Create(b.Context(), r.write("review", map[string]any{"stars": 1 + i%5, "comment": r.word(),
							"restaurant": r.made[r.rnd.IntN(len(r.made))]}))
					}
					w := r.write("restaurant", map[string]any{"seats": 1 + r.rnd.IntN(400)})
					w.DocumentID = r.made[r.rnd.IntN(len(r.made))]
					return r.svc.Update(b.Context(), w)
				})
				if err != nil {
					b.Fatal(err)
				}
				for name, n := range pages {
					total[name] += n
					total["all"] += n
				}
				times++
			}
			for _, name := range slices.Sorted(maps.Keys(total)) {
				b.ReportMetric(float64(total[name])/float64(times), name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestPagesWritten creates restaurants and counts the pages that they write on the average: where the index grows, a
// block that becomes full is written alone.
func TestPagesWritten(t *testing.T) {
	r := newRestaurants(t, 400)
	total := map[string]int{}
	const times = 64 // young blocks of numbers become full twice
	for i := range times {
		pages, err := r.store.PagesWritten(func() error {
			return r.svc.Create(t.Context(), r.write("restaurant", r.restaurant(400+i)))
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range pages {
			total[name] += n
		}
	}
	for name, limit := range map[string]int{"meta": 2, "catalog": 0, "index": 16, "young": 12, "links": 12, "groups": 2,
		"spans": 2, "rows": 4, "docs": 2, "free": 2, "log": 3} {
		if total[name] > limit*times {
			t.Errorf("%d creations wrote %d pages of %s, more than %d each", times, total[name], name, limit)
		}
	}
	if total["young"] == 0 {
		t.Error("no block is young")
	}
}

// BenchmarkCreate measures creations of restaurants by one writer and by eight, which share transactions.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 8} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			r := newRestaurants(b, benchScale(b))
			list := make([]documents.Write, b.N)
			for i := range list {
				list[i] = r.write("restaurant", r.restaurant(len(r.made)+i))
				list[i].After = nil
			}
			next, commits, used := atomic.Int64{}, r.store.Stats().Commits, processorTime(b)
			var working sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range writers {
				working.Go(func() {
					for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
						if err := r.svc.Create(b.Context(), list[i]); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			working.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
			b.ReportMetric(float64(processorTime(b)-used)/float64(b.N)/1000, "cpu-us/op")
			b.ReportMetric(float64(r.store.Stats().Commits-commits)/float64(b.N), "commits/op")
		})
	}
}

// processorTime returns how long the process has used processors, which a busy machine changes less than the time.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkImport measures creations in transactions of 1,000: of restaurants, and of reviews, which are flat.
func BenchmarkImport(b *testing.B) {
	for _, typ := range []string{"restaurant", "review"} {
		b.Run(typ, func(b *testing.B) {
			r := newRestaurants(b, 1000)
			list := make([]documents.Write, b.N)
			for i := range list {
				if list[i] = r.write("review", map[string]any{"stars": 1 + i%5, "comment": r.word(),
					"restaurant": r.made[i%1000]}); typ == "restaurant" {
					list[i] = r.write(typ, r.restaurant(1000+i))
				}
				list[i].After = nil
			}
			used := processorTime(b)
			b.ReportAllocs()
			b.ResetTimer()
			for part := range slices.Chunk(list, 1000) {
				if err := r.svc.CreateAll(b.Context(), part, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
			b.ReportMetric(float64(processorTime(b)-used)/float64(b.N)/1000, "cpu-us/op")
		})
	}
}
