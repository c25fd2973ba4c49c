package main

import (
	"context"
	"sort"
	"strings"
	"unicode"

	"lectern/contenttypes"
	"lectern/gateway"
)

const (
	articleUID = "api::article.article"
	auditUID   = "api::audit-entry.audit-entry"
)

// articleType returns the content-type of articles. It is looked up for each request, because definitions may change
// while a server runs in development.
func articleType(s gateway.Host) *contenttypes.ContentType {
	return s.Documents().Model().Type(articleUID)
}

// A wordCount is a word and how often it occurs.
type wordCount struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

// topWords returns the most frequent words in the titles of published articles.
func topWords(ctx context.Context, limit int) ([]wordCount, error) {
	articles, err := gateway.CallerOf(ctx).Server.Documents().Query(articleUID).All(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, article := range articles {
		for _, word := range words(article.Text("title")) {
			counts[strings.ToLower(word)]++
		}
	}
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
	return list[:min(limit, len(list))], nil
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
