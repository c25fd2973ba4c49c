// Package config reads the files of a project: its settings in config/, its environment variables in .env, and its
// content types.
//
// Load returns a checked Definition that does not change, or all problems of the files. Each problem has its file and
// line, and says how to mend it.
//
// Reading the source: settings.go lists the settings with their units and defaults, definition.go loads a project, and
// read.go lists the files of config/. Each of the other files reads a part of the settings. A type whose name ends in
// File has the fields of a file; the comments of its fields are the tables of settings in docs/, which go generate
// writes and a test compares.
package config
