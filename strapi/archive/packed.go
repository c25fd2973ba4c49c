package archive

import (
	"archive/tar"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// NewWriter returns a Writer of a compressed archive to out, encrypted with key unless key is empty. It does not close
// out.
func NewWriter(out io.Writer, key string) (*Writer, error) {
	s := &packedSink{}
	if key != "" {
		block, err := newCipher(key)
		if err != nil {
			return nil, err
		}
		encrypted := &encrypter{w: out, block: block}
		s.closers, out = append(s.closers, encrypted), encrypted
	}
	compressed := gzip.NewWriter(out)
	s.tar = tar.NewWriter(compressed)
	s.closers = append(s.closers, compressed, s.tar)
	return newWriter(s), nil
}

// A packedSink writes the files into one file.
type packedSink struct {
	tar     *tar.Writer
	closers []io.Closer // from the outermost layer to the innermost
}

func (s *packedSink) write(name string, size int64, content io.Reader) error {
	if err := s.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	n, err := io.Copy(s.tar, io.LimitReader(content, size))
	if err != nil {
		return err
	}
	if more, err := content.Read(make([]byte, 1)); more > 0 || err != nil && err != io.EOF {
		return errors.Join(err, checkSize(name, size, n+1))
	}
	return checkSize(name, size, n)
}

func (s *packedSink) writeBytes(name string, content []byte) error {
	return s.write(name, int64(len(content)), bytes.NewReader(content))
}

func (s *packedSink) close() error {
	for i := len(s.closers) - 1; i >= 0; i-- {
		if err := s.closers[i].Close(); err != nil {
			return err
		}
	}
	return nil
}

// An encrypter encrypts what is written to it. Close adds the padding.
type encrypter struct {
	w     io.Writer
	block cipher.Block
	buf   []byte // clear bytes that are not a whole block yet
}

func (e *encrypter) Write(p []byte) (int, error) {
	e.buf = append(e.buf, p...)
	whole := len(e.buf) - len(e.buf)%aes.BlockSize
	if err := e.send(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

// send encrypts and writes the first n bytes of the buffer.
func (e *encrypter) send(n int) error {
	for at := 0; at < n; at += aes.BlockSize {
		e.block.Encrypt(e.buf[at:], e.buf[at:])
	}
	_, err := e.w.Write(e.buf[:n])
	e.buf = append(e.buf[:0], e.buf[n:]...)
	return err
}

func (e *encrypter) Close() error {
	padding := aes.BlockSize - len(e.buf)
	e.buf = append(e.buf, bytes.Repeat([]byte{byte(padding)}, padding)...)
	return e.send(len(e.buf))
}
