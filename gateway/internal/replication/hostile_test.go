package replication

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lectern/internal/budget"
	"lectern/internal/diskspace"
	"lectern/store/frames"
)

// zeros is an endless stream of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileFrames reads frames that are longer than they may be, or than the memory that there is. None takes more
// memory than may be taken.
func TestHostileFrames(t *testing.T) {
	const limit = 64 << 20
	for _, tt := range []struct {
		name   string
		kind   frames.Kind
		length uint32
		sent   int64 // bytes of the payload
		want   error
		most   uint64 // bytes that may be allocated
	}{
		{"an entry of 900 MB", frames.Entry, 900 << 20, math.MaxInt64, ErrDamaged, 1 << 20},
		{"an entry of 4 GB", PartFrame, math.MaxUint32, math.MaxInt64, ErrDamaged, 1 << 20},
		{"a status of 1 MB", StatusFrame, 1 << 20, math.MaxInt64, ErrDamaged, 1 << 20},
		{"definitions of 100 MB", DefinitionsFrame, 100 << 20, math.MaxInt64, ErrDamaged, 1 << 20},
		{"a list of files of more than 1 GiB", FilesFrame, 1<<30 + 1, math.MaxInt64, ErrDamaged, 1 << 20},
		{"a list of six million files", FilesFrame, 1 << 30, math.MaxInt64, budget.ErrExhausted, 2 * limit},
		{"a chunk of 1 MB", ChunkFrame, 1 << 20, math.MaxInt64, ErrDamaged, 1 << 20},
		{"an end with a payload", EndFrame, 1, math.MaxInt64, ErrDamaged, 1 << 20},
		{"of an unknown kind", 'x', 1, math.MaxInt64, ErrDamaged, 1 << 20},
		{"announced, and not sent", frames.Entry, 200 << 20, 1000, io.ErrUnexpectedEOF, 1 << 20},
		{"longer than the memory", frames.Entry, 200 << 20, math.MaxInt64, budget.ErrExhausted, 2 * limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head := binary.BigEndian.AppendUint32([]byte{byte(tt.kind)}, tt.length)
			memory := budget.New(limit)
			r := frames.NewReader(io.MultiReader(strings.NewReader(string(head)), io.LimitReader(zeros{}, tt.sent)),
				longest, memory)
			var err error
			took := allocated(func() { _, err = r.Next() })
			if !errors.Is(err, tt.want) || took > tt.most {
				t.Errorf("%v, and %d bytes were allocated; want %v and %d", err, took, tt.want, tt.most)
			}
			if most, known := longest[tt.kind]; known && errors.Is(err, ErrDamaged) &&
				!strings.Contains(err.Error(), fmt.Sprint(most)) {
				t.Errorf("%v: it does not say that %d bytes are allowed", err, most)
			}
			r.Release()
			if memory.Stats().Reserved != 0 {
				t.Errorf("%+v is reserved after the end", memory.Stats())
			}
		})
	}
}

// TestEmptyFiles reads a list of very many empty files, which is refused without room for all of them.
func TestEmptyFiles(t *testing.T) {
	text := []byte("[" + strings.Repeat("{},", 1<<20) + "{}]")
	var err error
	if took := allocated(func() { _, err = ParseFiles(text) }); err == nil || took > 1<<20 {
		t.Errorf("%v, and %d bytes were allocated", err, took)
	}
}

// endlessCopy serves a copy without an end, and says that it has so many bytes; negative: it says nothing. sent counts
// the bytes of chunks.
func endlessCopy(t *testing.T, size int64, sent *int64) *Client {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if size >= 0 {
			AnnounceCopy(w.Header(), size)
		}
		to := bufio.NewWriter(w)
		stream := NewWriter(to)
		err := stream.JSON(DefinitionsFrame, &Definitions{})
		for chunk := make([]byte, chunkSize); err == nil; *sent += chunkSize {
			err = stream.Frame(ChunkFrame, chunk)
		}
	}))
	t.Cleanup(server.Close)
	o, err := NewClient(server.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// TestEndlessCopy copies an origin that goes on sending: the copy must not get longer than announced, nor fill the
// disk.
func TestEndlessCopy(t *testing.T) {
	defer func() { available = diskspace.Available }()
	const mb = 1 << 20
	for _, tt := range []struct {
		name    string
		size    int64
		disk    int64 // bytes that are left at the beginning
		arrives int64 // bytes of the copy that are taken at most
		want    string
	}{
		{"longer than announced", 3 * mb, math.MaxInt64, 3 * mb, "longer than the origin has said"},
		{"not announced", -1, math.MaxInt64, 0, "does not say how long the copy is"},
		{"longer than the disk", 1 << 40, 1 << 30, 0, "are to stay free"},
		{"on a disk that others fill", 100 * mb, spareSpace + 100*mb, 50 * mb, "are to stay free"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left := tt.disk
			available = func(f *os.File) int64 {
				info, err := f.Stat()
				if err != nil {
					t.Error(err)
				}
				if left == math.MaxInt64 {
					return left
				}
				return left - 2*info.Size() // others write as much
			}
			var sent, arrived int64
			path := filepath.Join(t.TempDir(), "copy")
			_, err := endlessCopy(t, tt.size, &sent).Copy(t.Context(), path, func(n int64) { arrived = n })
			if err == nil || !strings.Contains(err.Error(), tt.want) || arrived > tt.arrives {
				t.Errorf("%v after %d bytes, want %s after %d at most", err, arrived, tt.want, tt.arrives)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the copy is left: %v", err)
			}
		})
	}
}

// TestFetchWithoutRoom fetches a file that is longer than the disk has room for.
func TestFetchWithoutRoom(t *testing.T) {
	defer func() { available = diskspace.Available }()
	available = func(*os.File) int64 { return 1 << 30 }
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	o, uploads := originAt(t, server.URL)
	if err := o.Fetch(t.Context(), &File{Name: "a.bin", Size: 1 << 50, SHA256: strings.Repeat("0", 64)},
		uploads); err == nil || asked > 0 {
		t.Errorf("%v, and the origin was asked %d times", err, asked)
	}
}
