package supervisor

// Quota is a limit on a resource of this process or its user.
type Quota struct {
	What  string
	Max   int
	Left  int
	Each  int   // needed by each attempt that starts
	Spare int   // must be left over after all starts
	Err   error // returned by system calls beyond the limit
}

const (
	// processesEach covers a supervisor, which has about 8 threads, and an agent with
	// its tools.
	processesEach = 32
	// filesEach is the number of files that gaffer opens for an attempt. filesSpare is
	// what it needs to write documents and to read its database.
	filesEach, filesSpare = 8, 24
	// highLimit is the limit from which on usage is not counted, since counting reads
	// every process of the machine.
	highLimit = 10000
)

// Lacks reports whether too little of the resource is left to start the given number of
// attempts.
func (q Quota) Lacks(starting int) bool { return q.Left < q.Spare+starting*q.Each }
