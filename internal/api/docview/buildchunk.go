package docview

import (
	"fmt"
	"slices"
	"time"

	"gaffer/internal/flow/spec"
	"gaffer/workflow"
)

// BuildChunk is one chunk of a build; see [BuildPicture].
type BuildChunk struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Status    string   `json:"status"` // status word as written in the workflow document
	Attempt   int      `json:"attempt"`
	Sections  []string `json:"sections"`
	Scenarios []string `json:"scenarios"`
	DependsOn []string `json:"dependsOn"`
	// Layer is the row of this chunk in the graph of chunks that the page shows. The top row is 0.
	// A chunk is below the chunks that it depends on.
	Layer   int       `json:"layer"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Spec    string    `json:"spec,omitempty"` // version of the project's specification for which the chunk was built
}

// maxChunks is how many chunks of a build the page's graph shows at most.
const maxChunks = 1000

func chunks(run workflow.BuildRun, l limits) []BuildChunk {
	list := []BuildChunk{}
	layer := layers(run.Chunks)
	for i, c := range run.Chunks[:min(len(run.Chunks), maxChunks)] {
		status := c.Status
		if status == "" {
			status = workflow.Planned
		}
		end := c.CompletedAt
		if status == workflow.Failed {
			end = c.FailedAt
		}
		list = append(list, BuildChunk{
			ID: l.cut(string(c.ID)), Name: l.cut(c.Name), Status: l.cut(string(status)), Attempt: max(c.Attempt, 0),
			Sections: l.cutAll(c.Sections), Scenarios: l.cutAll(c.Scenarios), DependsOn: l.cutAll(ids(c.DependsOn)), Layer: layer[i],
			Started: parseTime(c.StartedAt), Ended: parseTime(end), Spec: l.cut(c.SpecVersionAtBuild),
		})
	}
	return list
}

func ids(list []workflow.ID) []string {
	all := []string{}
	for _, id := range list {
		all = append(all, string(id))
	}
	return all
}

// layers returns the row of each chunk in the graph of a build's chunks. The row is the length of
// the chunk's longest chain of dependencies. Chunks in a dependency cycle, and chunks that depend
// on such chunks, come in a row below all others.
func layers(list []workflow.Chunk) []int {
	at := map[workflow.ID]int{}
	for i, c := range slices.Backward(list) {
		at[c.ID] = i
	}
	after, waits := make([][]int, len(list)), make([]int, len(list))
	for i, c := range list {
		for _, id := range c.DependsOn {
			if j, ok := at[id]; ok && j != i {
				after[j] = append(after[j], i)
				waits[i]++
			}
		}
	}
	return placeBelow(after, waits)
}

// placeBelow returns the row of each chunk in the graph of a build's chunks. It places each chunk
// below its dependencies. dependents[i] lists the chunks that depend on chunk i, and waits[i] is
// the number of dependencies of chunk i. placeBelow overwrites the elements of waits.
func placeBelow(dependents [][]int, waits []int) []int {
	layer := make([]int, len(waits))
	var free []int
	for i, n := range waits {
		if n == 0 {
			free = append(free, i)
		}
	}
	deepest := 0
	for ; len(free) > 0; free = free[1:] {
		i := free[0]
		deepest = max(deepest, layer[i])
		for _, j := range dependents[i] {
			layer[j] = max(layer[j], layer[i]+1)
			if waits[j]--; waits[j] == 0 {
				free = append(free, j)
			}
		}
	}
	for i, n := range waits {
		if n > 0 {
			layer[i] = deepest + 1
		}
	}
	return layer
}

// BuildResume asks the user how to continue an incomplete build.
type BuildResume struct {
	Text    string        `json:"text"`
	Next    string        `json:"next,omitempty"` // id of the chunk to continue with
	Choices []BuildChoice `json:"choices"`
	Stale   []BuildStale  `json:"stale"`
}

// BuildChoice is one way to continue a build. Command is the shell command for this choice, which
// the user runs in the project's folder. It is empty if no command exists for the choice.
type BuildChoice struct {
	Number  int    `json:"number"`
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
}

// BuildStale reports that a complete chunk was built from an older version of the project's
// specification.
type BuildStale struct {
	Chunk   string        `json:"chunk"`
	Section string        `json:"section,omitempty"`
	Built   string        `json:"built"`
	Now     string        `json:"now"`
	Text    string        `json:"text"`
	Choices []BuildChoice `json:"choices"`
}

const resumeCommand = "gaffer build resume"

func resume(run workflow.BuildRun, text spec.Spec, now time.Time, l limits) *BuildResume {
	if len(run.Chunks) > maxChunks {
		run.Chunks = run.Chunks[:maxChunks]
	}
	found, ok := run.Resume(text.Workflow())
	if !ok {
		return nil
	}
	r := &BuildResume{Text: limits{text: 10 * l.text}.cut(found.Text(now)), Choices: []BuildChoice{}, Stale: []BuildStale{}}
	if found.Next != nil {
		r.Next = l.cut(string(found.Next.ID))
	}
	flags := []string{" --yes", " --fresh", " --cancel"}
	for i, c := range found.Choices() {
		choice := BuildChoice{Number: c.Number, Text: l.cut(c.Text), Command: resumeCommand + flags[i]}
		if i == 0 && found.Next == nil {
			choice.Command = ""
		}
		r.Choices = append(r.Choices, choice)
	}
	for _, s := range found.Stale[:min(len(found.Stale), l.items)] {
		r.Stale = append(r.Stale, staleOf(s, l))
	}
	return r
}

func staleOf(s workflow.Stale, l limits) BuildStale {
	v := BuildStale{
		Chunk: l.cut(string(s.Chunk.ID)), Section: l.cut(s.Section), Built: l.cut(s.Built), Now: l.cut(s.Now), Text: l.cut(s.Text()),
		Choices: []BuildChoice{{Number: 1, Text: l.cut(fmt.Sprintf("Rebuild %s (recommended)", s.Chunk.Label()))}, {Number: 2, Text: "Keep old result"}},
	}
	if isShellWord(string(s.Chunk.ID)) {
		v.Choices[0].Command = resumeCommand + " --rebuild " + string(s.Chunk.ID)
		v.Choices[1].Command = resumeCommand + " --keep " + string(s.Chunk.ID)
	}
	return v
}

// isShellWord reports whether a text can be part of a shell command without quotes.
func isShellWord(text string) bool {
	for i, r := range text {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && (r != '-' && r != '.' || i == 0) {
			return false
		}
	}
	return text != "" && len(text) < 100
}
