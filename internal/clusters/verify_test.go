//go:build linux

package clusters

import (
	"encoding/json"
	"fmt"
	"maps"
)

// verify checks what clients were told against the content that all nodes have now.
func (l *load) verify() {
	l.Helper()
	l.errors.Range(func(what, example any) bool {
		l.Errorf("answer that no client should get: %v %v", what, example)
		return true
	})
	revision, content := l.content()
	l.sameFiles()
	entries := map[string]int{}
	for _, e := range content["entries"] {
		entries[e["title"].(string)]++
	}
	for title, n := range entries {
		if n > 1 {
			l.Errorf("%q is there %d times", title, n)
		}
	}
	for title := range l.appended {
		if entries[title] == 0 {
			l.Errorf("%q was acknowledged, and is lost", title)
		}
	}
	final := func(register, value string) {
		l.record(-1, operation{register: register, kind: reads}, func() result { return result{done, value} })
	}
	for _, r := range content["registers"] {
		value, _ := r["value"].(string)
		final(r["documentId"].(string), value)
	}
	for _, c := range content["claims"] {
		final(c["name"].(string), c["owner"].(string))
	}
	wrong, undecided := l.check()
	for _, name := range wrong {
		l.Errorf("no order of its operations explains what clients were told of %s:\n%s", name, l.of(name))
	}
	for _, name := range undecided {
		l.Errorf("whether the operations on %s have an order was not found out in time", name)
	}
	l.world.stop(revision)
}

// content returns the documents of each type that all nodes have, and the revision. It reads them again if a write has
// arrived meanwhile: the network may have held up that of a client that has given up since.
func (l *load) content() (revision uint64, all map[string][]map[string]any) {
	for {
		revision = l.settle()
		all, differences := l.lists()
		if l.settle() != revision {
			continue
		}
		for _, d := range differences {
			l.Error(d)
		}
		return revision, all
	}
}

// lists returns the documents of each type, and where the nodes differ, compared byte for byte.
func (l *load) lists() (all map[string][]map[string]any, differences []string) {
	all = map[string][]map[string]any{}
	for _, plural := range []string{"entries", "registers", "claims"} {
		for page := 1; ; page++ {
			want := l.page(l.nodes[0], plural, page)
			for _, n := range l.nodes[1:] {
				if got := l.page(n, plural, page); got != want {
					differences = append(
						differences, fmt.Sprintf("page %d of %s of %s differs from that of %s:\n%.2000s\n%.2000s", page,
							plural, n.name, l.nodes[0].name, got, want))
				}
			}
			some := documents(want)
			if len(some) == 0 {
				break
			}
			all[plural] = append(all[plural], some...)
		}
	}
	return all, differences
}

func (l *load) page(n *node, plural string, page int) string {
	l.Helper()
	a, err := l.ask("GET", fmt.Sprintf("%s/api/%s?sort=id&pagination[pageSize]=100&pagination[page]=%d", n.base, plural,
		page), "")
	l.must(err)
	if a.status != 200 {
		l.Fatalf("%s: %d %s", n.name, a.status, a.body)
	}
	return a.body
}

func documents(body string) []map[string]any {
	var list struct{ Data []map[string]any }
	_ = json.Unmarshal([]byte(body), &list) // the status was 200
	return list.Data
}

// report returns figures of the load.
func (l *load) report() string {
	counts := maps.Clone(l.counts)
	return fmt.Sprintf("%d operations on registers: %d done, %d differed, %d refused, %d unknown; %d entries; %d claims; %d files",
		len(l.operations), counts[done], counts[differs], counts[refused], counts[unknown], len(l.appended),
		l.claim.Load(), len(l.files))
}
