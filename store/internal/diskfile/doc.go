// Package diskfile allocates space for files before it is written to, and takes other handles of open files. What a
// system cannot do is done as well as it can be.
package diskfile
