package images

import (
	"container/heap"
	"math/bits"
)

// A bitWriter writes the bit stream of lossless WebP, least significant bit first.
type bitWriter struct {
	buf     []byte
	partial uint64 // bits of the byte that is not full yet
	n       uint
}

func (b *bitWriter) write(v uint32, n uint) {
	b.partial |= uint64(v) << b.n
	for b.n += n; b.n >= 8; b.n -= 8 {
		b.buf = append(b.buf, byte(b.partial))
		b.partial >>= 8
	}
}

func (b *bitWriter) flag(on bool) {
	if on {
		b.write(1, 1)
	} else {
		b.write(0, 1)
	}
}

func (b *bitWriter) bytes() []byte {
	if b.n > 0 {
		b.buf = append(b.buf, byte(b.partial))
		b.partial, b.n = 0, 0
	}
	return b.buf
}

// A token is a pixel, or a run that repeats the pixel before it.
type token struct {
	pixel uint32
	run   int // length of the run; 0 if this is a pixel
}

const (
	minRun = 4
	maxRun = 4096
)

func runs(pixels []uint32) []token {
	tokens := make([]token, 0, len(pixels)/2)
	for i := 0; i < len(pixels); {
		n := 0
		for i > 0 && n < maxRun && i+n < len(pixels) && pixels[i+n] == pixels[i-1] {
			n++
		}
		if n >= minRun {
			tokens = append(tokens, token{run: n})
			i += n
			continue
		}
		tokens = append(tokens, token{pixel: pixels[i]})
		i++
	}
	return tokens
}

// lengthCode splits the length of a run, or a distance, into the symbol for its magnitude and the bits that complete
// it.
func lengthCode(n int) (symbol int, extra uint32, extraBits uint) {
	n--
	if n < 4 {
		return n, 0, 0
	}
	high := bits.Len(uint(n)) - 1
	extraBits = uint(high - 1)
	return 2*high + n>>extraBits&1, uint32(n) & (1<<extraBits - 1), extraBits
}

// leftPixel is the code of the distance "one pixel to the left", for an image of any width.
const leftPixel = 2

// pixels writes an entropy-coded image. main is true for the image itself and false for the images of transforms, which
// lack one flag.
func (b *bitWriter) pixels(pixels []uint32, main bool) {
	tokens := runs(pixels)
	green, red, blue, alpha, dist := make([]int, 256+24), make([]int, 256), make([]int, 256), make([]int, 256),
		make([]int, 40)
	distSymbol, distExtra, distBits := lengthCode(leftPixel)
	for _, t := range tokens {
		if t.run > 0 {
			symbol, _, _ := lengthCode(t.run)
			green[256+symbol]++
			dist[distSymbol]++
			continue
		}
		green[t.pixel>>8&0xff]++
		red[t.pixel>>16&0xff]++
		blue[t.pixel&0xff]++
		alpha[t.pixel>>24]++
	}
	b.write(0, 1) // no colour cache
	if main {
		b.write(0, 1) // one set of codes
	}
	codes := [5]prefixCode{}
	for i, counts := range [][]int{green, red, blue, alpha, dist} {
		codes[i] = b.prefixCode(counts)
	}
	for _, t := range tokens {
		if t.run > 0 {
			symbol, extra, n := lengthCode(t.run)
			b.symbol(codes[0], 256+symbol)
			b.write(extra, n)
			b.symbol(codes[4], distSymbol)
			b.write(distExtra, distBits)
			continue
		}
		b.symbol(codes[0], int(t.pixel>>8&0xff))
		b.symbol(codes[1], int(t.pixel>>16&0xff))
		b.symbol(codes[2], int(t.pixel&0xff))
		b.symbol(codes[3], int(t.pixel>>24))
	}
}

// A prefixCode is a canonical Huffman code.
type prefixCode struct {
	lengths []uint
	words   []uint32 // reversed, so that their first bit is the lowest
}

func (b *bitWriter) symbol(c prefixCode, s int) { b.write(c.words[s], c.lengths[s]) }

// prefixCode computes a code for symbols of these frequencies and writes it.
func (b *bitWriter) prefixCode(counts []int) prefixCode {
	var used []int
	for s, n := range counts {
		if n > 0 {
			used = append(used, s)
		}
	}
	if len(used) == 0 {
		used = []int{0}
	}
	if len(used) <= 2 && used[len(used)-1] < 256 {
		return b.simpleCode(used, len(counts))
	}
	lengths := codeLengths(counts, 15)
	b.write(0, 1) // not a simple code
	b.codeLengths(lengths)
	return canonical(lengths)
}

