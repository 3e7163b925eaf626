package ledger

// Retries counts the tasks that were attempted more than once, and their outcomes. ByAttempts
// counts all tasks, grouped by their number of attempts.
type Retries struct {
	Tasks      int        `json:"tasks"`   // tasks with more than one attempt
	Done       int        `json:"done"`    // tasks with several attempts, of which the last one succeeded
	GaveUp     int        `json:"gave_up"` // tasks with several attempts, of which the last one failed or timed out
	ByAttempts []Attempts `json:"by_attempts"`
}

// Attempts counts the tasks that had a certain number of attempts, and how many of them succeeded.
type Attempts struct {
	Attempts int  `json:"attempts"`
	OrMore   bool `json:"or_more"` // Tasks and Done include tasks with more attempts
	Tasks    int  `json:"tasks"`
	Done     int  `json:"done"`
}

// maxAttempts is the highest number of attempts for which a report counts tasks separately. Tasks
// with more attempts are counted as if they had maxAttempts attempts.
const maxAttempts = 6

type retries struct {
	tasks, done [maxAttempts]int // indexed by the number of attempts minus one
	gaveUp      int
	again       latest
}

// add counts one task. last is the last attempt of the task.
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

// counted returns the counts for a report. ByAttempts has one entry for each number of attempts,
// from 1 to the highest number that a task has had, but at most maxAttempts entries.
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
