package workflow

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile/timestamp"
)

// Spec is the version of the spec as it is now.
type Spec struct {
	Version string
	// Sections says at which version of the spec each section last changed, by
	// its alias. Where it does not name a section, the whole spec counts.
	Sections map[string]string
}

// Resume is what there is to know before an interrupted build goes on.
type Resume struct {
	Run       BuildRun
	Done      []Chunk
	Remaining []Waiting
	Next      *Chunk  // the chunk to go on with, nil if none can start
	Stale     []Stale // completed chunks whose spec has changed since
}

// Waiting is a chunk that is not completed, and what it waits for.
type Waiting struct {
	Chunk
	For []ID // those it depends on that are not completed
}

// Stale is a completed chunk that was built against an older spec.
type Stale struct {
	Chunk   Chunk
	Section string // the section that changed; empty if only the whole spec can be compared
	Built   string // the version it was built against
	Now     string
}

// Resume looks at an interrupted build. It reports false if there is nothing to
// resume: the build ended, or no chunk is completed yet.
func (r BuildRun) Resume(spec Spec) (Resume, bool) {
	result := Resume{Run: r}
	completed := map[ID]bool{}
	for _, c := range r.Chunks {
		if c.Status == Completed {
			completed[c.ID] = true
			result.Done = append(result.Done, c)
			result.Stale = append(result.Stale, stale(c, r.Plan.SpecVersion, spec)...)
		}
	}
	for _, c := range r.Chunks {
		if c.Status != Completed {
			result.Remaining = append(result.Remaining, Waiting{c, unmet(c, completed)})
		}
	}
	result.Next = next(result.Remaining)
	ended := r.Status == RunCompleted || r.Status == Partial
	return result, !ended && len(result.Done) > 0 && len(result.Remaining) > 0
}

func unmet(c Chunk, completed map[ID]bool) []ID {
	var missing []ID
	for _, id := range c.DependsOn {
		if !completed[id] {
			missing = append(missing, id)
		}
	}
	return missing
}

// next prefers a chunk that is plainly due to one that failed or whose status
// is another program's word.
func next(remaining []Waiting) *Chunk {
	due := func(s ChunkStatus) bool {
		s = s.orPlanned()
		return s == Planned || s == Active || s == Retrying
	}
	for _, want := range []bool{true, false} {
		for _, w := range remaining {
			if len(w.For) == 0 && due(w.Status) == want {
				return &w.Chunk
			}
		}
	}
	return nil
}

// stale compares section by section where the spec gives their versions, else
// the whole spec. A chunk that does not say what it was built against is held
// to the version of the plan; if there is none, nothing can be said.
func stale(c Chunk, planned string, spec Spec) []Stale {
	built := c.SpecVersionAtBuild
	if built == "" {
		built = planned
	}
	if built == "" {
		return nil
	}
	var found []Stale
	whole := len(c.Sections) == 0
	for _, section := range c.Sections {
		changed, ok := spec.section(section)
		if !ok {
			whole = true
		} else if newer(changed, built) {
			found = append(found, Stale{c, section, built, changed})
		}
	}
	if whole && len(found) == 0 && spec.Version != "" && spec.Version != built {
		found = append(found, Stale{Chunk: c, Built: built, Now: spec.Version})
	}
	return found
}

// section looks an alias up with and without its #.
func (s Spec) section(alias string) (string, bool) {
	bare := strings.TrimPrefix(alias, "#")
	for _, name := range []string{alias, bare, "#" + bare} {
		if v, ok := s.Sections[name]; ok && v != "" {
			return v, true
		}
	}
	return "", false
}

// newer compares versions such as 2.10 and 2.4 number by number. Versions that
// are not numbers are newer if they are not the same.
func newer(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		m, err1 := part(x, i)
		n, err2 := part(y, i)
		if err1 != nil || err2 != nil {
			return a != b
		}
		if m != n {
			return m > n
		}
	}
	return false
}

func part(parts []string, i int) (uint64, error) {
	if i >= len(parts) {
		return 0, nil
	}
	return strconv.ParseUint(strings.TrimPrefix(parts[i], "v"), 10, 64)
}

// Text is what a person is asked before an interrupted build goes on.
func (r Resume) Text(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found incomplete build (%d/%d chunks done, started %s).\n", len(r.Done), r.Run.Total(), ago(r.Run.StartedAt, now))
	b.WriteString("\nCompleted:\n")
	for _, c := range r.Done {
		fmt.Fprintf(&b, "  %s\n", c.Label())
	}
	b.WriteString("\nRemaining:\n")
	for _, w := range r.Remaining {
		fmt.Fprintf(&b, "  %s%s\n", w.Label(), w.note())
	}
	b.WriteString("\n")
	for _, c := range r.Choices() {
		fmt.Fprintf(&b, "(%d) %s\n", c.Number, c.Text)
	}
	return b.String()
}

// Choices lists the ways to go on.
func (r Resume) Choices() []Choice {
	first := "Resume is not possible: every remaining chunk waits for another"
	if r.Next != nil {
		first = fmt.Sprintf("Resume from %s (recommended)", r.Next.short())
	}
	return []Choice{{1, first}, {2, "Start fresh with a new plan"}, {3, "Cancel"}}
}

func (w Waiting) note() string {
	var notes []string
	if s := w.Status.orPlanned(); s != Planned {
		notes = append(notes, string(s))
	}
	if len(w.For) > 0 {
		notes = append(notes, "depends on "+chunkList(w.For))
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, ", ") + ")"
}

func chunkList(ids []ID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = "Chunk " + string(id)
	}
	return list(names, "and")
}

// short names the chunk by its id where it has one.
func (c Chunk) short() string {
	if c.ID == "" {
		return c.Label()
	}
	return "Chunk " + string(c.ID)
}

// Text is what a person is asked about one completed chunk whose spec changed.
func (s Stale) Text() string {
	what := "the spec is now " + s.Now
	if s.Section != "" {
		what = fmt.Sprintf("section %s changed in %s", s.Section, s.Now)
	}
	return fmt.Sprintf("%s was built against spec %s, and %s.\n(1) Rebuild %s (recommended)\n(2) Keep old result\n",
		s.Chunk.Label(), s.Built, what, s.Chunk.short())
}

func ago(then string, now time.Time) string {
	t, err := timestamp.Parse(then, now.Location())
	if err != nil {
		return "at an unknown time"
	}
	d := now.Sub(t)
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int(d / unit.size); n == 1 {
			return "1 " + unit.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return "just now"
}
