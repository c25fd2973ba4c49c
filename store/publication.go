package store

// InState reports whether a version of a document is in a publication state. Documents of types without draft & publish are in every
// state.
func (s *Snapshot) InState(r Record, state PublicationState) bool {
	return !r.Type().DraftAndPublish || s.inState(r, state)
}
