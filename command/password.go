package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"lectern/documents/passwords"
)

// readPassword reads a password: it asks for it twice at a terminal, and otherwise reads the first line of the standard
// input.
func readPassword(s *session) (string, error) {
	in, ok := s.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return firstLine(s.Stdin)
	}
	ask := func(what string) (string, error) {
		fmt.Fprint(s.Stderr, what)
		password, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(s.Stderr)
		return string(password), err
	}
	password, err := ask("password: ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	again, err := ask("once more: ")
	if err == nil && again != password {
		err = errors.New("the passwords differ")
	}
	return password, err
}

// firstLine returns the first line of a text, which is a password.
func firstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, passwords.MaxLength+3)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" {
		return "", errors.New("the standard input has no password: write it there, or say --generate")
	}
	return line, nil
}
