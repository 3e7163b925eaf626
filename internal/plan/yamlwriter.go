package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gaffer/internal/plan/secret"
	"gaffer/statefile/lazyregexp"
)

// UnwritableError reports that a plan has a property for which gaffer's own format has no key.
type UnwritableError struct{ What string }

func (e *UnwritableError) Error() string {
	return "a plan's file cannot describe " + e.What
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *UnwritableError) Conflict() bool { return true }

// YAML returns the plan as the text of a file in gaffer's own format, which [Load] can read. The
// text contains the prompts themselves, and not the names of prompt files. It does not contain the
// origin of the plan and its tasks, and does not say which tasks are done. If the value of an
// environment variable is hidden (see [secret.Hide]), YAML writes a comment in place of the
// variable. The error is an [*UnwritableError] if the format cannot describe the plan.
func (p Plan) YAML() (string, error) {
	p, err := p.CollapseCandidates()
	if err != nil {
		return "", err
	}
	switch {
	case p.Workflow != nil:
		return "", &UnwritableError{"a workflow"}
	case len(p.Team) > 0:
		return "", &UnwritableError{"a team"}
	case len(p.Build) > 0:
		return "", &UnwritableError{"a build"}
	}
	tasks := make([][]yamlPair, len(p.Tasks))
	for i, t := range p.Tasks {
		if tasks[i], err = t.yamlPairs(); err != nil {
			return "", err
		}
	}
	defaults, tasks := commonPairs(p.Tasks, tasks)
	var w yamlWriter
	w.pairs(0, []yamlPair{
		{"name", p.Name},
		{"defaults", defaults},
		{"parallel", yamlNumber(p.Parallel)},
		{"on_failure", unless(string(p.OnFailure), string(Continue))},
		{"budget", yamlBudget(p.Budget)},
	})
	w.line(0, "tasks:")
	for _, pairs := range tasks {
		w.item(2, pairs)
	}
	return w.String(), nil
}

// yamlPairs returns the keys and values of the task, in the order in which they are written to the
// file. If a value is the one that [Load] assumes when the key is missing, the returned value is
// empty, so that the pair is not written.
func (t Task) yamlPairs() ([]yamlPair, error) {
	switch {
	case t.Dispatch != nil:
		return nil, &UnwritableError{"a bead"}
	case len(t.Step) > 0, t.SharedWorktree != "", t.Base != "", t.KeepMessage:
		return nil, &UnwritableError{fmt.Sprintf("task %s, which belongs to a larger flow", t.ID)}
	}
	program := yamlPair{"command", t.Argv}
	if len(t.Argv) == 3 && t.Argv[0] == "sh" && t.Argv[1] == "-c" {
		program = yamlPair{"shell", t.Argv[2]}
	}
	agent, model := t.Agent, t.Model
	if len(t.Argv) > 0 && agent == CommandAgent {
		agent = ""
	}
	judge := ""
	if len(t.Candidates) > 0 {
		agent, model = "", ""
		if t.PickBy == PickJudge {
			judge = t.JudgeAgent
		}
	}
	worktree := t.Worktree && t.Branch == "" && len(t.Candidates) == 0
	return []yamlPair{
		{"id", t.ID},
		{"name", unless(t.Name, t.ID)},
		{"prompt", t.Prompt},
		program,
		{"wave", yamlNumber(t.Wave)},
		{"after", t.After},
		{"branch", t.Branch},
		{"files", t.Files},
		{"priority", yamlNumber(t.Priority)},
		{"budget", yamlBudget(t.Budget)},
		{"candidates", t.Candidates},
		{"pick", unless(string(t.PickBy), string(PickUser))},
		{"judge", judge},
		{"rubric", t.Rubric},
		{"agent", agent},
		{"model", model},
		{"fallback", t.Fallback},
		{"timeout", yamlDuration(t.Timeout)},
		{"stall_timeout", yamlDuration(t.StallTimeout)},
		{"retries", yamlNumber(t.Retries)},
		{"verify", t.Verify},
		{"worktree", yamlTrue(worktree)},
		{"land", string(t.Land)},
		{"into", t.Into},
		{"env", yamlEnv(t.Env)},
		{"labels", t.Labels},
		{"questions", unless(string(t.Questions), string(Ask))},
		{"permissions", yamlPermissions(t.Permissions)},
		{"answer_timeout", yamlDuration(t.AnswerTimeout)},
		{"answer_default", t.AnswerDefault},
		{"sandbox", yamlSandbox(t.Sandbox)},
	}, nil
}

