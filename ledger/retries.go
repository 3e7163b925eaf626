package ledger

// Retries say what became of tasks by how many attempts they took.
type Retries struct {
	Tasks      int        `json:"tasks"`   // that needed more than one attempt
	Done       int        `json:"done"`    // of those, ended done
	GaveUp     int        `json:"gave_up"` // of those, the last attempt failed or timed out
	ByAttempts []Attempts `json:"by_attempts"`
}

// Attempts is the tasks that took so many attempts.
type Attempts struct {
	Attempts int  `json:"attempts"`
	OrMore   bool `json:"or_more"` // this many or more
	Tasks    int  `json:"tasks"`
	Done     int  `json:"done"`
}

// maxAttempts is from where on numbers of attempts are not told apart.
const maxAttempts = 6

type retries struct {
	tasks, done [maxAttempts]int // by the number of attempts less one
	gaveUp      int
	again       latest
}

// add counts a task by its last attempt.
func (r *retries) add(last Attempt) {
	at := min(last.Attempt, maxAttempts) - 1
	r.tasks[at]++
	if last.Status == Done {
		r.done[at]++
	}
	if last.Attempt == 1 {
		return
	}
	r.again.add(last)
	if last.hasFailed() {
		r.gaveUp++
	}
}

func (r *retries) retried() int {
	n := 0
	for _, tasks := range r.tasks[1:] {
		n += tasks
	}
	return n
}

// counted lists the numbers of attempts up to the highest that a task took.
func (r *retries) counted() Retries {
	out := Retries{Tasks: r.retried(), GaveUp: r.gaveUp, ByAttempts: []Attempts{}}
	for i, tasks := range r.tasks {
		if tasks == 0 {
			continue
		}
		for len(out.ByAttempts) <= i {
			n := len(out.ByAttempts) + 1
			out.ByAttempts = append(out.ByAttempts, Attempts{Attempts: n, OrMore: n == maxAttempts})
		}
		out.ByAttempts[i].Tasks, out.ByAttempts[i].Done = tasks, r.done[i]
		if i > 0 {
			out.Done += r.done[i]
		}
	}
	return out
}
