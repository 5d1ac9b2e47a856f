package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/paidonce/paidonce/go/database"
)

// The exit codes of every command; see the package comment.
const (
	exitOK     = 0
	exitFailed = 1
	exitMisuse = 2
)

// misuse is an error of the caller: nothing was tried.
type misuse struct {
	err  error
	next string
}

func (m misuse) Error() string { return m.err.Error() }
func (m misuse) Unwrap() error { return m.err }

// advised is a failure that its command knows the remedy for, better than hint does.
type advised struct {
	err  error
	next string
}

func (a advised) Error() string { return a.err.Error() }
func (a advised) Unwrap() error { return a.err }

// report tells the reader what went wrong and what to do next, and says how to exit.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(w, "paidonce: %s\n", database.Redact(err.Error()))
	code, next := exitFailed, database.Hint(err)
	var m misuse
	var a advised
	switch {
	case errors.As(err, &m):
		code, next = exitMisuse, m.next
	case errors.As(err, &a):
		next = a.next
	}
	if next != "" {
		fmt.Fprintf(w, "  next: %s\n", next)
	}
	return code
}
