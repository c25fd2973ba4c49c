package ctxio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"lectern/internal/ctxio"
)

func TestReaderFailsOnceTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := ctxio.NewReader(ctx, strings.NewReader("before, after"))
	p := make([]byte, 6)
	if n, err := io.ReadFull(r, p); string(p[:n]) != "before" || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
	cancel()
	if n, err := r.Read(p); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes and %v after the end", n, err)
	}
}

func TestReaderHandsOnWhatItsSourceSays(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{io.EOF, broken} {
		if _, err := ctxio.NewReader(t.Context(), iotest.ErrReader(want)).Read(make([]byte, 1)); err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestWriterFailsOnceTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var b bytes.Buffer
	w := ctxio.NewWriter(ctx, &b)
	if n, err := io.WriteString(w, "before"); n != 6 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	cancel()
	if n, err := io.WriteString(w, "after"); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes and %v after the end", n, err)
	}
	if b.String() != "before" {
		t.Errorf("%q is written", b.String())
	}
}
