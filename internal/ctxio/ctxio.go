// Package ctxio has readers and writers that fail when a context ends, for code that takes an io.Reader or io.Writer
// but no context.
package ctxio

import (
	"context"
	"io"
)

type reader struct {
	ctx context.Context
	r   io.Reader
}

// NewReader returns a reader of r. Once ctx has ended, Read returns the error of ctx.
func NewReader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

func (c *reader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

type writer struct {
	ctx context.Context
	w   io.Writer
}

// NewWriter returns a writer to w. Once ctx has ended, Write returns the error of ctx.
func NewWriter(ctx context.Context, w io.Writer) io.Writer { return &writer{ctx, w} }

func (c *writer) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
