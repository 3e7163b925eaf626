package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/statefile/timestamp"
	"gaffer/workflow"
)

// FeedEntry is an event of a build's activity feed, with its time.
type FeedEntry struct {
	Seq   int64 // sequence number of the engine event that caused the entry
	At    time.Time
	Draft workflow.Draft
}

// Outcome holds the results of the checks of an attempt.
type Outcome struct {
	Checks     []workflow.Check
	Mode       string
	Summary    string
	Screenshot string
}

// Progress is the state of a build: the status of its chunks (parts of the work). It is computed
// from the engine's events.
type Progress struct {
	Build Build
	Ended store.Status // final status of the engine's run; empty while the run continues

	// Written is true once this build was written to the workflow state (the project's state.json).
	// If the state contains another build after that, another program has replaced this build.
	Written bool

	chunk       map[string]int    // index of the task's chunk in Build.Run.Chunks, by task id
	lastFailure map[string]string // why the task's last attempt has ended, by task id
}

// NewProgress returns the progress of a build before the first event.
func NewProgress(b Build) *Progress {
	s := &Progress{Build: b, chunk: map[string]int{}, lastFailure: map[string]string{}}
	s.Build.Run.Chunks = slices.Clone(b.Run.Chunks)
	for i, c := range b.Run.Chunks {
		if task := b.Tasks[string(c.ID)]; task != "" {
			s.chunk[task] = i
		}
	}
	return s
}

// Apply applies the next event to s and returns the entries of the activity feed that result from
// it. The function outcome returns the results of an attempt's checks, and false if they are
// unknown.
func (s *Progress) Apply(e store.Event, outcome func(task string, attempt int) (Outcome, bool)) ([]FeedEntry, error) {
	var drafts []workflow.Draft
	i, ours := s.chunk[e.Task]
	switch {
	case strings.HasPrefix(e.Kind, "run.") && e.To != "":
		s.Ended = ""
		if to := store.Status(e.To); to.Final() {
			s.Ended = to
		}
	case !ours:
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		var err error
		if drafts, err = s.taskChanged(i, e, outcome); err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
	case e.Kind == "attempt.compacted":
		drafts = []workflow.Draft{workflow.Compacted(s.label(i), cmp.Or(e.Why, "The agent's context was compacted"))}
	case e.Kind == "question.asked":
		drafts = []workflow.Draft{draft(workflow.EscalationEmitted, s.label(i), "The user is asked: "+e.Why, workflow.Field{Name: "reason", Value: e.Why})}
	}
	entries := make([]FeedEntry, len(drafts))
	for n, d := range drafts {
		entries[n] = FeedEntry{e.Seq, e.At, d}
	}
	return entries, nil
}

// taskChanged applies an event that changes the status of a chunk's task. i is the index of the
// chunk. taskChanged returns the events that result for the activity feed.
func (s *Progress) taskChanged(i int, e store.Event, outcome func(string, int) (Outcome, bool)) ([]workflow.Draft, error) {
	var tried *store.Attempt
	if len(e.AttemptRow) > 0 {
		tried = &store.Attempt{}
		if err := json.Unmarshal(e.AttemptRow, tried); err != nil {
			return nil, err
		}
	}
	c := &s.Build.Run.Chunks[i]
	at := timestamp.Format(e.At)
	switch to := store.Status(e.To); {
	case to == store.Running && tried != nil:
		return s.started(i, *tried, at), nil
	case tried == nil && (to == store.Queued || to == store.Cancelled):
		// The task was queued, for example because the user has retried it, or it was cancelled
		// while it was queued. So set its chunk back to planned.
		*c = planned(*c)
		return nil, nil
	case tried == nil && to == store.Failed:
		c.Status, c.FailedAt = workflow.Failed, at
		return []workflow.Draft{s.failed(i, e.Why)}, nil
	case tried == nil && to == store.Complete:
		// The complete task was queued again for a message to its agent. The message was withdrawn,
		// so the task is complete again.
		c.Status, c.CompletedAt = workflow.Completed, at
		return nil, nil
	case tried == nil:
		return nil, nil // no attempt has started or ended: the task's chunk stays as it is
	}
	why := failureReason(*tried, outcome)
	s.lastFailure[e.Task] = why
	drafts := s.verified(i, *tried, outcome)
	switch to := store.Status(e.To); to {
	case store.Complete:
		*c = planned(*c)
		c.Status, c.CompletedAt = workflow.Completed, at
		s.Build.Run.LastCheckpoint = at
		s.Build.Run.ConvergencePhase = s.Build.phase()
		drafts = append(drafts, s.completed(i)...)
	case store.Failed:
		*c = planned(*c)
		c.Status, c.FailedAt = workflow.Failed, at
		drafts = append(drafts, s.failed(i, why))
		// The classes of failures that only the user can fix.
		needUser := []failure.Class{failure.Denied, failure.Auth, failure.NotStarted, failure.BadPlan, failure.OverBudget}
		if slices.Contains(needUser, tried.Class) {
			drafts = append(drafts, draft(workflow.EscalationEmitted, s.label(i), "The user must act: "+why, workflow.Field{Name: "reason", Value: tried.Class}))
		}
	case store.Cancelled:
		*c = planned(*c)
	}
	return drafts, nil
}

