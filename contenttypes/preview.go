package contenttypes

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"lectern/internal/spelling"
	"lectern/internal/yamlfile"
)

// A PreviewURL is the address at which a front end shows the draft of a document, with placeholders. It never changes.
type PreviewURL struct{ parts []previewPart }

// A previewPart is a text or a placeholder.
type previewPart struct {
	text    string     // as it is; "" for a placeholder
	name    string     // of a placeholder
	attr    *Attribute // whose value it stands for; nil for locale and token
	inQuery bool       // it stands behind the question mark
}

// Attributes returns the attributes whose values the address has.
func (p *PreviewURL) Attributes() (list []*Attribute) {
	for i := range p.parts {
		if a := p.parts[i].attr; a != nil {
			list = append(list, a)
		}
	}
	return list
}

// Origin returns the scheme and host of the address.
func (p *PreviewURL) Origin() string {
	return strings.TrimRight(previewOrigin.FindString(p.parts[0].text), "/?#")
}

// Expand returns the address for a document. value returns the text of one of its Attributes.
func (p *PreviewURL) Expand(locale, token string, value func(*Attribute) string) string {
	var b strings.Builder
	for i := range p.parts {
		part := &p.parts[i]
		text := part.text
		switch {
		case part.attr != nil:
			text = value(part.attr)
		case part.name == "locale":
			text = locale
		case part.name == "token":
			text = token
		default:
			b.WriteString(text)
			continue
		}
		if part.inQuery {
			b.WriteString(url.QueryEscape(text))
		} else {
			b.WriteString(url.PathEscape(text))
		}
	}
	return b.String()
}

// previewPlaceholder matches what may be a placeholder.
var previewPlaceholder = regexp.MustCompile(`\{[^{}]*\}`)

// previewable are the types of attributes whose values an address can have.
var previewable = []Type{String, UID, Integer, BigInteger, Enumeration, Date, DocumentID}

// previewURL reads the key preview of a type.
func (l *loader) previewURL(t *ContentType, preview *yamlfile.Node) *PreviewURL {
	if preview.IsNull() {
		return nil
	}
	var f struct {
		URL string `yaml:"url,required"`
	}
	problems := preview.Decode(&f)
	l.problems = append(l.problems, problems...)
	if len(problems) > 0 {
		return nil
	}
	at := preview.At("url")
	if !t.DraftAndPublish {
		l.report(preview.Problem("%s has no drafts to preview; set options.draftAndPublish, or take preview out",
			t.Singular))
		return nil
	}
	plain := previewPlaceholder.ReplaceAllString(f.URL, "x")
	u, err := url.Parse(plain)
	origin := previewOrigin.FindString(f.URL)
	if err != nil || u.Host == "" || origin == "" || strings.ContainsAny(plain, "{} <>\"'\\") {
		l.report(at.Problem("url of preview must be an address such as https://www.example.org/{locale}/{slug}?preview={token}, "+
			"with placeholders behind the host only, not %q", f.URL))
		return nil
	}
	if !strings.Contains(f.URL, "{token}") {
		l.report(at.Problem("url of preview has no {token}, without which its page cannot read the draft; " +
			"add it, such as ?preview={token}"))
	}
	return l.previewParts(t, at, f.URL)
}

// previewOrigin matches the beginning of an address that has no placeholder up to the end of the host.
var previewOrigin = regexp.MustCompile(`^https?://[^{}/?#@;,]+([/?#]|$)`)

// previewParts splits an address at its placeholders.
func (l *loader) previewParts(t *ContentType, at *yamlfile.Node, address string) *PreviewURL {
	known := []string{"token", "locale"}
	for _, a := range t.Attributes {
		if !a.Private && slices.Contains(previewable, a.Type) {
			known = append(known, a.Name)
		}
	}
	p := &PreviewURL{}
	rest, inQuery := address, false
	for {
		place := previewPlaceholder.FindStringIndex(rest)
		if place == nil {
			break
		}
		text, name := rest[:place[0]], rest[place[0]+1:place[1]-1]
		inQuery = inQuery || strings.ContainsAny(text, "?#")
		if !slices.Contains(known, name) {
			l.report(at.Problem("url of preview names {%s}, which is neither token nor locale nor an attribute "+
				"with a short text that everybody may see; %s", name, spelling.Suggest(name, known)))
		}
		p.parts = append(p.parts, previewPart{text: text},
			previewPart{name: name, attr: t.Attribute(name), inQuery: inQuery})
		if name == "locale" || name == "token" {
			p.parts[len(p.parts)-1].attr = nil
		}
		rest = rest[place[1]:]
	}
	p.parts = append(p.parts, previewPart{text: rest})
	return p
}
