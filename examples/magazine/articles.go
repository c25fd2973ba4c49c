package main

import (
	"sort"
	"strings"
	"unicode"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/gateway"
	"lectern/store"
)

const (
	articleUID = "api::article.article"
	auditUID   = "api::audit-entry.audit-entry"
)

// articleType is the content-type of articles as it is served now: definitions may change while a server runs in development,
// so it is looked up each time.
func articleType(s gateway.Host) *contenttypes.ContentType {
	return s.Documents().Model().Type(articleUID)
}

// ownerOf is the id of the user whose article it is, 0 when nobody's.
func ownerOf(s gateway.Host, documentID string) (owner uint64, err error) {
	t := articleType(s)
	err = s.Store().View(func(snap *store.Snapshot) error {
		if doc, ok := snap.Document(t, documentID); ok {
			draft := snap.Version(t, doc, store.Draft, "")
			snap.Related(draft, t.Attribute("owner"), store.Published, func(user store.Record) bool {
				owner = user.ID()
				return false
			})
		}
		return nil
	})
	return owner, err
}

// A wordCount is how often a word is used.
type wordCount struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// topWords are the words that are used most often in the titles of published articles.
func topWords(s gateway.Host, limit int) ([]wordCount, error) {
	t := articleType(s)
	counts := map[string]int{}
	err := s.Store().View(func(snap *store.Snapshot) error {
		page, err := snap.Find(&store.Query{Type: t, Status: store.Published, Limit: -1})
		for _, row := range page.Rows {
			title, _ := documents.NewRow(row).Get("title").(string)
			for _, word := range words(title) {
				counts[strings.ToLower(word)]++
			}
		}
		return err
	})
	list := make([]wordCount, 0, len(counts))
	for word, n := range counts {
		list = append(list, wordCount{word, n})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Count != list[j].Count {
			return list[i].Count > list[j].Count
		}
		return list[i].Word < list[j].Word
	})
	return list[:min(limit, len(list))], err
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
