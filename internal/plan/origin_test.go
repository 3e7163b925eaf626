package plan

import (
	"fmt"
	"strings"
	"testing"
)

// tree returns a task that has a worktree.
func tree(id string, wave int, after ...string) Task {
	t := task(id, wave, after...)
	t.Worktree = true
	return t
}

// originText returns an origin as text, for example "a b checkout" for the tasks a and b and
// Checkout.
func originText(p Plan, o Origin) string {
	var words []string
	for _, i := range o.Tasks {
		words = append(words, p.Tasks[i].ID)
	}
	if o.Checkout {
		words = append(words, "checkout")
	}
	return strings.Join(words, " ")
}

func TestAWorktreeStartsFromTheNearestWorkBeforeIt(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []Task
		want  map[string]string
	}{
		"chain":           {[]Task{tree("a", 0), tree("b", 0, "a"), tree("c", 0, "b", "a")}, map[string]string{"a": "", "b": "a", "c": "b"}},
		"diamond":         {[]Task{tree("d", 0, "b", "c"), tree("a", 0), tree("b", 0, "a"), tree("c", 0, "a")}, map[string]string{"b": "a", "c": "a", "d": "b c"}},
		"waves":           {[]Task{tree("a", 1), tree("b", 1), tree("c", 2), tree("d", 2, "c"), tree("e", 3)}, map[string]string{"a": "", "c": "a b", "d": "c", "e": "d"}},
		"free of waves":   {[]Task{tree("free", 0), tree("a", 1), tree("b", 2, "free")}, map[string]string{"b": "free a"}},
		"no work between": {[]Task{tree("a", 0), task("check", 0, "a"), tree("b", 0, "check")}, map[string]string{"b": "a checkout"}},
		"checkout first":  {[]Task{task("setup", 0), tree("a", 0, "setup"), tree("b", 0, "setup", "a"), task("last", 0, "b")}, map[string]string{"a": "checkout", "b": "a", "last": "b"}},
		"checkout twice":  {[]Task{task("one", 0), task("two", 0, "one"), tree("a", 0, "one", "two")}, map[string]string{"a": "checkout"}},
	} {
		p := Plan{Tasks: c.tasks}
		origins := p.Origins(nil)
		for i, task := range p.Tasks {
			want, said := c.want[task.ID]
			if got := originText(p, origins[i]); said && got != want {
				t.Errorf("%s: %s starts from %q, want %q", name, task.ID, got, want)
			}
		}
	}
}

func TestWorkInAnotherRepositoryIsNoOrigin(t *testing.T) {
	p := Plan{Tasks: []Task{tree("a", 0), tree("elsewhere", 0, "a"), tree("b", 0, "elsewhere")}}
	origins := p.Origins(func(t Task) bool { return t.ID != "elsewhere" })
	if got := originText(p, origins[2]); got != "a" {
		t.Errorf("b starts from %q, want a", got)
	}
}

func TestWideWavesCostNoMoreThanTheirTasks(t *testing.T) {
	var p Plan
	for i := range 90_000 {
		p.Tasks = append(p.Tasks, tree(fmt.Sprint("t", i), 1+i/30_000))
	}
	if got := len(p.Origins(nil)[80_000].Tasks); got != 30_000 {
		t.Errorf("a task of the last wave starts from %d tasks, want 30000", got)
	}
}
