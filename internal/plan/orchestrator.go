package plan

import (
	"strconv"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// Patterns for parts of an orchestrator's markdown.
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

// isOrchestrator reports whether a markdown file is the plan of an orchestrator and not a prompt.
// The plan of an orchestrator has a dependency graph, or waves with prompts.
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

// orchestrator holds what was read from an orchestrator's markdown so far.
type orchestrator struct {
	reader       *reporter
	title        string
	graph        *graphDrawing // nil if the file has no section with a dependency graph
	items        []waveItem
	waveProblems Problems // problems with the waves; reported only if the plan's order comes from the waves and not from the graph
	done         map[string]bool
}

// waveItem is a prompt that is listed below a heading such as "### Wave 2: the API".
type waveItem struct {
	id, file, name string
	wave           int
	at             position
}

// readOrchestrator reads an orchestrator's markdown. It sets PromptFile of each task to the file
// name in the markdown, or leaves it empty if there is none. findPrompts finds the files later.
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

// scan reads the lines of the markdown. In fenced code blocks, it ignores headings and items of
// waves, but reads checkboxes.
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

// heading reads a heading. wave is the wave that the lines above the heading belong to. heading
// returns the wave of the lines below the heading, and whether the next fenced code block is the
// dependency graph.
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
	return n + 1, false // add 1, because 0 stands for no wave and some plans have a wave 0
}

// noNumber is the wave number for a heading without a number, for example "Wave one".
const noNumber = -1

// item adds the prompt file that a line below a wave's heading names to o.items. If the line names
// several files, it adds the first. If the name of the file has no id, or the wave has no number, it
// adds no item, but a problem to o.waveProblems. Text outside of lists may name files without an id.
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
			t.Wave-- // no heading has the number 0: subtract 1, so that waves have the numbers of their headings
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
