package frames

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// kinds are those of the streams of these tests.
var kinds = Longest{'S': 64 << 10, Entry: 256 << 20, 'Z': 0}

// stream returns a stream of three frames.
func stream(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := errors.Join(w.JSON('S', []string{"status"}), w.Frame(Entry, []byte("head"), []byte("rest")),
		w.Frame('Z')); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns the frames of a stream, and the error at its end.
func read(b []byte) (list []Frame, err error) {
	for r := NewReader(bytes.NewReader(b), kinds, nil); ; {
		f, err := r.Next()
		if err != nil {
			return list, err
		}
		list = append(list, f)
	}
}

// TestFrames reads frames back, and expects each changed byte and each cut to be noticed.
func TestFrames(t *testing.T) {
	whole := stream(t)
	list, err := read(whole)
	text := ""
	for _, f := range list {
		text += string(f.Kind) + string(f.Payload) + "\n"
	}
	if text != "S[\"status\"]\nEheadrest\nZ\n" || err != io.EOF {
		t.Errorf("%q %v", text, err)
	}
	ends := map[int]bool{0: true}
	for at, i := 0, 0; i < len(list); i++ {
		at += list[i].Size()
		ends[at] = true
	}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 0x20
		if list, err := read(changed); err == io.EOF {
			t.Errorf("byte %d was changed unnoticed: %q", i, list)
		}
		if _, err := read(whole[:i]); (err == io.EOF) != ends[i] || err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Errorf("a cut after %d bytes: %v", i, err)
		}
	}
}

// TestLongFrame reads a frame that is longer than what a Reader allocates at once.
func TestLongFrame(t *testing.T) {
	payload := []byte(strings.Repeat("0123456789", allocatedAhead))
	list, err := read(Append(nil, Entry, payload))
	if err != io.EOF || len(list) != 1 || !bytes.Equal(list[0].Payload, payload) {
		t.Errorf("%d frames, %v", len(list), err)
	}
}

// FuzzReader reads any bytes. A frame that is read is one that was written, and Parse finds the same.
func FuzzReader(f *testing.F) {
	f.Add(stream(f))
	f.Add([]byte{byte(Entry), 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		at := 0
		list, _ := read(b)
		for _, frame := range list {
			if again := Append(nil, frame.Kind, frame.Payload); !bytes.HasPrefix(b[at:], again) {
				t.Fatalf("a frame that was not sent: %q", frame.Payload)
			}
			parsed, err := Parse(b[at:])
			if err != nil || parsed.Kind != frame.Kind || !bytes.Equal(parsed.Payload, frame.Payload) {
				t.Fatalf("%q is parsed as %q (%v)", frame.Payload, parsed.Payload, err)
			}
			at += frame.Size()
			_, _ = frame.Entry()
		}
		if parsed, err := Parse(b[at:]); err == nil {
			if _, known := kinds[parsed.Kind]; known && int64(len(parsed.Payload)) <= kinds[parsed.Kind] {
				t.Fatalf("%q is parsed, and was not read", parsed.Payload)
			}
		}
	})
}
