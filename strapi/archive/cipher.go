package archive

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"

	"golang.org/x/crypto/scrypt"
)

// newCipher returns the cipher of `strapi export --key`: AES-128 with a key that scrypt makes of the text, without a
// salt. Each block is encrypted by itself, and nothing authenticates the content, so a wrong key shows only in what
// comes out.
func newCipher(key string) (cipher.Block, error) {
	hashed, err := scrypt.Key([]byte(key), nil, 16384, 8, 1, 16)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(hashed)
}

// decrypt decrypts the whole blocks of b in place.
func decrypt(block cipher.Block, b []byte) {
	for ; len(b) >= aes.BlockSize; b = b[aes.BlockSize:] {
		block.Decrypt(b, b)
	}
}

// A decrypter decrypts a stream and removes the padding at its end.
type decrypter struct {
	r     io.Reader
	block cipher.Block
	left  int64  // encrypted bytes that were not read yet
	buf   []byte // memory of clear
	clear []byte // decrypted bytes that were not returned yet
}

func (d *decrypter) Read(p []byte) (int, error) {
	for len(d.clear) == 0 {
		if d.left == 0 {
			return 0, io.EOF
		}
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.clear)
	d.clear = d.clear[n:]
	return n, nil
}

// fill decrypts the next blocks.
func (d *decrypter) fill() error {
	b := d.buf[:min(int64(len(d.buf)), d.left)]
	if _, err := io.ReadFull(d.r, b); err != nil {
		return err
	}
	d.left -= int64(len(b))
	decrypt(d.block, b)
	d.clear = b
	if d.left > 0 {
		return nil
	}
	padding := int(b[len(b)-1])
	if padding == 0 || padding > aes.BlockSize {
		return errPadding
	}
	d.clear = b[:len(b)-padding]
	return nil
}

var errPadding = errors.New("the end of the encrypted file is damaged or missing")
