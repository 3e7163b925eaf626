package supervisor

// Quota is how many of something this process or its user may have.
type Quota struct {
	What        string
	Max         int
	Left        int
	Each, Spare int   // must be left for each attempt that starts, and beyond these
	Err         error // of a system call beyond the limit
}

const (
	// processesEach is for a supervisor, which has about 8 threads, and for an agent
	// with its tools.
	processesEach = 32
	// filesEach is what gaffer has open for an attempt, filesSpare what it needs to
	// write documents and to read its database.
	filesEach, filesSpare = 8, 24
	// highLimit is a limit that is not counted against, which costs a look at every
	// process of the machine.
	highLimit = 10000
)

// Lacks reports whether too little is left to start some attempts.
func (q Quota) Lacks(starting int) bool { return q.Left < q.Spare+starting*q.Each }
