package app_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// golden compares the documents with a golden file, or writes the file if write is true. If
// parallel is true, the order of groups that work at the same time does not matter.
func (c crew) golden(name string, parallel, write bool) {
	c.t.Helper()
	docs := c.timeless()
	if parallel {
		sortByGroup(docs)
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(docs); err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join("testdata", "team", name+".json")
	if write {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatalf("%v; go test ./internal/app -update writes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		c.t.Errorf("the documents differ from %s; -update rewrites it (-want +got)\n%s", path, diff)
	}
}

var (
	random    = regexp.MustCompile(`\b[0-9a-f]{40}\b|^[0-9a-f]{7}\b|\b[0-9]{8}-[0-9]{6}-[0-9a-f]{8}\b`)
	messageID = regexp.MustCompile(`^msg_[0-9]{8}_[0-9]{6}_.+_(developer|qa_expert|tech_lead)(_[0-9]+)?$`)
	counting  = regexp.MustCompile(`(echo \$GAFFER_TASK >> )\S+`) // the path of a temporary folder, which may be shortened
)

// timeless returns the documents without the values that differ from run to run: times, durations,
// ids of commits, the run, the session and messages, and folders.
func (c crew) timeless() map[string]any {
	c.t.Helper()
	session, seen := c.session().SessionID(), map[string]bool{}
	replace := strings.NewReplacer(session, "SESSION", c.root, "ROOT", c.dir, "DIR", c.home, "HOME")
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			return random.ReplaceAllString(counting.ReplaceAllString(replace.Replace(v), "${1}FILE"), "ID")
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for name, member := range v {
				v[name] = walk(withoutTime(name, member))
			}
			if id, ok := v["id"].(string); ok && strings.HasPrefix(id, "msg_") {
				if seen[id] || !messageID.MatchString(id) {
					c.t.Errorf("the id of a message is %s, or stands twice", id)
				}
				seen[id] = true
				delete(v, "id")
			}
		}
		return v
	}
	return walk(c.documents()).(map[string]any)
}

// withoutTime replaces the value of a member that is a time or a duration. It keeps an estimate of
// zero, which means that nothing is left to do.
func withoutTime(name string, v any) any {
	switch name {
	case "start_time", "end_time", "last_update", "timestamp", "spawned_at":
		if v != nil {
			return "TIME"
		}
	case "duration_minutes":
		if v != nil {
			return "MINUTES"
		}
	case "estimated_time_remaining_minutes":
		if v != 0.0 {
			return "MINUTES"
		}
	}
	return v
}

// sortByGroup sorts the entries of the decision log by group, and removes the number of agents that
// were started before the decision.
func sortByGroup(docs map[string]any) {
	log := docs["orchestrator_state"].(map[string]any)["decisions_log"].([]any)
	for _, entry := range log {
		delete(entry.(map[string]any), "iteration")
	}
	stable(log, func(entry map[string]any) string { return groupIn(entry["decision"].(string)) })
	for name, doc := range docs {
		if messages, ok := doc.(map[string]any)["messages"].([]any); ok && name != "group_status" {
			stable(messages, func(m map[string]any) string { return m["group_id"].(string) })
		}
	}
}

// groupIn returns the id of the group in the name of a decision, or "".
func groupIn(decision string) string {
	_, group, _ := strings.Cut(decision, "_group_")
	return group
}

func stable(list []any, key func(map[string]any) string) {
	slices.SortStableFunc(list, func(a, b any) int {
		return strings.Compare(key(a.(map[string]any)), key(b.(map[string]any)))
	})
}
