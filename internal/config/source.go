package config

import "strconv"

// Source is where a value came from. The zero Source is the default.
type Source struct {
	Flag string // the flag, as --color
	Env  string // the environment variable
	File string // the file, with the line and column of the value
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

// place is the source as it stands before an error, with the column.
func (s Source) place() string {
	switch {
	case s.File == "":
		return s.String()
	case s.Line == 0:
		return s.File
	}
	return s.String() + ":" + strconv.Itoa(s.Col)
}

// Error is a setting that cannot be used.
type Error struct {
	Source Source
	Err    error
	Next   string // what to do next, or ""
}

func (e *Error) Error() string { return e.Source.place() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do next, or "".
func (e *Error) Hint() string { return e.Next }

// Usage is true: the configuration is as much the user's word as the command line.
func (e *Error) Usage() bool { return true }
