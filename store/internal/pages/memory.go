package pages

import "unsafe"

// This file has all uses of unsafe in the project. bbolt returns the address of its mapping as a number, and only the
// address of a slice tells where in the file it is.

// Mapped returns the memory to which a file is mapped at an address. It is valid as long as the mapping is.
func Mapped(address uintptr, size int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// Offset returns the offset of b in the file; ok is false if b is not a part of the file.
func (f *File) Offset(b []byte) (offset int, ok bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(f.data)))
	return int(at), at < uintptr(len(f.data)) && len(b) <= len(f.data)-int(at)
}

// At returns the file from an offset on. Offsets of keys and values are the same in every File of one state.
func (f *File) At(offset int) []byte { return f.data[offset:] }
