package pages

import "unsafe"

// This file holds all that the project does without the checks of Go's types: bbolt says where it has mapped the file to as a number,
// and where in the file a slice lies is known by its address alone.

// Mapped returns the memory of a file that is mapped to an address. It is valid as long as the file is mapped there.
func Mapped(address uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// Offset returns where in the file b begins; ok is false where b does not lie in it.
func (f *File) Offset(b []byte) (offset int, ok bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(f.data)))
	return int(at), at < uintptr(len(f.data)) && len(b) <= len(f.data)-int(at)
}

// At returns the file from an offset on. Offsets that Offset returned of keys and values are good in every File of the same state.
func (f *File) At(offset int) []byte { return f.data[offset:] }
