// Package extsort sorts more records than memory should hold. A Sorter collects records of five numbers. Those that fit
// into its buffer stay there; others go to a temporary file, in sorted runs that are merged when they are read.
package extsort

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"lectern/internal/tempfile"
)

// A Record is sorted by its first number, records with the same first number by their second, and so on.
type Record [5]uint64

// recordLen is the length of a Record in a file.
const recordLen = 5 * 8

func (r Record) compare(other Record) int {
	for i := range r {
		if c := cmp.Compare(r[i], other[i]); c != 0 {
			return c
		}
	}
	return 0
}

// A Sorter collects records with Add, and returns them in order with Each. It must be closed.
type Sorter struct {
	dir    string
	limit  int
	buffer []Record
	sorted bool // whether buffer is in order
	file   *os.File
	runs   []int64 // where each run in the file ends
	length int
}

// New returns a Sorter that keeps up to limit records in memory and creates its temporary file in a directory. The file
// has no name there, so nothing is left if the process is killed.
func New(dir string, limit int) *Sorter { return &Sorter{dir: dir, limit: limit} }

// Len returns how many records were added.
func (s *Sorter) Len() int { return s.length }

// Memory returns how many bytes the records in memory take.
func (s *Sorter) Memory() int64 { return int64(cap(s.buffer)) * recordLen }

// Add adds a record.
func (s *Sorter) Add(r Record) error {
	if len(s.buffer) >= s.limit {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sort in a temporary file: %w", err)
		}
	}
	s.buffer, s.sorted = append(s.buffer, r), false
	s.length++
	return nil
}

func (s *Sorter) sort() {
	if !s.sorted {
		slices.SortFunc(s.buffer, Record.compare)
		s.sorted = true
	}
}

// spill writes the buffer to the file as a run.
func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = tempfile.New(s.dir); err != nil {
			return err
		}
	}
	s.sort()
	w := bufio.NewWriterSize(s.file, 64<<10)
	var b [recordLen]byte
	for _, r := range s.buffer {
		for i, n := range r {
			binary.LittleEndian.PutUint64(b[8*i:], n)
		}
		w.Write(b[:]) // Flush returns the error
	}
	if err := w.Flush(); err != nil {
		return err
	}
	start := int64(0)
	if n := len(s.runs); n > 0 {
		start = s.runs[n-1]
	}
	s.runs = append(s.runs, start+int64(len(s.buffer))*recordLen)
	s.buffer = s.buffer[:0]
	return nil
}

// Each calls do with all records in order, until do returns an error. It may be called again. Nothing may be added
// meanwhile.
func (s *Sorter) Each(do func(Record) error) error {
	s.sort()
	m := merger{{memory: s.buffer}}
	start := int64(0)
	for _, end := range s.runs {
		m = append(m, &run{file: bufio.NewReaderSize(io.NewSectionReader(s.file, start, end-start), runBuffer)})
		start = end
	}
	for i := 0; i < len(m); {
		more, err := m[i].next()
		if err != nil {
			return err
		}
		if more {
			i++
		} else {
			m = slices.Delete(m, i, i+1)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		if err := do(m[0].head); err != nil {
			return err
		}
		more, err := m[0].next()
		if err != nil {
			return err
		}
		if more {
			heap.Fix(&m, 0)
		} else {
			heap.Pop(&m)
		}
	}
	return nil
}

// runBuffer is the size of the buffer with which a run is read.
const runBuffer = 16 << 10

// Close releases the memory and the file.
func (s *Sorter) Close() error {
	s.buffer = nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// A run is a list of records in order, in memory or in the file.
type run struct {
	head   Record
	memory []Record
	file   *bufio.Reader   // nil: the records are in memory
	bytes  [recordLen]byte // of the head, as they were read
}

// next reads the next record into head. It returns false at the end.
func (r *run) next() (more bool, err error) {
	if r.file == nil {
		if len(r.memory) == 0 {
			return false, nil
		}
		r.head, r.memory = r.memory[0], r.memory[1:]
		return true, nil
	}
	if _, err := io.ReadFull(r.file, r.bytes[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return false, fmt.Errorf("read a sorted run: %w", err)
	}
	for i := range r.head {
		r.head[i] = binary.LittleEndian.Uint64(r.bytes[8*i:])
	}
	return true, nil
}

// A merger is a heap of runs, the one with the smallest head first.
type merger []*run

func (m merger) Len() int           { return len(m) }
func (m merger) Less(i, j int) bool { return m[i].head.compare(m[j].head) < 0 }
func (m merger) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merger) Push(x any)        { *m = append(*m, x.(*run)) }
func (m *merger) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
