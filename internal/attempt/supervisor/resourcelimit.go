package supervisor

// ResourceLimit is a limit on a resource of this process or its user.
type ResourceLimit struct {
	What       string
	Max        int
	Left       int
	PerAttempt int   // how much each attempt needs at its start
	Reserve    int   // how much must be left after the start of all attempts
	Err        error // the error that a system call returns if it would exceed the limit
}

const (
	// processesEach is the number of processes and threads that an attempt needs: a supervisor,
	// which has about 8 threads, and an agent with its tools.
	processesEach = 32
	// filesEach is the number of files that gaffer opens for an attempt. filesSpare is the number
	// of files that gaffer opens besides, to write documents and to read its database.
	filesEach, filesSpare = 8, 24
	// highLimit is the smallest limit that is treated as unlimited. For such a limit gaffer does
	// not count the usage, because counting reads every process of the machine.
	highLimit = 10000
)

// Lacks reports whether too little of the resource is left to start this number of attempts.
func (q ResourceLimit) Lacks(starting int) bool { return q.Left < q.Reserve+starting*q.PerAttempt }
