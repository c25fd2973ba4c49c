package qs

import "strings"

// nodeBytes is what a name, or a part of it in brackets, takes while it is parsed and in the tree, and what is made of
// it afterwards, such as a condition.
const nodeBytes = 512

// maxNodes is how many nodes a query string or form can have.
const maxNodes = MaxPairs * (MaxLevels + 2)

// Memory returns how many bytes a query string may take when it is parsed, at most.
func Memory(query string) int64 {
	return memory(query, strings.Count(query, "&")+strings.Count(query, "[")+strings.Count(query, "%5"))
}

// MemoryOfForm is Memory for a form, or for the name of a field.
func MemoryOfForm(form string) int64 {
	return memory(form, strings.Count(form, "&")+strings.Count(form, "[")+strings.Count(form, "%5")+
		strings.Count(form, "."))
}

func memory(text string, nodes int) int64 {
	return int64(len(text)) + nodeBytes*int64(min(nodes+1, maxNodes))
}
