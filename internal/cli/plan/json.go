package plan

import (
	"time"

	"gaffer/internal/attempt/preflight"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// refusal is the JSON form of the problems of a plan that is not valid.
type refusal struct {
	Valid    bool          `json:"valid"`
	Problems plan.Problems `json:"problems"`
}

// checked is the JSON form of a valid plan. If plan files have the same field, its key is the same
// here.
type checked struct {
	Valid      bool          `json:"valid"`
	Name       string        `json:"name"`
	Format     plan.Format   `json:"format"`
	Source     string        `json:"source"`
	SourceFile string        `json:"source_file,omitempty"`
	Parallel   int           `json:"parallel"`
	OnFailure  string        `json:"on_failure"`
	Budget     *budget       `json:"budget,omitempty"`
	Workflow   *workflow     `json:"workflow,omitempty"`
	Waves      [][]string    `json:"waves"`
	Tasks      []checkedTask `json:"tasks"`
	Warnings   plan.Problems `json:"warnings"`
	Ready      bool          `json:"ready"` // true if Lacks is empty
	// Lacks lists the problems that prevent the plan from running on this machine. It is empty if a
	// server runs the plan.
	Lacks []preflight.Problem `json:"lacks"`
}

type checkedTask struct {
	ID            string                  `json:"id"`
	Name          string                  `json:"name"`
	Wave          int                     `json:"wave,omitempty"`
	After         []string                `json:"after"`
	PromptFile    string                  `json:"prompt_file,omitempty"`
	Prompt        string                  `json:"prompt,omitempty"`
	Agent         string                  `json:"agent,omitempty"`
	Model         string                  `json:"model,omitempty"`
	Argv          []string                `json:"argv,omitempty"`
	Timeout       string                  `json:"timeout,omitempty"`
	StallTimeout  string                  `json:"stall_timeout,omitempty"`
	Retries       int                     `json:"retries,omitempty"`
	Verify        []string                `json:"verify,omitempty"`
	Worktree      bool                    `json:"worktree,omitempty"`
	Branch        string                  `json:"branch,omitempty"`
	Land          string                  `json:"land,omitempty"`
	Into          string                  `json:"into,omitempty"`
	Env           map[string]secret.Value `json:"env,omitempty"` // environment variables; literal values are hidden
	Labels        []string                `json:"labels,omitempty"`
	Priority      int                     `json:"priority,omitempty"`
	Files         []string                `json:"files,omitempty"`
	Budget        *budget                 `json:"budget,omitempty"`
	Questions     string                  `json:"questions"`
	Permissions   *permissions            `json:"permissions,omitempty"`
	AnswerTimeout string                  `json:"answer_timeout,omitempty"`
	AnswerDefault string                  `json:"answer_default,omitempty"`
	// Sandbox is the sandbox that the agent gets on this machine. It is empty if the agent gets
	// none, or if a server runs the plan.
	Sandbox string `json:"sandbox,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Line    int    `json:"line,omitempty"`
}

type permissions struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	Ask   []string `json:"ask,omitempty"`
}

type budget struct {
	USD    float64 `json:"usd,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
}

type workflow struct {
	ID             string `json:"id"`
	Base           string `json:"base"`
	Branch         string `json:"branch"`
	CreatePR       bool   `json:"create_pr,omitempty"`
	MergeTo        string `json:"merge_to,omitempty"`
	DeleteWorktree bool   `json:"delete_worktree"`
}

func wire(p plan.Plan) checked {
	c := checked{
		Valid: true, Name: p.Name, Format: p.Format, Source: p.Source, SourceFile: p.SourceFile,
		Parallel: p.Parallel, OnFailure: string(p.OnFailure), Budget: wireBudget(p.Budget),
		Waves: append([][]string{}, p.Waves()...), Tasks: []checkedTask{}, Warnings: append(plan.Problems{}, p.Warnings...),
	}
	if w := p.Workflow; w != nil {
		c.Workflow = &workflow{w.ID, w.Base, w.Branch, w.OnComplete.CreatePR, w.OnComplete.MergeTo, w.OnComplete.DeleteWorktree}
	}
	for _, t := range p.Tasks {
		c.Tasks = append(c.Tasks, wireTask(t))
	}
	return c
}

func wireTask(t plan.Task) checkedTask {
	return checkedTask{
		ID: t.ID, Name: t.Name, Wave: t.Wave, After: append([]string{}, t.After...),
		PromptFile: t.PromptFile, Prompt: t.Prompt, Agent: t.Agent, Model: t.Model, Argv: t.Argv,
		Timeout: wireDuration(t.Timeout), StallTimeout: wireDuration(t.StallTimeout), Retries: t.Retries,
		Verify: t.Verify, Worktree: t.Worktree, Branch: t.Branch, Land: string(t.Land), Into: t.Into, Env: secret.Hide(t.Env), Labels: t.Labels,
		Priority: t.Priority, Files: t.Files, Budget: wireBudget(t.Budget), Questions: string(t.Questions), Permissions: wirePermissions(t.Permissions),
		AnswerTimeout: wireDuration(t.AnswerTimeout), AnswerDefault: t.AnswerDefault, Done: t.Done, Line: t.Line,
	}
}

func wirePermissions(p plan.Permissions) *permissions {
	if p.Empty() {
		return nil
	}
	return &permissions{p.Allow, p.Deny, p.Ask}
}

func wireBudget(b plan.Budget) *budget {
	if b == (plan.Budget{}) {
		return nil
	}
	return &budget{b.USD, b.Tokens}
}

func wireDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
