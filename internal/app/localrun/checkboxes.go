package localrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// tickCheckboxes ticks the checkboxes of complete tasks in the Markdown files that the run's plan
// was read from. Then the next 'gaffer run --pending-only' skips these tasks. tickCheckboxes
// ignores missing files, and prints a notice for files that cannot be written.
func (r *Runs) tickCheckboxes(ctx context.Context, run store.Run) {
	if !bytes.Contains(run.Plan, []byte(`"Box":`)) { // JSON name of plan.FileEntry.CheckboxFile
		return // this plan has no checkboxes, so do not read all tasks
	}
	boxes, err := r.completedTasksByFile(ctx, run.ID)
	for file, tasks := range boxes {
		if e := tickFile(file, tasks); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("tick the boxes in %s: %w", file, e))
		}
	}
	if err != nil && ctx.Err() == nil {
		r.opts.Notice(err.Error())
	}
}

// completedTasksByFile returns the ids of the complete tasks that have a checkbox, by the path of
// the file with the checkbox.
func (r *Runs) completedTasksByFile(ctx context.Context, run string) (boxes map[string][]string, err error) {
	err = r.opts.Store.Read(ctx, func(rows store.Reader) error {
		boxes = map[string][]string{}
		tasks, err := rows.Tasks(run)
		for _, t := range tasks {
			spec, unread := plan.DecodeTask(t.Spec)
			if t.Status == store.Complete && unread == nil && spec.CheckboxFile != "" {
				boxes[spec.CheckboxFile] = append(boxes[spec.CheckboxFile], t.Task)
			}
		}
		return err
	})
	return boxes, err
}

// tickTries is how many times tickFile tries to change a file. A try fails if another program
// changes the file at the same time.
const tickTries = 10

func tickFile(file string, tasks []string) (err error) {
	for range tickTries {
		var old []byte
		if old, err = statefile.ReadBytes(host.OS(), file); err != nil {
			return err
		}
		text, changed := old, false
		for _, id := range tasks {
			ticked, ok := plan.TickCheckbox(text, id)
			text, changed = ticked, changed || ok
		}
		if !changed {
			return nil
		}
		if err = statefile.Replace(host.OS(), file, old, text); !errors.Is(err, statefile.ErrChanged) {
			return err
		}
	}
	return err
}
