package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"lectern/internal/jsonlines"
	"lectern/jsontree"
)

// A Schema is the definition of a content-type or component, as Strapi had it in memory: with the attributes that it
// adds itself.
type Schema struct {
	UID  string           // such as api::article.article, or blocks.slider for a component
	Data *jsontree.Object // keys as in schema.json, and uid, modelType, modelName, globalId, plugin
}

// An Entity is one row of a content-type: a version of a document in one locale and one status. Its components are
// inside of it, with ids of their own, and their type in __component within dynamic zones. Relations and media are
// Links.
type Entity struct {
	Type string           // uid of the content-type
	ID   uint64           // id of the row
	Data *jsontree.Object // documentId, locale, times and the attributes
}

// A Link is one relation between two rows. Its kind says how Strapi keeps it: relation.basic, relation.circular
// (between rows of one type), relation.morph (from a file to what uses it).
type Link struct {
	Kind     string
	Relation string // manyToOne, …
	Left     End
	Right    End
}

// An End is one end of a Link.
type End struct {
	Type  string // uid of a content-type or component
	Field string // attribute; empty if this side has none
	ID    uint64 // id of the row or component

	// DocumentID is set instead of ID at the right end of the links named localizations.
	DocumentID string

	// Pos is the position of the link in the list that Field holds, and 0 if the archive says none. Only the order of
	// positions counts, so a position 0 of an archive is the least number above 0 here.
	Pos float64
}

// A Setting is a line of the part configuration.
type Setting struct {
	Type  string           // core-store or webhook
	Value *jsontree.Object // for core-store: key and value, and the type of the value
}

// Schemas returns all schemas in the order of the archive. Strapi writes content-types first.
func (a *Archive) Schemas(ctx context.Context) iter.Seq2[Schema, error] {
	return read(ctx, a, schemas, newSchema)
}

// Entities returns all rows in the order of the archive: type by type, by ascending id.
func (a *Archive) Entities(ctx context.Context) iter.Seq2[Entity, error] {
	return read(ctx, a, entities, newEntity)
}

// Links returns all links in the order of the archive. That is not always the order of positions.
func (a *Archive) Links(ctx context.Context) iter.Seq2[Link, error] {
	return read(ctx, a, links, newLink)
}

// Configuration returns all settings in the order of the archive.
func (a *Archive) Configuration(ctx context.Context) iter.Seq2[Setting, error] {
	return read(ctx, a, configuration, newSetting)
}

// read returns the lines of a part as values. It ends after the first error.
func read[T any](ctx context.Context, a *Archive, p part, parse func(*jsontree.Object) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, name := range a.parts[p] {
			err := a.eachLine(ctx, name, func(o *jsontree.Object) error {
				v, err := parse(o)
				if err == nil && !yield(v, nil) {
					return errStop
				}
				return err
			})
			if err == errStop {
				return
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

// errStop ends a loop whose caller wants no more values.
var errStop = errors.New("stop")

// eachLine calls do for every line of a file that is not blank. Its errors name the file and the line.
func (a *Archive) eachLine(ctx context.Context, name string, do func(*jsontree.Object) error) error {
	f, err := a.lines.Open(name)
	if err != nil {
		return fmt.Errorf("read archive: %w", err)
	}
	defer f.Close()
	for r := jsonlines.NewReader(f, maxLine); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = do(o)
		}
		if err == errStop {
			return err
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, r.Line(), err)
		}
	}
}
