package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile/lazyregexp"
)

// valueType describes the values that a key in a plan's file may have. The field schema is the JSON
// Schema of these values. The function read converts the node n, a value in the file, to a Go
// value. If the value is not valid, read returns false, and reports problems whose texts contain
// the parameter name, which is the name of the key.
type valueType[V any] struct {
	schema schema
	read   func(r *reporter, name string, n *node) (V, bool)
}

// scalarType returns the valueType of a scalar. The parameter validValues describes the valid
// values in reports of problems. The function parse converts the text of the scalar to a value. If
// the text is not valid, its result ok is false, and its result meant is what the user probably
// meant, or "" if that is unknown.
func scalarType[V any](s schema, validValues string, parse func(text string) (v V, ok bool, meant string)) valueType[V] {
	return valueType[V]{s, func(r *reporter, name string, n *node) (v V, ok bool) {
		if n.kind != scalar {
			r.report(n.position, "%s: found %s, want %s", name, n.kind, validValues)
			return v, false
		}
		v, ok, meant := parse(n.text)
		if !ok {
			r.report(n.position, "%s: found %s, want %s", name, quoted(n.text), validValues)
			r.problems[len(r.problems)-1].Suggestion = meant
		}
		return v, ok
	}}
}

func quoted(text string) string {
	if strings.TrimSpace(text) == "" {
		return "an empty text"
	}
	return fmt.Sprintf("%.80q", text)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// text returns the valueType of a scalar that must not be empty. The value is the scalar's text as
// it is written in the file.
func text() valueType[string] {
	s := schema{Type: []string{"string", "number", "boolean"}, Pattern: `\S`}
	return scalarType(s, "a text", func(s string) (string, bool, string) { return s, strings.TrimSpace(s) != "", "" })
}

func choice[V ~string](values ...V) valueType[V] {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return scalarType(schema{Type: "string", Enum: words}, orList(words), func(s string) (V, bool, string) {
		for _, v := range values {
			if string(v) == s {
				return v, true, ""
			}
		}
		return "", false, new(reporter).near(s, words)
	})
}

// agentName returns the valueType of an agent's name. Valid names are those that [Agents] returns,
// and the names of the agents that gaffer.yaml defines.
func agentName() valueType[string] {
	return valueType[string]{schema{Type: "string", MinLength: 1}, func(r *reporter, name string, n *node) (string, bool) {
		return choice(append(Agents(), r.agents...)...).read(r, name, n)
	}}
}

// fallbackAgents returns the valueType of a list of agents that continue a task while its own agent
// is rate limited. Each is written as AGENT or AGENT:MODEL.
func fallbackAgents() valueType[[]string] {
	texts := textOrList()
	return valueType[[]string]{texts.schema, func(r *reporter, name string, n *node) ([]string, bool) {
		list, ok := texts.read(r, name, n)
		if !ok {
			return nil, false
		}
		known := slices.DeleteFunc(append(Agents(), r.agents...), func(a string) bool { return a == CommandAgent })
		if len(list) > maxFallbacks {
			r.report(n.position, "%s: found %d, want %d at most", name, len(list), maxFallbacks)
			return nil, false
		}
		for i, text := range list {
			list[i] = strings.TrimSpace(text)
			agent, model, colon := strings.Cut(list[i], ":")
			switch {
			case !slices.Contains(known, agent):
				r.report(n.position, "%s: found %s, want %s, and a model after a colon if needed", name, quoted(text), orList(known))
				r.problems[len(r.problems)-1].Suggestion = r.near(agent, known)
				return nil, false
			case colon && strings.TrimSpace(model) == "":
				r.report(n.position, "%s: found %s, want a model after the colon", name, quoted(text))
				return nil, false
			case slices.Contains(list[:i], list[i]):
				r.report(n.position, "%s: found %s twice", name, quoted(list[i]))
				return nil, false
			}
		}
		return list, true
	}}
}

// maxFallbacks is the maximum number of agents in a task's key "fallback".
const maxFallbacks = 8

func boolean() valueType[bool] {
	return scalarType(schema{Type: "boolean"}, "true or false", func(s string) (value, ok bool, meant string) {
		switch strings.ToLower(s) {
		case "true":
			return true, true, ""
		case "false":
			return false, true, ""
		case "yes", "on", "y", "1":
			return false, false, "true"
		case "no", "off", "n", "0":
			return false, false, "false"
		}
		return false, false, ""
	})
}

func number(least, most int) valueType[int] {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	return scalarType(schema{Type: "integer", Minimum: &least, Maximum: &most}, want, func(s string) (int, bool, string) {
		n, err := strconv.Atoi(s)
		return n, err == nil && least <= n && n <= most, ""
	})
}

func amount() valueType[float64] {
	zero := 0
	return scalarType(schema{Type: "number", Minimum: &zero}, "an amount such as 2.50", func(s string) (float64, bool, string) {
		f, err := strconv.ParseFloat(s, 64)
		bare := strings.Trim(s, "$ USDusd")
		if _, e := strconv.ParseFloat(bare, 64); e != nil {
			bare = ""
		}
		return f, err == nil && f >= 0 && !math.IsInf(f, 0), bare
	})
}

func tokenCount() valueType[int64] {
	zero := 0
	return scalarType(schema{Type: "integer", Minimum: &zero}, "a whole number such as 200000", func(s string) (int64, bool, string) {
		n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		return n, err == nil && n >= 0, ""
	})
}

const durationPattern = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$`

// duration returns the valueType of a duration, for example 30m. The value 0 means no limit. A task
// can set 0 to remove a limit that the plan's section "defaults" sets.
func duration() valueType[time.Duration] {
	zero := 0
	s := schema{AnyOf: []schema{{Type: "string", Pattern: durationPattern}, {Type: "integer", Minimum: &zero, Maximum: &zero}}}
	return scalarType(s, "a duration such as 90s, 30m or 1h30m", func(s string) (time.Duration, bool, string) {
		d, err := time.ParseDuration(s)
		meant := ""
		if n, err := strconv.Atoi(s); err == nil && n > 0 {
			meant = s + "m"
		}
		return d, err == nil && d >= 0, meant
	})
}

var branchName = lazyregexp.New(`^[^\x00-\x20\x7f~^:?*\[\\]+$`)

// branch returns the valueType of the name of a git branch.
func branch() valueType[string] {
	const want = "the name of a git branch such as feature/login"
	return scalarType(schema{Type: "string", MinLength: 1}, want, func(s string) (string, bool, string) {
		meant := strings.Join(strings.Fields(s), "-")
		if !IsBranch(meant) {
			meant = ""
		}
		return s, IsBranch(s), meant
	})
}

// IsBranch reports whether s can be the name of a git branch.
func IsBranch(s string) bool {
	if !branchName().MatchString(s) || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, ".") && s != "@"
}