// commonPairs moves pairs to the section "defaults" if they are the same in all tasks, and if the
// key is allowed in that section. Exceptions:
//
//   - It does not move the keys agent and model if a task runs a command or has candidates, which
//     are several agents that do the same task.
//   - It does not move the key env if the value of a variable is hidden.
//   - It moves nothing if the plan has only one task.
//
// The result defaults holds the pairs of the section. The result others holds the remaining pairs
// of each task.
func commonPairs(tasks []Task, pairs [][]yamlPair) (defaults []yamlPair, others [][]yamlPair) {
	if len(tasks) < 2 {
		return nil, pairs
	}
	candidates := slices.ContainsFunc(tasks, func(t Task) bool { return len(t.Candidates) > 0 })
	programs := slices.ContainsFunc(tasks, func(t Task) bool { return len(t.Argv) > 0 })
	for k, first := range pairs[0] {
		isDefault := slices.ContainsFunc(defaultKeys(), func(key keySpec[Task]) bool { return key.name == first.key })
		ofAgent := first.key == "agent" || first.key == "model"
		if !isDefault || first.empty() || ofAgent && (candidates || programs) || first.key == "env" && hasHidden(tasks) {
			continue
		}
		if !slices.ContainsFunc(pairs, func(task []yamlPair) bool { return !reflect.DeepEqual(task[k], first) }) {
			defaults = append(defaults, first)
		}
	}
	for _, d := range defaults {
		for i := range pairs {
			pairs[i] = slices.DeleteFunc(pairs[i], func(p yamlPair) bool { return p.key == d.key })
		}
	}
	return defaults, pairs
}

func hasHidden(tasks []Task) bool {
	return slices.ContainsFunc(tasks, func(t Task) bool {
		for _, v := range t.Env {
			if v.IsHidden() {
				return true
			}
		}
		return false
	})
}

// unless returns text, or "" if text equals assumed. The parameter assumed is the value that [Load]
// assumes for a missing key.
func unless(text, assumed string) string {
	if text == assumed {
		return ""
	}
	return text
}

// yamlPlain is a scalar that needs no quotes, such as a number.
type yamlPlain string

func yamlNumber(n int) yamlPlain {
	if n == 0 {
		return ""
	}
	return yamlPlain(strconv.Itoa(n))
}

func yamlTrue(is bool) yamlPlain {
	if !is {
		return ""
	}
	return "true"
}

// yamlDuration formats a duration without zero minutes and seconds at its end, for example 45m
// instead of 45m0s.
func yamlDuration(d time.Duration) yamlPlain {
	if d == 0 {
		return ""
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return yamlPlain(text)
}

func yamlBudget(b Budget) []yamlPair {
	var pairs []yamlPair
	if b.USD != 0 {
		pairs = append(pairs, yamlPair{"usd", yamlPlain(strconv.FormatFloat(b.USD, 'f', -1, 64))})
	}
	if b.Tokens != 0 {
		pairs = append(pairs, yamlPair{"tokens", yamlPlain(strconv.FormatInt(b.Tokens, 10))})
	}
	return pairs
}

func yamlPermissions(p Permissions) []yamlPair {
	pairs := []yamlPair{{"allow", p.Allow}, {"deny", p.Deny}, {"ask", p.Ask}}
	return slices.DeleteFunc(pairs, yamlPair.empty)
}

// yamlComment is the value of a pair that is written as a YAML comment.
type yamlComment string

func yamlEnv(env map[string]secret.Value) (pairs []yamlPair) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v := env[name]
		switch {
		case v.IsHidden():
			pairs = append(pairs, yamlPair{name, yamlComment("its value is not shown: write it here, or where it is kept, such as {from: env}")})
		case v.IsReference():
			pairs = append(pairs, yamlPair{name, []yamlPair{{"from", string(v.From)}, {"name", v.Name}, {"path", v.Path}, {"argv", v.Argv}}})
		default:
			pairs = append(pairs, yamlPair{name, yamlQuoted(v.Text)})
		}
	}
	return pairs
}

// yamlQuoted is a scalar that is written in quotes, even if it is empty.
type yamlQuoted string

// yamlPair is a key of a mapping and its value: a string, a yamlPlain, a yamlQuoted, a yamlComment,
// a []string or a []yamlPair. A pair with an empty value is not written.
type yamlPair struct {
	key   string
	value any
}

