package params

import (
	"cmp"
	"strings"

	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A precedence is the position of a check in the order of all checks. Of all issues of a request, the client is told
// the one with the lowest precedence, and among equals the first.
type precedence uint8

const (
	issuePublicationFilter precedence = iota
	issueFilterKey                    // an unknown key in filters
	issueFilterZone
	issueFilterPassword
	issueFilterHidden
	issueSortKey
	issueSortZone
	issueSortPassword
	issueSortHidden
	issueSortLeaf
	issueFieldKey
	issueFieldHidden
	issueFieldPassword
	issuePopulateKey
	issuePopulateHidden
	issueMixedPaging
	issueLookup
	issueLocale
	issueSortShape
	issueFilterShape
	issueFieldShape
	issuePopulateShape
	issueTopLevelPage
	issuePage
	issueHasPublished
	issueFilterValue
	issueSearch
	issueWithCount
	issueKinds
)

// An issueSet is a set of precedences: the issues that a request reports.
type issueSet uint64

const everyIssue issueSet = 1<<issueKinds - 1

// writeIssues are the issues that the query of a write can have: names, and parameters that affect the write or its
// answer.
const writeIssues issueSet = 1<<issuePublicationFilter |
	1<<issueFilterKey | 1<<issueFilterZone | 1<<issueFilterPassword | 1<<issueFilterHidden |
	1<<issueSortKey | 1<<issueSortZone | 1<<issueSortPassword | 1<<issueSortHidden | 1<<issueSortLeaf |
	1<<issueFieldKey | 1<<issueFieldHidden | 1<<issueFieldPassword | 1<<issuePopulateKey | 1<<issuePopulateHidden |
	1<<issueLookup | 1<<issueLocale | 1<<issueFieldShape | 1<<issuePopulateShape

// issues holds the issue that is reported to the client.
type issues struct {
	reported   issueSet
	precedence precedence
	err        error // an *apierror.Error, or nil
}

// add adds an issue. It is dropped if one of lower precedence was added before, or if its precedence is not among the
// reported ones.
func (i *issues) add(p precedence, err *apierror.Error) {
	if i.reported&(1<<p) != 0 && (i.err == nil || p < i.precedence) {
		i.precedence, i.err = p, err
	}
}

// A parameter describes a query parameter that names attributes: its name in errors, and the precedences of its issues.
type parameter struct {
	name                              string
	key, zone, password, hidden, leaf precedence
	shape, value                      precedence
}

var (
	filtersParameter = &parameter{name: "filters", key: issueFilterKey, zone: issueFilterZone,
		password: issueFilterPassword,
		hidden:   issueFilterHidden, shape: issueFilterShape, value: issueFilterValue}
	sortParameter = &parameter{name: "sort", key: issueSortKey, zone: issueSortZone, password: issueSortPassword,
		hidden: issueSortHidden, leaf: issueSortLeaf, shape: issueSortShape}
	fieldsParameter = &parameter{name: "fields", key: issueFieldKey, password: issueFieldPassword,
		hidden: issueFieldHidden,
		shape:  issueFieldShape}

	filtersWithin = filtersParameter.within()
	sortWithin    = sortParameter.within()
	fieldsWithin  = fieldsParameter.within()
)

// within returns the parameter as it is inside a populate.
func (p *parameter) within() *parameter {
	inner := *p
	inner.name = "populate"
	return &inner
}

// within returns a request for a parameter inside a populate. It has issues of its own, which adopt takes over.
func (r *request) within() *request {
	return &request{Parser: r.Parser, typ: r.typ, access: r.access, issues: issues{reported: everyIssue},
		top: cmp.Or(r.top, r)}
}

// adopt adds the issue of a parameter inside a populate to the issues of the request.
func (r *request) adopt(inner *issues) {
	err, ok := inner.err.(*apierror.Error)
	switch {
	case !ok:
	case inner.precedence < issueMixedPaging:
		r.issues.add(issuePopulateKey, err)
	default:
		r.issues.add(issuePopulateShape, err)
	}
}

// unknown adds the issue that a key does not exist. parent is the dotted path of the attribute that should have it.
func (r *request) unknown(p precedence, key, parent, param string) {
	r.issues.add(p, apierror.UnknownKey(key, parent, "query", param))
}

// forbidden adds the issue that a key exists but must not be used. path ends with the key.
func (r *request) forbidden(p precedence, key, path, param string) {
	r.issues.add(p, apierror.ForbiddenKey(key, path, "query", param))
}

// invalid adds an issue with a message.
func (r *request) invalid(p precedence, message string) {
	r.issues.add(p, apierror.Validation(message))
}

func paginationError(message string) *apierror.Error {
	return &apierror.Error{Status: 400, Name: "PaginationError", Message: message}
}

// invalidLocale returns the error for a value of the parameter locale that is not the name of a locale.
func invalidLocale(v any) *apierror.Error {
	return apierror.Validation("Invalid locale param " + printed(v) + " provided. Document locales must be strings.")
}

// printed converts a value to a string as JavaScript does.
func printed(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = printed(x)
		}
		return strings.Join(parts, ",")
	case *jsontree.Object:
		return "[object Object]"
	}
	return ""
}

// join appends a key to a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// texts returns the elements of a list. It is ok if there are some and all are strings.
func texts(list []any) ([]string, bool) {
	out := make([]string, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		out[i] = s
	}
	return out, len(out) > 0
}
