package config

import "strconv"

// Source says where the value of a setting came from. The zero value means the default.
type Source struct {
	Flag string // name of the flag, for example --color
	Env  string // name of the environment variable
	File string // path of the file; Line and Col are the value's position in the file
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

// place returns the text for the source at the beginning of an error message, for example
// "gaffer.yaml:3:5" for line 3, column 5. Unlike String, it includes the column.
func (s Source) place() string {
	switch {
	case s.File == "":
		return s.String()
	case s.Line == 0:
		return s.File
	}
	return s.String() + ":" + strconv.Itoa(s.Col)
}

// Error reports a setting that is not valid, or a configuration file that cannot be read.
type Error struct {
	Source Source
	Err    error
	Next   string // advice for the user; may be empty
}

func (e *Error) Error() string { return e.Source.place() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns advice for the user, or "".
func (e *Error) Hint() string { return e.Next }

// Usage makes gaffer end with the exit code for a mistake on the command line or in the
// configuration.
func (e *Error) Usage() bool { return true }
