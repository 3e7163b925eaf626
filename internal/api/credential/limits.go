package credential

import (
	"fmt"
	"slices"
	"strings"
)

// limitedWorker is the stored role of a worker token with limits. A coordinator of an older
// version, which does not know limits, may use the same database. It gives this role no
// permissions, so it cannot ignore the limits. If it writes the token's row back without the
// limits, the role still shows that the token had limits.
const limitedWorker Role = "limited-worker"

// Limits restricts a token of role worker to some tasks. Without limits the token may be used for
// every task.
type Limits struct {
	Projects []string `json:"projects,omitempty"` // a worker with the token gets only tasks of these projects
	// Pools are labels of tasks. If the list is not empty, a worker with the token gets only tasks
	// that require at least one of these labels, and no labels other than these. Labels that name a
	// project or a worker are not restricted by Pools.
	Pools []string `json:"pools,omitempty"`

	// limited is set if the token was created with limits. A coordinator of an older version, which
	// does not know limits, may have removed them from the token's row. Then a worker with the token
	// gets no tasks.
	limited bool
}

func (l Limits) empty() bool { return len(l.Projects) == 0 && len(l.Pools) == 0 }

// Limited reports whether the token has limits.
func (i Identity) Limited() bool { return i.limited }

const (
	maxLimits = 100
	maxLimit  = 200 // maximum length of the name of a project or pool, in bytes
)

func (l Limits) check() error {
	for what, list := range map[string][]string{"projects": l.Projects, "pools": l.Pools} {
		if len(list) > maxLimits {
			return &Error{kind: invalid, text: fmt.Sprintf("%s: found %d, want %d at most", what, len(list), maxLimits)}
		}
		for _, name := range list {
			if strings.TrimSpace(name) == "" || len(name) > maxLimit || strings.ContainsAny(name, ",@/\\") || !printable(name) || name == "." || name == ".." {
				return &Error{kind: invalid, text: fmt.Sprintf("%s: found %.60q, want a name without commas, @ and slashes", what, name)}
			}
		}
	}
	return nil
}

// projectLabel is the prefix of the label that names the project of a task or worker.
const projectLabel = "project:"

// MayHave returns why a worker with this token may not have these labels, or "" if the worker may
// have them.
func (i Identity) MayHave(labels []string) string {
	if !i.limited {
		return ""
	}
	for _, label := range labels {
		project, ofProject := strings.CutPrefix(label, projectLabel)
		switch {
		case strings.HasPrefix(label, "@"): // a label "@name" selects the worker of this name; package workers checks it
		case ofProject && len(i.Projects) > 0 && !slices.Contains(i.Projects, project):
			return fmt.Sprintf("the token %s is limited to %s, and is no good for project %.60s", i.ID, i.Text(), project)
		case !ofProject && len(i.Pools) > 0 && !slices.Contains(i.Pools, label):
			return fmt.Sprintf("the token %s is limited to %s, and is no good for label %.60s", i.ID, i.Text(), label)
		}
	}
	return ""
}

// RequiredLabels returns sets of labels. A worker with this token may take a task only if the task
// has at least one label from each set. An empty set therefore allows no task. For a token without
// limits, RequiredLabels returns nil.
func (i Identity) RequiredLabels() (sets [][]string) {
	if !i.limited {
		return nil
	}
	if len(i.Projects) > 0 {
		set := make([]string, len(i.Projects))
		for n, project := range i.Projects {
			set[n] = projectLabel + project
		}
		sets = append(sets, set)
	}
	if len(i.Pools) > 0 {
		sets = append(sets, i.Pools)
	}
	// If a coordinator of an older version has removed the limits from the token's row, add an
	// empty set, so that the token allows no task.
	if len(sets) == 0 {
		sets = append(sets, nil)
	}
	return sets
}

// MayTake returns why a worker with this token may not take a task with these labels, or "" if the
// worker may take it.
func (i Identity) MayTake(labels []string) string {
	if why := i.MayHave(labels); why != "" {
		return why
	}
	for _, set := range i.RequiredLabels() {
		if !slices.ContainsFunc(labels, func(l string) bool { return slices.Contains(set, l) }) {
			return fmt.Sprintf("the token %s is limited to %s, and the task is of none of them", i.ID, i.Text())
		}
	}
	return ""
}

// Text describes the limits, for example "project web, pools gpu and linux". It returns "" for a
// token without limits. If a coordinator of an older version has removed the limits from the
// token's database row, Text returns "nothing", because the token then allows no task.
func (l Limits) Text() string {
	var parts []string
	for _, p := range []struct {
		word string
		list []string
	}{{"project", l.Projects}, {"pool", l.Pools}} {
		switch len(p.list) {
		case 0:
		case 1:
			parts = append(parts, p.word+" "+p.list[0])
		default:
			last := len(p.list) - 1
			parts = append(parts, p.word+"s "+strings.Join(p.list[:last], ", ")+" and "+p.list[last])
		}
	}
	if len(parts) == 0 && l.limited {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Shown returns the role and the limits of a token as users see them: a token with limits has the
// role worker instead of the stored role limitedWorker.
func (r Token) Shown() (Role, Limits) {
	i := r.Identity()
	return i.Role, i.Limits
}
