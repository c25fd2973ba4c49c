// Package accesslog writes the log of a server, in which the lines of requests wait shortly for each other: many of
// them are written by one system call.
package accesslog

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"lectern/jsontree"
)

// A Line is a request that has ended.
type Line struct {
	ID, Method, Route string
	Path              string // "": the line has none
	Status            int
	Bytes             int64
	Began             time.Time
	Took              time.Duration
	Client            netip.Addr
	Principal, Name   string // "": the line has none
	User              uint64 // 0: the line has none
	Reason            string // "": the line has none
}

// message is the message of all lines.
const message = "request"

// LogTo writes the line to another log.
func (l *Line) LogTo(ctx context.Context, log *slog.Logger, level slog.Level) {
	log.LogAttrs(ctx, level, message, l.attrs()...)
}

// attrs returns what the line has besides time, level and message.
func (l *Line) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 12)
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	attrs = append(attrs, slog.String("id", l.ID), slog.String("method", l.Method), slog.String("route", l.Route))
	text("path", l.Path)
	attrs = append(attrs, slog.Int("status", l.Status), slog.Int64("bytes", l.Bytes), slog.Duration("took", l.Took),
		slog.String("client", l.Client.String()))
	text("principal", l.Principal)
	text("name", l.Name)
	if l.User != 0 {
		attrs = append(attrs, slog.Uint64("user", l.User))
	}
	text("reason", l.Reason)
	return attrs
}

// A Log writes the lines of requests at level info. They are in one order with all other lines.
type Log struct {
	out  *writer
	text *slog.Logger // nil: the lines are JSON
}

// A handler is the handler of a log that New has made.
type handler struct {
	slog.Handler
	requests *Log
}

// New returns a log that writes to out, in JSON or the text of slog.TextHandler. Every line but those of requests is
// written when it is logged.
func New(out io.Writer, json bool, level slog.Leveler) *slog.Logger {
	w, options := &writer{out: out}, &slog.HandlerOptions{Level: level}
	if json {
		return slog.New(&handler{slog.NewJSONHandler(w, options), &Log{out: w}})
	}
	text := slog.New(slog.NewTextHandler(laterWriter{w}, nil))
	return slog.New(&handler{slog.NewTextHandler(w, options), &Log{out: w, text: text}})
}

// Of returns the log of requests that belongs to a log; nil if New has not made that.
func Of(log *slog.Logger) *Log {
	if h, ok := log.Handler().(*handler); ok {
		return h.requests
	}
	return nil
}

// Flush writes the lines that wait. A nil Log has none.
func (l *Log) Flush() {
	if l != nil {
		_ = l.out.flush() // nobody can be told that the log cannot be written
	}
}

// Write writes a line within Delay.
func (l *Log) Write(ctx context.Context, line *Line) {
	if l.text != nil {
		line.LogTo(ctx, l.text, slog.LevelInfo)
		return
	}
	var space [512]byte
	l.out.later(line.appendJSON(space[:0]))
}

// appendJSON appends the line as slog.JSONHandler writes it, apart from how unusual characters are escaped. It
// allocates nothing.
func (l *Line) appendJSON(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = l.Began.Add(l.Took).AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","level":"INFO","msg":"`+message+`","id":`...)
	b = jsontree.AppendString(b, l.ID)
	b = jsontree.AppendString(append(b, `,"method":`...), l.Method)
	b = jsontree.AppendString(append(b, `,"route":`...), l.Route)
	if l.Path != "" {
		b = jsontree.AppendString(append(b, `,"path":`...), l.Path)
	}
	b = strconv.AppendInt(append(b, `,"status":`...), int64(l.Status), 10)
	b = strconv.AppendInt(append(b, `,"bytes":`...), l.Bytes, 10)
	b = strconv.AppendInt(append(b, `,"took":`...), int64(l.Took), 10)
	b = append(b, `,"client":"`...)
	if l.Client.IsValid() {
		b = l.Client.AppendTo(b) // no zone of an address needs quoting: they are names of network interfaces
	} else {
		b = append(b, l.Client.String()...)
	}
	b = append(b, '"')
	if l.Principal != "" {
		b = jsontree.AppendString(append(b, `,"principal":`...), l.Principal)
	}
	if l.Name != "" {
		b = jsontree.AppendString(append(b, `,"name":`...), l.Name)
	}
	if l.User != 0 {
		b = strconv.AppendUint(append(b, `,"user":`...), l.User, 10)
	}
	if l.Reason != "" {
		b = jsontree.AppendString(append(b, `,"reason":`...), l.Reason)
	}
	return append(b, "}\n"...)
}