// started applies the start of the attempt a to the chunk with index i. It returns the events that
// result for the activity feed.
func (s *Progress) started(i int, a store.Attempt, at string) []workflow.Draft {
	c := &s.Build.Run.Chunks[i]
	label := s.label(i)
	drafts := []workflow.Draft{
		workflow.Checkpointed(label, "Build state checkpointed before context boundary"),
		workflow.Boundary(label, isolation(a), label+" starts in a "+isolation(a)),
	}
	if a.Number > 1 {
		c.Status, c.Attempt = workflow.Retrying, a.Number
		why := s.lastFailure[a.Task]
		return append(drafts, draft(workflow.ChunkRetrying, label, fmt.Sprintf("Attempt %d, after: %s", a.Number, why),
			workflow.Field{Name: "attempt", Value: a.Number}, workflow.Field{Name: "reason", Value: why}))
	}
	*c = planned(*c)
	c.Status, c.Attempt, c.StartedAt = workflow.Active, 1, at
	section := ""
	if len(c.Sections) > 0 {
		section = c.Sections[0]
	}
	drafts = append(drafts, draft(workflow.ChunkStarted, label, label+" started",
		workflow.Field{Name: "section", Value: section}, workflow.Field{Name: "attempt", Value: 1},
		workflow.Field{Name: "chunkNumber", Value: i + 1}, workflow.Field{Name: "totalChunks", Value: s.Build.Run.Total()}))
	for _, section := range c.Sections {
		drafts = append(drafts, draft(workflow.SectionStarted, label, section+" is worked on", workflow.Field{Name: "section", Value: section}))
	}
	return drafts
}

// isolation returns "resumed session" if earlier attempts of the same conversation have spent
// tokens or money. Otherwise it returns "fresh session". These are words of the workflow protocol.
func isolation(a store.Attempt) string {
	if a.SpentEarlier != (store.Amount{}) {
		return "resumed session"
	}
	return "fresh session"
}

func (s *Progress) completed(i int) (drafts []workflow.Draft) {
	c, label := s.Build.Run.Chunks[i], s.label(i)
	for _, section := range c.Sections {
		drafts = append(drafts, draft(workflow.SectionCompleted, label, section+" is built", workflow.Field{Name: "section", Value: section}))
	}
	return append(drafts,
		draft(workflow.ChunkCompleted, label, label+" completed", workflow.Field{Name: "scenarios", Value: c.Scenarios}),
		draft(workflow.CheckpointSaved, label, fmt.Sprintf("chunks completed: %d of %d", s.Build.Run.Count(workflow.Completed), s.Build.Run.Total())))
}

func (s *Progress) failed(i int, why string) workflow.Draft {
	return draft(workflow.ChunkFailed, s.label(i), "Abandoned: "+why, workflow.Field{Name: "reason", Value: why})
}

// verified returns the event of the activity feed that contains the results of an attempt's checks.
// It returns no event if there were no checks.
func (s *Progress) verified(i int, a store.Attempt, outcome func(string, int) (Outcome, bool)) []workflow.Draft {
	var commands []fleet.Check
	if json.Unmarshal(a.Checks, &commands) != nil || len(commands) == 0 {
		return nil
	}
	o, known := outcome(a.Task, a.Number)
	if !known { // the file with the results cannot be read: only pass or fail is known
		o = Outcome{Mode: workflow.Minimal}
		for _, c := range commands {
			result := workflow.Pass
			if !c.OK {
				result = workflow.Fail
			}
			o.Checks = append(o.Checks, workflow.Check{Name: "all checks of the chunk", Result: result})
		}
	}
	return []workflow.Draft{workflow.Verified(s.label(i), o.Summary, o.Checks, o.Mode, o.Screenshot)}
}

func (s *Progress) label(i int) string { return s.Build.Run.Chunks[i].Label() }

// planned returns a copy of the chunk c as it was before any attempt. The copy has none of the
// times and attempts of c.
func planned(c workflow.Chunk) workflow.Chunk {
	return workflow.Chunk{
		ID: c.ID, Name: c.Name, Status: workflow.Planned, Sections: c.Sections, Scenarios: c.Scenarios, DependsOn: c.DependsOn,
	}
}

// failureReason returns one line about why an attempt failed. If checks failed and their results
// are known, the line contains the names of the failed checks.
func failureReason(a store.Attempt, outcome func(string, int) (Outcome, bool)) string {
	if o, known := outcome(a.Task, a.Number); known && a.Class == failure.VerifyFailed {
		var failed []string
		for _, c := range o.Checks {
			if c.Result != workflow.Pass {
				failed = append(failed, c.Name)
			}
		}
		return string(a.Class) + ": " + strings.Join(failed, ", ")
	}
	line, _, _ := strings.Cut(strings.TrimSpace(a.Summary), "\n")
	if line == "" {
		return string(a.Class)
	}
	return string(a.Class) + ": " + line
}

func draft(kind, chunk, summary string, fields ...workflow.Field) workflow.Draft {
	return workflow.Draft{Kind: kind, Fields: append([]workflow.Field{{Name: "chunk", Value: chunk}, {Name: "summary", Value: summary}}, fields...)}
}
