package store

// InState reports whether a version of a document is in a state of publication. Types without draft & publish know no states:
// their documents are in each.
func (s *Snapshot) InState(r Record, state PublicationState) bool {
	return !r.Type().DraftAndPublish || s.inState(r, state)
}
