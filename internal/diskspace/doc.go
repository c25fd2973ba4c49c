// Package diskspace says how much space a file system has left.
package diskspace
