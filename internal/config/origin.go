package config

import "strconv"

// Origin says where the value of a setting came from. The zero value means the default.
type Origin struct {
	Flag string // name of the flag, for example --color
	Env  string // name of the environment variable
	File string // path of the file; Line and Col are the value's position in the file
	Line int
	Col  int
}

func (o Origin) String() string {
	switch {
	case o.Flag != "":
		return "flag " + o.Flag
	case o.Env != "":
		return "env " + o.Env
	case o.File != "":
		return o.File + ":" + strconv.Itoa(o.Line)
	}
	return "default"
}

// place returns the text for the origin at the beginning of an error message, for example
// "gaffer.yaml:3:5" for line 3, column 5. Unlike String, it includes the column.
func (o Origin) place() string {
	switch {
	case o.File == "":
		return o.String()
	case o.Line == 0:
		return o.File
	}
	return o.String() + ":" + strconv.Itoa(o.Col)
}

// Error reports a setting that is not valid, or a configuration file that cannot be read.
type Error struct {
	Origin Origin
	Err    error
	Next   string // advice for the user; may be empty
}

func (e *Error) Error() string { return e.Origin.place() + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns advice for the user, or "".
func (e *Error) Hint() string { return e.Next }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *Error) Usage() bool { return true }