func (p yamlPair) empty() bool {
	if _, ok := p.value.(yamlQuoted); ok {
		return false
	}
	return reflect.ValueOf(p.value).Len() == 0
}

// yamlWriter writes YAML with one key on each line. It writes a short list on the line of its key,
// and a longer list with one item on each line.
type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) line(indent int, text string) {
	w.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// item writes a mapping as an item of a list.
func (w *yamlWriter) item(indent int, pairs []yamlPair) {
	var inner yamlWriter
	inner.pairs(indent+2, pairs)
	text := inner.String()
	w.WriteString(strings.Repeat(" ", indent) + "- " + text[min(indent+2, len(text)):])
}

func (w *yamlWriter) pairs(indent int, pairs []yamlPair) {
	for _, p := range pairs {
		if p.empty() {
			continue
		}
		switch v := p.value.(type) {
		case yamlPlain:
			w.line(indent, p.key+": "+string(v))
		case yamlQuoted:
			w.line(indent, p.key+": "+quoteYAML(string(v)))
		case yamlComment:
			w.line(indent, "# "+p.key+": "+string(v))
		case string:
			w.text(indent, p.key, v)
		case []string:
			w.list(indent, p.key, v)
		case []yamlPair:
			w.mapping(indent, p.key, v)
		}
	}
}

func (w *yamlWriter) mapping(indent int, key string, pairs []yamlPair) {
	if slices.ContainsFunc(pairs, func(p yamlPair) bool { _, comment := p.value.(yamlComment); return !comment }) {
		w.line(indent, key+":")
		w.pairs(indent+2, pairs)
		return
	}
	// All pairs are comments. Write the key as a comment too, because a key without a value is not
	// valid.
	w.line(indent, "# "+key+":")
	for _, p := range pairs {
		w.line(indent, fmt.Sprintf("#   %s: %s", p.key, p.value))
	}
}

// plainScalar matches texts that need no quotes as a value. plainItem matches texts that need no
// quotes in a list on one line. Texts that match reserved are an exception: they need quotes even
// if plainScalar or plainItem matches them, because YAML parsers may read them as a boolean or
// null.
var (
	plainScalar = lazyregexp.New(`^[A-Za-z_/][A-Za-z0-9_./@+-]*( [A-Za-z0-9_./@+(-][A-Za-z0-9_./@+,;!?')(=-]*)*$`)
	plainItem   = lazyregexp.New(`^[A-Za-z_/][A-Za-z0-9_./@+-]*(:[A-Za-z0-9_./@+-]+)?$`)
	reserved    = lazyregexp.New(`^(?i:true|false|yes|no|on|off|null|y|n)$`)
)

func (w *yamlWriter) text(indent int, key, text string) {
	if !isBlock(text) {
		w.line(indent, key+": "+scalarYAML(text))
		return
	}
	mark := "|"
	if !strings.HasSuffix(text, "\n") {
		mark = "|-"
	}
	w.line(indent, key+": "+mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			w.WriteString("\n")
		} else {
			w.line(indent+2, line)
		}
	}
}

// isBlock reports whether a text is written as a YAML block, which is a sequence of lines after |.
// A short text of one line is not, nor is a text whose white space or special characters a block
// could change.
func isBlock(text string) bool {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 && len(text) < 100 || lines[0] == "" || lines[len(lines)-1] == "" {
		return false
	}
	for _, line := range lines {
		if line != strings.TrimRightFunc(line, unicode.IsSpace) || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return lines[0][0] != ' ' && !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
}

func scalarYAML(text string) string {
	if plainScalar().MatchString(text) && !reserved().MatchString(text) {
		return text
	}
	return quoteYAML(text)
}

// quoteYAML returns the text as a scalar in double quotes. It replaces bytes that are not UTF-8 by
// U+FFFD.
func quoteYAML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// list writes a list on one line if that line is short. Otherwise it writes one item on each line.
func (w *yamlWriter) list(indent int, key string, items []string) {
	short := key + ": ["
	for i, item := range items {
		if i > 0 {
			short += ", "
		}
		if plainItem().MatchString(item) && !reserved().MatchString(item) {
			short += item
		} else {
			short += quoteYAML(item)
		}
	}
	const most = 80
	if len(short) < most {
		w.line(indent, short+"]")
		return
	}
	w.line(indent, key+":")
	for _, item := range items {
		w.line(indent+2, "- "+scalarYAML(item))
	}
}
