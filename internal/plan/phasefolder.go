package plan

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// readPhases reads the phase plan arg, or all phase plans in the folder arg. A phase plan is a
// Markdown file that describes one task.
func (l *loader) readPhases(arg string) (draft, error) {
	full := under(l.opts.Dir, arg)
	info, err := l.host.Stat(readStep, full)
	if err != nil {
		return draft{}, err
	}
	dir, files := filepath.Dir(full), []string{arg}
	if info.IsDir() {
		dir, files = full, nil
	}
	entries, err := l.host.ReadDir(readStep, dir)
	if err != nil {
		return draft{}, err
	}
	for _, e := range entries {
		if info.IsDir() && phaseFile().MatchString(e.Name()) {
			files = append(files, filepath.Join(arg, e.Name()))
		}
	}
	d := draft{Plan: Plan{Name: filepath.Base(dir), Source: SourceExecutePhase, SourceFile: arg, OnFailure: Stop}}
	if !info.IsDir() {
		d.Name = defaultName(arg)
	}
	err = l.phaseTasks(&d, files, summaries(entries), !info.IsDir())
	return d, err
}

// summaries returns the ids of the phase plans that have a summary file, for example
// 02-01-SUMMARY.md. These plans are done.
func summaries(entries []fs.DirEntry) map[string]bool {
	done := map[string]bool{}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), "-SUMMARY.md"); ok {
			done[id] = true
		}
	}
	return done
}

func (l *loader) phaseTasks(d *draft, files []string, done map[string]bool, single bool) error {
	arg := l.file
	for _, file := range files {
		data, err := l.readFile(file)
		if err != nil {
			return err
		}
		l.file = file
		id := strings.TrimSuffix(filepath.Base(file), "-PLAN.md")
		t, at := readPhase(l.displayPath(under(l.opts.Dir, file)), data, done[id], &l.reporter)
		d.add(t, at.withFile(file))
	}
	l.file = arg
	if len(files) == 0 {
		l.report(position{}, "found no phase plans in the folder, want files such as 02-01-PLAN.md")
	}
	l.dropOutsideReferences(d, done, single)
	d.check(&l.reporter, "plan")
	return nil
}

func (p taskPositions) withFile(file string) taskPositions {
	p.id.file, p.prompt.file = file, file
	p.after = slices.Clone(p.after)
	for i := range p.after {
		p.after[i].file = file
	}
	return p
}

// dropOutsideReferences removes the dependencies on phase plans that are not part of this run.
// Those are the plans of other phases or, if single is set, all plans except the only one of the
// run. If such a plan is not done, dropOutsideReferences adds a warning.
func (l *loader) dropOutsideReferences(d *draft, done map[string]bool, single bool) {
	phases := map[string]bool{}
	for _, t := range d.Tasks {
		phases[phaseOf(t.ID)] = true
	}
	for i := range d.Tasks {
		t, at := &d.Tasks[i], &d.positions[i]
		var after []string
		var afterAt []position
		for k, id := range t.After {
			inside := phases[phaseOf(id)] && (!single || id == t.ID)
			if inside || !strings.Contains(id, "-") {
				after, afterAt = append(after, id), append(afterAt, at.reference(k))
			} else if !done[id] {
				l.warn(at.reference(k), "%s waits for %s, which is not part of this run and has no summary here", t.ID, id)
			}
		}
		t.After, at.after = after, afterAt
	}
}

func phaseOf(id string) string {
	phase, _, _ := strings.Cut(id, "-")
	return phase
}
