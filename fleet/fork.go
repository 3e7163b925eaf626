package fleet

// ForkRequest says how to fork a task: how much of the conversation and files of an existing task a
// new task gets, and how the new task continues.
type ForkRequest struct {
	Run    string `json:"run"`
	Task   string `json:"task"`
	At     int    `json:"at,omitempty"`     // number of the last turn (message and reply) to copy, from 1; 0 means the whole conversation
	Prompt string `json:"prompt,omitempty"` // next message to the agent; empty means "Continue."
	// Agent is the agent of the new task. Empty means the agent of the original task. A different
	// agent gets a summary of the conversation instead of a copy.
	Agent string `json:"agent,omitempty"`
	// Model is the model of the new task. Empty means the model of the original task or, if Agent
	// is a different agent, the default model of that agent.
	Model string `json:"model,omitempty"`
	Key   string `json:"key,omitempty"` // idempotency key: requests with the same key return the same run
}

// Fork says from which task a new task was forked, and how much of that task's conversation and
// files the new task got.
type Fork struct {
	Run  string `json:"run"`
	Task string `json:"task"`
	// Attempt is the number of an attempt of the original task: the new task started with the files
	// as they were at the end of that attempt. 0 means that the new task started with the files
	// with which the original task had started. Attempt is not used if the task has no worktree.
	Attempt int  `json:"attempt,omitempty"`
	Turn    int  `json:"turn,omitempty"`   // number of the last turn (message and reply) that the new task got
	Copied  bool `json:"copied,omitempty"` // true: the agent got a copy of the conversation; false: only a summary
}

// ForkResult is a new task that was forked from another one.
type ForkResult struct {
	Run   string   `json:"run"` // id of the new run, which has only this task
	Task  string   `json:"task"`
	From  Fork     `json:"from"`
	Notes []string `json:"notes,omitempty"` // sentences for users about what the new task did not get
}

// Turn is one message of the user in the conversation of a task, and the agent's last text in
// reply.
type Turn struct {
	Number  int `json:"number"` // from 1
	Attempt int `json:"attempt"`
	// Last reports whether this is the last turn of its attempt. gaffer keeps the task's files only
	// at the end of an attempt, so a fork after any other turn starts with older files.
	Last   bool   `json:"last,omitempty"`
	Text   string `json:"text,omitempty"` // the user's message; empty if the agent's output does not contain it
	Answer string `json:"answer,omitempty"`
}
