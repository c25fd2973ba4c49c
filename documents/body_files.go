package documents

import (
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/documents/values"
	"lectern/store"
)

// checkFiles returns an issue if a media attribute may not hold one of the linked files. A file that has been deleted
// is no issue.
func (wr *writing) checkFiles(a *contenttypes.Attribute, path []string, refs []store.Ref) []issues.Issue {
	if len(a.AllowedTypes) == 0 || a.Target == nil {
		return nil
	}
	mime := a.Target.Attribute("mime")
	for _, ref := range refs {
		file := wr.tx.Version(a.Target, ref.Doc, store.Published, ref.Locale)
		if text, _ := values.Decode(file.JSON(mime)).(string); file.Exists() && !a.AllowsFile(text) {
			name, _ := values.Decode(file.JSON(a.Target.Attribute("name"))).(string)
			return []issues.Issue{issues.Missing(path, values.TakesOnly(a)+", and "+strconv.Quote(name)+" is "+text)}
		}
	}
	return nil
}

// checkLinked adds an issue if a draft to be published, or a component in it, has a file that a media attribute may not
// hold.
func (br *bodyReader) checkLinked(a *contenttypes.Attribute, owner store.Ref, path []string) {
	if a.Type == contenttypes.Media {
		br.issues = append(br.issues, br.wr.checkFiles(a, path, br.wr.links.refs(endOf(a, store.DraftLinks, owner)))...)
	}
}

// checkLinks adds an issue if a body links a file that a media attribute may not hold.
func (br *bodyReader) checkLinks(in *linkInput, path []string) {
	if in.attr.Type != contenttypes.Media || len(in.connect) == 0 {
		return
	}
	refs := make([]store.Ref, len(in.connect))
	for i, item := range in.connect {
		refs[i] = item.ref
	}
	br.issues = append(br.issues, br.wr.checkFiles(in.attr, path, refs)...)
}
