package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile/timestamp"
)

// Spec holds the current version of the project's spec, and the versions of its sections.
type Spec struct {
	Version string
	// Sections maps the alias of a section, such as "#status-line", to the spec version in which
	// the section last changed. For a section that is not listed, the version of the whole spec is
	// used.
	Sections map[string]string
}

// Resume describes an interrupted build, so that the user can decide how to continue.
type Resume struct {
	Run       BuildRun
	Done      []Chunk
	Remaining []Waiting
	Next      *Chunk  // the chunk (a part of the build) to continue with; nil if none can start
	Held      []Held  // chunks that are not completed and that gaffer must not build
	Stale     []Stale // completed chunks that were built against an older version of the spec
}

// Waiting is a chunk that is not completed, and the ids of the chunks that it waits for.
type Waiting struct {
	Chunk
	For []ID // ids of the chunks that must be completed first
}

// Held is a chunk that gaffer must not build, for one of three reasons: gaffer does not know the
// chunk's status; a dependency of the chunk names no chunk of the build; or the chunk depends on
// another held chunk.
type Held struct {
	Chunk
	Why string
	// ByHand is true if the user must do the work of the chunk. If it is false, the chunk only
	// waits for another held chunk.
	ByHand bool
}

// Text says why gaffer must not build the chunk. If ByHand is true, it also names the command with
// which the user marks the chunk as done.
func (h Held) Text() string {
	text := h.Label() + " " + h.Why
	if h.Note != "" {
		text += ": " + h.Note
	}
	if h.ByHand {
		text += fmt.Sprintf("\n  'gaffer build done %s' marks it done", h.ID)
	}
	return text
}

// Stale is a completed chunk that was built against an older version of the spec.
type Stale struct {
	Chunk   Chunk
	Section string // the section of the spec that has changed; empty if the whole spec was compared
	Built   string // spec version that the chunk was built against
	// Now is the spec version in which the section last changed. If Section is empty, it is the
	// current version of the whole spec.
	Now string
}

// Resume describes an interrupted build. It returns false if the build cannot be resumed, because
// it has ended, because none of its chunks is completed, or because all of them are.
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
	result.Held = heldChunks(result.Remaining, r.Chunks)
	result.Next = nextChunk(result.Remaining, result.Held)
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

// heldChunks returns those chunks in remaining that gaffer must not build; see [Held].
func heldChunks(remaining []Waiting, chunks []Chunk) []Held {
	known := map[ID]bool{}
	for _, c := range chunks {
		known[c.ID] = true
	}
	why := map[ID]Held{}
	for _, w := range remaining {
		if w.Status.Held() {
			why[w.ID] = Held{w.Chunk, "is " + string(w.Status), true}
			continue
		}
		for _, id := range w.For {
			if !known[id] {
				why[w.ID] = Held{w.Chunk, fmt.Sprintf("depends on %q, which names no chunk", shorten(string(id))), true}
			}
		}
	}
	for found := true; found; {
		found = false
		for _, w := range remaining {
			for _, id := range w.For {
				if _, is := why[w.ID]; is {
					break
				}
				if _, waits := why[id]; waits {
					why[w.ID] = Held{w.Chunk, "waits for " + Chunk{ID: id}.short(), false}
					found = true
				}
			}
		}
	}
	var list []Held
	for _, w := range remaining {
		if h, is := why[w.ID]; is {
			list = append(list, h)
		}
	}
	return list
}

// nextChunk returns the chunk to continue with, or nil if no chunk can start. It prefers a chunk in
// progress to a planned chunk, and a planned chunk to a failed one.
func nextChunk(remaining []Waiting, held []Held) *Chunk {
	for _, statuses := range [][]ChunkStatus{{Active, Retrying, inProgress}, {Planned}, {Failed}} {
		for _, w := range remaining {
			if len(w.For) == 0 && slices.Contains(statuses, w.Status.orPlanned()) &&
				!slices.ContainsFunc(held, func(h Held) bool { return h.ID == w.ID }) {
				return &w.Chunk
			}
		}
	}
	return nil
}

// stale finds out what has changed in the spec since the completed chunk c was built. c was built
// against the spec version c.SpecVersionAtBuild. If that is empty, stale uses the parameter planned
// instead, the spec version of the build's plan. If planned is empty too, stale returns nothing.
// Otherwise it compares in these steps:
//  1. For each section of c, stale checks whether the section has changed after the version that c
//     was built against. It returns one [Stale] for each section that has.
//  2. If step 1 finds no change, it may have missed one: c may have no sections, or spec may lack
//     the version of a section. In these two cases stale checks whether the current version of the
//     whole spec is known and is not the version that c was built against. If so, it returns one
//     Stale.
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

// section returns the spec version in which a section last changed. The alias of the section, such
// as "#status-line", may be written with or without the leading #. section returns false if the
// version is unknown.
func (s Spec) section(alias string) (string, bool) {
	bare := strings.TrimPrefix(alias, "#")
	for _, name := range []string{alias, bare, "#" + bare} {
		if v, ok := s.Sections[name]; ok && v != "" {
			return v, true
		}
	}
	return "", false
}

// newer reports whether version a is newer than b. It compares the versions part by part as
// numbers, so that 2.10 is newer than 2.4. If it meets a part that is not a number, newer reports
// whether a and b differ.
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

// Text returns the text that asks the user how to continue an interrupted build.
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
	if len(r.Held) > 0 {
		b.WriteString("\nLeft as they are:\n")
		for _, h := range r.Held {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(h.Text(), "\n", "\n  "))
		}
	}
	b.WriteString("\n")
	for _, c := range r.Choices() {
		fmt.Fprintf(&b, "(%d) %s\n", c.Number, c.Text)
	}
	return b.String()
}

// Choices lists the ways in which the user can continue.
func (r Resume) Choices() []Choice {
	first := "Resume is not possible: every remaining chunk waits for another"
	if len(r.Held) > 0 && len(r.Held) == len(r.Remaining) {
		first = "Resume is not possible: every remaining chunk waits for the user"
	}
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
	return joinWords(names, "and")
}

// short returns a short name of the chunk, such as "Chunk 3". If the chunk has no id, short returns
// its label.
func (c Chunk) short() string {
	if c.ID == "" {
		return c.Label()
	}
	return "Chunk " + string(c.ID)
}

// Text returns the text that asks the user whether to rebuild a completed chunk whose spec has
// changed.
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
