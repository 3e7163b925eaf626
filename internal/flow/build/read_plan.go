package build

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/plan"
	"gaffer/internal/text/suggest"
	"gaffer/internal/yamldoc"
	"gaffer/statefile"
)

// maxChunks is the maximum number of chunks (parts of the work) in the plan of a build.
const maxChunks = 10_000

// Read parses the plan of a build from YAML or JSON. agents are the names of the agents defined in
// gaffer.yaml. A chunk without an id gets its position in the plan as its id. Errors are
// [plan.Problems]: one problem if the text cannot be parsed, and all problems if the plan is not
// valid.
func Read(file string, data []byte, agents []string) (p Plan, err error) {
	if err := decode(data, &p); err != nil {
		return p, plan.Problems{problemOf(file, err)}
	}
	p.File = file
	for i := range p.Chunks {
		if p.Chunks[i].ID == "" {
			p.Chunks[i].ID = ID(strconv.Itoa(i + 1))
		}
	}
	c := checker{file: file, agents: append(plan.Agents(), agents...)}
	if c.plan(p); len(c.problems) > 0 {
		return p, c.problems
	}
	return p, nil
}

func decode(data []byte, p *Plan) error {
	body, err := yamldoc.Parse(data)
	if err != nil || body == nil {
		return err
	}
	return yamldoc.Decode(body, p)
}

func problemOf(file string, err error) plan.Problem {
	p := plan.Problem{File: file, Text: err.Error()}
	if e, ok := errors.AsType[*yamldoc.Error](err); ok {
		p.Line, p.Column = e.Line, e.Column
	}
	if word, ok := strings.CutPrefix(p.Text, "unknown field "); ok {
		p.Suggestion = suggest.Nearest(strings.Trim(word, `"`), planKeys())
	}
	return p
}

// planKeys returns all keys that may occur in the file of a build's plan.
func planKeys() []string {
	return []string{
		"name", "priorities", "prioritySource", "specVersion", "convergence", "parallel", "agent", "model", "timeout", "retries",
		"questions", "chunks", "id", "sections", "scenarios", "dependsOn", "prompt", "verify", "serve", "phase", "command", "file", "url",
		"status", "contains", "screenshot",
	}
}

// checker collects the problems of a parsed plan.
type checker struct {
	file     string
	agents   []string
	problems plan.Problems
}

func (c *checker) report(format string, args ...any) {
	c.problems = append(c.problems, plan.Problem{File: c.file, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) plan(p Plan) {
	switch {
	case len(p.Chunks) == 0:
		c.report("found no chunks, want one at least")
	case len(p.Chunks) > maxChunks:
		c.report("found %d chunks, want %d at most", len(p.Chunks), maxChunks)
		return
	}
	if p.PrioritySource != "" && !slices.Contains([]string{"global", "project", "user-prompt"}, p.PrioritySource) {
		c.report("prioritySource: found %q, want global, project or user-prompt", p.PrioritySource)
	}
	if p.Questions != "" && !slices.Contains([]plan.QuestionPolicy{plan.Ask, plan.Rules, plan.Deny, plan.Allow}, plan.QuestionPolicy(p.Questions)) {
		c.report("questions: found %q, want ask, rules, deny or allow", p.Questions)
	}
	if p.Parallel < 0 {
		c.report("parallel: found %d, want 0 or more", p.Parallel)
	}
	c.agent("the plan", p.Agent)
	ids := c.ids(p)
	for _, chunk := range p.Chunks {
		c.chunk(chunk, ids)
	}
	for _, phase := range p.Convergence {
		c.references("convergence phase "+strconv.Quote(phase.Name), phase.Chunks, ids)
	}
	c.cycle(p)
}

func (c *checker) agent(what, name string) {
	if name != "" && !slices.Contains(c.agents, name) {
		c.report("%s: agent %q is not known, want one of %s", what, name, strings.Join(c.agents, ", "))
		c.problems[len(c.problems)-1].Suggestion = suggest.Nearest(name, c.agents)
	}
}

func (c *checker) ids(p Plan) (ids []ID) {
	for _, chunk := range p.Chunks {
		if slices.Contains(ids, chunk.ID) {
			c.report("two chunks have the id %s", chunk.ID)
		}
		if bad, ok := errors.AsType[*statefile.NameError](statefile.CheckName("chunk", TaskName(chunk.ID))); ok {
			c.report("chunk %.60q: its id %s", chunk.ID, bad.Problem)
		}
		ids = append(ids, chunk.ID)
	}
	return ids
}

func (c *checker) chunk(chunk Chunk, ids []ID) {
	what := "chunk " + string(chunk.ID)
	if strings.TrimSpace(chunk.Name) == "" {
		c.report("%s needs a name", what)
	}
	c.agent(what, chunk.Agent)
	c.references(what, chunk.DependsOn, ids)
	if chunk.Retries != nil && (*chunk.Retries < 0 || *chunk.Retries > 100) {
		c.report("%s: retries: found %d, want 0 to 100", what, *chunk.Retries)
	}
	if chunk.Timeout < 0 {
		c.report("%s: timeout: found %s, want 0 or more", what, chunk.Timeout)
	}
	for i, check := range chunk.Verify {
		if problem := check.problem(); problem != "" {
			c.report("%s: check %d: %s", what, i+1, problem)
		}
	}
}

func (c *checker) references(what string, list, ids []ID) {
	for _, id := range list {
		if !slices.Contains(ids, id) {
			c.report("%s names chunk %s, which is not in the plan", what, id)
		}
	}
}

// problem returns what is wrong with a check, or "" if it is valid.
func (c Check) problem() string {
	kinds := 0
	for _, text := range []string{c.Command, c.File, c.URL} {
		if strings.TrimSpace(text) != "" {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "want one of command, file and url"
	case c.URL == "" && (c.Status != 0 || c.Contains != "" || c.Screenshot):
		return "status, contains and screenshot belong to a url"
	case c.Status != 0 && (c.Status < 100 || c.Status > 599):
		return fmt.Sprintf("status: found %d, want an HTTP status such as 200", c.Status)
	case c.Timeout < 0:
		return fmt.Sprintf("timeout: found %s, want 0 or more", c.Timeout)
	}
	if u, err := url.Parse(strings.ReplaceAll(c.URL, "{port}", "80")); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Sprintf("url: found %q, want one that begins with http:// or https://", c.URL)
	}
	return ""
}

// cycle adds a problem if chunks depend on each other in a cycle.
func (c *checker) cycle(p Plan) {
	var tasks plan.Plan
	known := map[ID]bool{}
	for _, chunk := range p.Chunks {
		known[chunk.ID] = true
	}
	for _, chunk := range p.Chunks {
		t := plan.Task{ID: string(chunk.ID)}
		for _, id := range chunk.DependsOn {
			if known[id] {
				t.After = append(t.After, string(id))
			}
		}
		tasks.Tasks = append(tasks.Tasks, t)
	}
	for _, text := range tasks.Graph().Cycles() {
		c.report("the chunks wait for each other: %s", text)
	}
}
