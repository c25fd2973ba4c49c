package replication

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"lectern/store"
)

// Parameters that say which part of the content a replica wants.
const (
	typesParameter     = "types"
	localesParameter   = "locales"
	publishedParameter = "published"
)

// queryOf returns the parameters that ask for a part; none for all content.
func queryOf(p store.Part) url.Values {
	query := url.Values{}
	if len(p.Types) > 0 {
		query.Set(typesParameter, strings.Join(p.Types, ","))
	}
	if len(p.Locales) > 0 {
		query.Set(localesParameter, strings.Join(p.Locales, ","))
	}
	if p.Published {
		query.Set(publishedParameter, "true")
	}
	return query
}

// PartOf returns the part for which parameters ask.
func PartOf(query url.Values) store.Part {
	list := func(name string) (values []string) {
		if text := query.Get(name); text != "" {
			values = strings.Split(text, ",")
		}
		return values
	}
	return store.Part{Types: list(typesParameter), Locales: list(localesParameter),
		Published: query.Get(publishedParameter) == "true"}
}

// filledBytes is how many bytes of entries a partial copy applies together.
const filledBytes = 4 << 20

// copyPart makes the file of a partial replica at path from the entries of a copy, up to the EndFrame. The whole store
// has size bytes.
func (s *Stream) copyPart(p store.Part, path string, size int64, progress func(int64)) error {
	r, err := store.NewPartialReplica(path, p)
	if err != nil {
		return fmt.Errorf("copy a part of the store: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = s.fill(r, dir, 2*size+spareSpace, progress)
		dir.Close()
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return errors.Join(fmt.Errorf("copy a part of the store: %w", err), os.Remove(path))
	}
	return nil
}

// fill applies the entries of a copy, of which there may be most bytes: entries of a part are shorter than the pages of
// the whole. The file is in dir.
func (s *Stream) fill(r *store.Replica, dir *os.File, most int64, progress func(int64)) error {
	var list []*store.Entry
	arrived, gathered := int64(0), 0
	for {
		f, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case f.Kind == EndFrame:
			return r.Fill(list...)
		case f.Kind != PartFrame:
			return fmt.Errorf("%w: an origin of an older version may not know partial replicas", ErrDamaged)
		}
		e, err := ParsePartEntry(f.Payload)
		if err != nil {
			return err
		}
		list = append(list, e)
		arrived, gathered = arrived+int64(len(f.Payload)), gathered+len(f.Payload)
		if arrived > most {
			return errTooLong
		}
		if gathered < filledBytes {
			continue
		}
		if err := errors.Join(requireSpace(dir, 0), r.Fill(list...)); err != nil {
			return err
		}
		progress(arrived)
		list, gathered = nil, 0
	}
}
