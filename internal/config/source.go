package config

import "strconv"

// Source describes where a value came from. The zero Source is the default.
type Source struct {
	Flag string // the flag, for example --color
	Env  string // the environment variable
	File string // the file; Line and Col are the position of the value
	Line int
	Col  int
}

func (s Source) String() string {
	switch {
	case s.Flag != "":
		return "flag " + s.Flag
	case s.Env != "":
		return "env " + s.Env
	case s.File != "":
		return s.File + ":" + strconv.Itoa(s.Line)
	}
	return "default"
}

// place returns the source as the prefix of an error. Unlike String it includes the
// column.
func (s Source) place() string {
	switch {
	case s.File == "":
		return s.String()
	case s.Line == 0:
		return s.File
	}
	return s.String() + ":" + strconv.Itoa(s.Col)
}

// Error describes a setting that cannot be used.
type Error struct {
	Source Source
	Err    error
	Next   string // what the user can do next, or ""
}

func (e *Error) Error() string { return e.Source.place() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what the user can do next, or "".
func (e *Error) Hint() string { return e.Next }

// Usage returns true: a wrong configuration is a user's mistake, like a wrong command
// line.
func (e *Error) Usage() bool { return true }
