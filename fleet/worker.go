package fleet

// WorkerMeta is what gaffer's own workers say of themselves beside what the
// protocol has: it is the meta of an agent.
type WorkerMeta struct {
	Program string   `json:"program"` // gaffer
	Host    string   `json:"host,omitempty"`
	Version string   `json:"version,omitempty"`
	Slots   int      `json:"slots"` // how many tasks it runs at once
	Labels  []string `json:"labels"`
	Source  string   `json:"source"` // how it knows what its agents do: their output, or worker if it has none
	Held    int      `json:"held"`   // tasks that it has now
	// Run is the only one that it works on, of a worker that began with it and
	// ends with it.
	Run string `json:"run,omitempty"`
}
