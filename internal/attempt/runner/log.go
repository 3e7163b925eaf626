package runner

// Log reads the lines of an attempt's log as the agent writes them. Viewers use it.
type Log struct{ tail tail }

// OpenLog returns a Log that starts at an offset of the file, in bytes. The file need not exist
// yet.
func OpenLog(path string, offset int64) *Log { return &Log{tail{path: path, at: offset}} }

// Lines calls visit for every line that was written since the last call. complete says that no more
// output will be written: then a last line without a line end counts too.
func (l *Log) Lines(complete bool, visit func(line []byte)) error {
	return l.tail.read(-1, complete, visit)
}
