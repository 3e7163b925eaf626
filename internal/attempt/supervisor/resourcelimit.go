package supervisor

// ResourceLimit is a limit on a resource of this process or its user.
type ResourceLimit struct {
	What       string
	Max        int
	Left       int
	PerAttempt int   // how much of the resource each new attempt needs
	Reserve    int   // how much of the resource must stay free for other purposes
	Err        error // the error that a system call returns if it would exceed the limit
}

const (
	// processesEach is the number of processes and threads that gaffer reserves for an attempt: for
	// its supervisor, and for the agent with its tools.
	processesEach = 32
	// filesEach is the number of open files that gaffer reserves for an attempt. filesSpare is the
	// number that it reserves for other purposes, such as its own state files and its database.
	filesEach, filesSpare = 8, 24
	// highLimit is the smallest limit that is treated as unlimited. For such a limit gaffer does
	// not find out how much is used: to count processes, it would have to read all of /proc.
	highLimit = 10000
)

// Lacks reports whether too little of the resource is left to start the given number of attempts.
func (q ResourceLimit) Lacks(starting int) bool { return q.Left < q.Reserve+starting*q.PerAttempt }
