package plan

import (
	"slices"
	"strconv"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// Patterns for the parts of a Markdown file in the format [Orchestrator].
var (
	heading      = lazyregexp.New(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	graphHeading = lazyregexp.New(`(?i)^dependency\s+graph\b`)
	waveHeading  = lazyregexp.New(`(?i)^wave\b\s*(.*)$`)
	waveNumber   = lazyregexp.New(`^#?(\d{1,5})\b\s*[:.)–—-]?\s*(.*)$`)
	fence        = lazyregexp.New("^\\s*(```+|~~~+)")
	// promptName matches the file name of a prompt in backquotes, for example `001-setup.md`.
	promptName = lazyregexp.New("`([^`\\s]+\\.md)`")
	checkbox   = lazyregexp.New("\\[([xX ])\\]\\s*`?((\\d{3}(?:-\\d{2})?)(?:-[^`\\s]*)?\\.md)`?")
	listItem   = lazyregexp.New(`^\s*(?:[-*+]|\d+[.)])\s`)
	fileID     = lazyregexp.New(`^(\d{3}(?:-\d{2})?)(?:-(.*))?\.md$`)
)

// isOrchestrator reports whether a Markdown file is a plan in the format [Orchestrator], and not a
// prompt. Such a plan has a heading "Dependency graph", or names prompt files below a heading such
// as "Wave 1".
func isOrchestrator(data []byte) bool {
	inWave := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if m := heading().FindStringSubmatch(line); m != nil {
			if graphHeading().MatchString(m[2]) {
				return true
			}
			inWave = waveHeading().MatchString(m[2])
		}
		if inWave && promptName().MatchString(line) {
			return true
		}
	}
	return false
}

// orchestrator holds what was read so far from a Markdown file in the format [Orchestrator].
type orchestrator struct {
	reader *reporter
	title  string
	graph  *graphDrawing // nil if the file has no section with a dependency graph
	items  []waveItem
	// waveProblems holds the problems with the waves. They are reported only if there is no
	// dependency graph, because only then do the waves determine the order of the tasks.
	waveProblems Problems
	done         map[string]bool
}

// waveItem is a prompt that is listed below a heading such as "### Wave 2: the API".
type waveItem struct {
	id, file, name string
	wave           int
	at             position
}

// readOrchestrator reads a Markdown file in the format [Orchestrator]. It sets PromptFile of each
// task to the file name in the Markdown, or leaves it empty if there is none. Later, findPrompts
// finds and reads the prompt files.
func readOrchestrator(file string, data []byte, r *reporter) draft {
	o := orchestrator{reader: r, done: map[string]bool{}}
	o.scan(strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n"))
	d := draft{Plan: Plan{Name: orElse(o.title, defaultName(file)), Source: SourceOrchestrate, SourceFile: file, OnFailure: Continue}}
	if o.graph != nil && len(o.graph.ids) > 0 {
		o.fromGraph(&d)
	} else {
		o.fromWaves(&d)
	}
	for i := range d.Tasks {
		d.Tasks[i].Done = o.done[d.Tasks[i].ID]
		d.Tasks[i].Questions = Ask
	}
	return d
}

// scan reads the lines of the Markdown file. In a fenced code block, it reads only checkboxes and
// the dependency graph, and ignores headings and the names of prompt files.
func (o *orchestrator) scan(lines []string) {
	wave, wantGraph, block := 0, false, 0
	for i, line := range lines {
		line, at := strings.TrimRight(line, "\r"), position{line: i + 1, column: 1}
		o.readCheckbox(line)
		if fence().MatchString(line) {
			if block == 0 {
				block = i + 1
				if wantGraph && o.graph.first == 0 {
					o.graph.first = i + 1
				}
			} else {
				block, wantGraph = 0, false
			}
			continue
		}
		if block > 0 {
			if wantGraph {
				o.graph.line(line, at)
			}
			continue
		}
		if m := heading().FindStringSubmatch(line); m != nil {
			wave, wantGraph = o.heading(m[2], len(m[1]), at, wave)
			continue
		}
		if wave != 0 {
			o.item(line, wave, at)
		}
	}
	if block > 0 && (wantGraph || o.graph == nil) {
		o.reader.report(position{line: block, column: 1}, "the block that begins here is never closed, want a line of ``` behind it")
	}
}

// heading reads a heading. A wave is a group of prompts below a heading such as "Wave 1". The
// parameter wave is the wave to which the lines above the heading belong, or 0 if they belong to
// none. The first result is the wave of the lines below the heading. The second result reports
// whether the next fenced code block is the dependency graph.
func (o *orchestrator) heading(title string, level int, at position, wave int) (int, bool) {
	if level == 1 && o.title == "" {
		o.title = title
	}
	if graphHeading().MatchString(title) {
		if o.graph == nil {
			o.graph = newGraphDrawing(o.reader, at)
		}
		return 0, o.graph.first == 0
	}
	m := waveHeading().FindStringSubmatch(title)
	switch {
	case m == nil && level > 3:
		return wave, false // a subsection belongs to the wave of the section around it
	case m == nil:
		return 0, false
	}
	number := waveNumber().FindStringSubmatch(m[1])
	if number == nil {
		return noNumber, false
	}
	n, _ := strconv.Atoi(number[1])
	return n + 1, false // add 1: the result 0 means "no wave", but some plans have a heading "Wave 0"
}

// noNumber is the number of a wave whose heading has no number, for example "Wave one".
const noNumber = -1

// item reads a line below the heading of a wave. If the line names prompt files, item adds the
// first of them to o.items. If the wave has no number, item adds a problem to o.waveProblems
// instead. It does the same if the file's name has no id and the line is in a Markdown list;
// elsewhere it ignores such a name.
func (o *orchestrator) item(line string, wave int, at position) {
	file := ""
	if m := promptName().FindStringSubmatchIndex(line); m != nil {
		file, at.column = line[m[2]:m[3]], m[2]+1
	} else if m := checkbox().FindStringSubmatchIndex(line); m != nil {
		file, at.column = line[m[4]:m[5]], m[4]+1
	}
	if file == "" {
		return
	}
	m := fileID().FindStringSubmatch(baseName(file))
	if m == nil {
		if listItem().MatchString(line) {
			o.waveProblems = append(o.waveProblems, o.reader.problem(at, "the name %q does not begin with an id, want NNN-NN-name.md or NNN-name.md", file))
		}
		return
	}
	if wave == noNumber {
		o.waveProblems = append(o.waveProblems, o.reader.problem(at, "the heading above has no number, want one such as '### Wave 1: name'"))
		return
	}
	o.items = append(o.items, waveItem{id: m[1], file: file, name: m[2], wave: wave, at: at})
}

func (o *orchestrator) readCheckbox(line string) {
	if m := checkbox().FindStringSubmatch(line); m != nil {
		o.done[m[3]] = m[1] != " "
	}
}

func (o *orchestrator) fromGraph(d *draft) {
	o.graph.reportOpenLines()
	files := map[string]waveItem{}
	for _, item := range o.items {
		if _, known := files[item.id]; !known {
			files[item.id] = item
		}
		if !o.graph.has(item.id) {
			o.reader.warn(item.at, "%s is in a wave but not in the dependency graph, so it is not run", item.id)
		}
	}
	for _, id := range o.graph.ids {
		at := o.graph.at[id]
		t := Task{ID: id, Name: orElse(o.graph.names[id], files[id].name), PromptFile: files[id].file, After: o.graph.after[id], FileEntry: FileEntry{Line: at.line}}
		d.add(t, taskPositions{id: at, prompt: at, after: o.graph.afterAt[id]})
	}
}

func (o *orchestrator) fromWaves(d *draft) {
	o.reader.problems = append(o.reader.problems, o.waveProblems...)
	if len(o.items) == 0 {
		o.reportMissing()
		return
	}
	lowest := o.items[0].wave
	for _, item := range o.items {
		lowest = min(lowest, item.wave)
	}
	for _, item := range o.items {
		t := Task{ID: item.id, Name: item.name, PromptFile: item.file, Wave: item.wave, FileEntry: FileEntry{Line: item.at.line}}
		if lowest > 1 {
			// The method heading added 1 to each wave number, because a plan may have a wave 0.
			// This plan has none, so subtract 1: then the numbers are those in the headings.
			t.Wave--
		}
		d.add(t, taskPositions{id: item.at, prompt: item.at})
	}
}

// reportMissing reports why a plan has no tasks, unless a problem was already reported.
func (o *orchestrator) reportMissing() {
	switch {
	case len(o.reader.problems) > 0:
	case o.graph == nil:
		o.reader.report(position{}, "found neither a section '## Dependency Graph' nor '### Wave 1: name' with items such as `001-01-name.md`")
	case o.graph.first == 0:
		o.reader.report(o.graph.heading, "found no block of ``` with the graph below this heading")
	default:
		o.reader.report(position{line: o.graph.first, column: 1}, "found no ids in the graph, want some such as 001 or 001-02")
	}
}

func baseName(file string) string { return file[strings.LastIndex(file, "/")+1:] }

// TickCheckbox ticks the checkboxes of one prompt in an orchestrator file, which is a plan in
// markdown with a checkbox for each prompt. id is the id of the prompt. TickCheckbox changes "[ ]"
// to "[x]" and no other byte. The second result reports whether a checkbox was changed.
func TickCheckbox(markdown []byte, id string) ([]byte, bool) {
	var ticked []byte
	for _, m := range checkbox().FindAllSubmatchIndex(markdown, -1) {
		if string(markdown[m[6]:m[7]]) != id || markdown[m[2]] != ' ' {
			continue
		}
		if ticked == nil {
			ticked = slices.Clone(markdown)
		}
		ticked[m[2]] = 'x'
	}
	if ticked == nil {
		return markdown, false
	}
	return ticked, true
}