// simpleCode writes a code of one symbol, which takes no bits, or of two.
func (b *bitWriter) simpleCode(used []int, size int) prefixCode {
	c := prefixCode{lengths: make([]uint, size), words: make([]uint32, size)}
	b.write(1, 1)
	b.write(uint32(len(used)-1), 1)
	b.write(1, 1) // the first symbol has eight bits
	for i, s := range used {
		b.write(uint32(s), 8)
		if len(used) == 2 {
			c.lengths[s], c.words[s] = 1, uint32(i)
		}
	}
	return c
}

// codeLengthOrder is the order in which codeLengths writes the lengths of its own code.
var codeLengthOrder = [19]int{17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// codeLengths writes the lengths of a prefix code. They are written in a prefix code of their own, whose symbols 17 and
// 18 stand for several zeros.
func (b *bitWriter) codeLengths(lengths []uint) {
	type item struct {
		symbol int
		extra  uint32
		bits   uint
	}
	var items []item
	for i := 0; i < len(lengths); {
		zeros := 0
		for zeros < 138 && i+zeros < len(lengths) && lengths[i+zeros] == 0 {
			zeros++
		}
		switch {
		case zeros >= 11:
			items = append(items, item{18, uint32(zeros - 11), 7})
		case zeros >= 3:
			items = append(items, item{17, uint32(zeros - 3), 3})
		default:
			zeros = 1
			items = append(items, item{int(lengths[i]), 0, 0})
		}
		i += zeros
	}
	counts := make([]int, 19)
	for _, it := range items {
		counts[it.symbol]++
	}
	counts[0], counts[8] = counts[0]+1, counts[8]+1 // so that at least two symbols occur
	of := codeLengths(counts, 7)
	b.write(19-4, 4)
	for _, s := range codeLengthOrder {
		b.write(uint32(of[s]), 3)
	}
	b.write(0, 1) // all symbols
	code := canonical(of)
	for _, it := range items {
		b.symbol(code, it.symbol)
		b.write(it.extra, it.bits)
	}
}

// codeLengths computes the lengths of a Huffman code of at most limit bits. While the code is too deep it halves the
// counts, which makes them more alike, and tries again.
func codeLengths(counts []int, limit uint) []uint {
	counts = append([]int(nil), counts...)
	for {
		lengths := make([]uint, len(counts))
		if deepest(huffman(counts), lengths, 0) <= limit {
			return lengths
		}
		for i, n := range counts {
			if n > 0 {
				counts[i] = n/2 + 1
			}
		}
	}
}

// A tree is a node of a Huffman tree: a symbol, or two branches.
type tree struct {
	count       int
	symbol      int
	left, right *tree
}

type forest []*tree

func (f forest) Len() int { return len(f) }
func (f forest) Less(i, j int) bool {
	return f[i].count < f[j].count || f[i].count == f[j].count && f[i].symbol < f[j].symbol
}
func (f forest) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *forest) Push(x any)   { *f = append(*f, x.(*tree)) }
func (f *forest) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}

func huffman(counts []int) *tree {
	var f forest
	for s, n := range counts {
		if n > 0 {
			f = append(f, &tree{count: n, symbol: s})
		}
	}
	heap.Init(&f)
	for len(f) > 1 {
		a, b := heap.Pop(&f).(*tree), heap.Pop(&f).(*tree)
		heap.Push(&f, &tree{count: a.count + b.count, symbol: a.symbol, left: a, right: b})
	}
	return f[0]
}

// deepest sets the code lengths of all symbols below t and returns the greatest.
func deepest(t *tree, lengths []uint, depth uint) uint {
	if t.left == nil {
		lengths[t.symbol] = max(depth, 1)
		return depth
	}
	return max(deepest(t.left, lengths, depth+1), deepest(t.right, lengths, depth+1))
}

// canonical returns the code words of a canonical code: ordered by length, then by symbol.
func canonical(lengths []uint) prefixCode {
	c := prefixCode{lengths: lengths, words: make([]uint32, len(lengths))}
	next := uint32(0)
	for n := uint(1); n <= 15; n++ {
		for s, l := range lengths {
			if l == n {
				c.words[s] = bits.Reverse32(next) >> (32 - n)
				next++
			}
		}
		next <<= 1
	}
	return c
}
