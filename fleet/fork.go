package fleet

// ForkRequest says how to fork a task: how much of the task's conversation and files the new task
// gets, and how the new task continues.
type ForkRequest struct {
	Run    string `json:"run"`
	Task   string `json:"task"`
	At     int    `json:"at,omitempty"`     // number of the last turn that the new task gets, from 1; 0 means the whole conversation
	Prompt string `json:"prompt,omitempty"` // the next message to the agent; empty means a message that tells it to continue
	Agent  string `json:"agent,omitempty"`  // another agent, which gets a summary of the conversation; empty means the same
	Model  string `json:"model,omitempty"`  // another model; empty means the same or, with another agent, that agent's default
	Key    string `json:"key,omitempty"`    // chosen by the client: a repeated request with the same key returns the same run
}

// Fork says from which task a task was forked.
type Fork struct {
	Run     string `json:"run"`
	Task    string `json:"task"`
	Attempt int    `json:"attempt,omitempty"` // number of the attempt whose final files the new task got; 0 means those of the commit that the original task started from
	Turn    int    `json:"turn,omitempty"`    // number of the last turn that the new task got
	Copied  bool   `json:"copied,omitempty"`  // the agent got a copy of the conversation; if false, it got a summary
}

// ForkResult is a new task that was forked from another one.
type ForkResult struct {
	Run   string   `json:"run"` // id of the new run, which has only this task
	Task  string   `json:"task"`
	From  Fork     `json:"from"`
	Notes []string `json:"notes,omitempty"` // what the new task could not get from the original one, as sentences
}

// Turn is one message of the user in the conversation of a task, and the agent's last text about it.
type Turn struct {
	Number  int    `json:"number"` // from 1
	Attempt int    `json:"attempt"`
	Last    bool   `json:"last,omitempty"` // this is the last turn of its attempt, so gaffer has kept the files of this moment
	Text    string `json:"text,omitempty"` // the message; empty if the output of the agent program does not contain it
	Answer  string `json:"answer,omitempty"`
}
