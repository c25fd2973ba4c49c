// Package powerloss records all changes of files that the program makes, with strace, and opens the store as each of
// many losses of power could leave it.
package powerloss
