package session_test

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// names returns the names of the findings in a store, without duplicates.
func names(s *session.Store) string {
	var all []string
	for f := range s.Validate() {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// wild lists the irregular documents in testdata, with the findings for each and what a write
// corrects.
var wild = map[string]struct {
	names    string
	severity statefile.Severity
	set      string
}{
	"offset-timestamp":       {"offset-timestamp", statefile.Irregular, ""},
	"naive-timestamp":        {"naive-timestamp", statefile.Irregular, ""},
	"loose-timestamp":        {"loose-timestamp", statefile.Irregular, ""},
	"bad-timestamp":          {"bad-timestamp", statefile.Invalid, ""},
	"wave-disagrees":         {"wave-disagrees", statefile.Irregular, "waves[0].status"},
	"pid-left":               {"pid-left", statefile.Irregular, ""},
	"empty-session":          {"empty-session", statefile.Irregular, ""},
	"unfinished-session":     {"unfinished-session", statefile.Irregular, "completed_at status"},
	"status-disagrees":       {"status-disagrees", statefile.Irregular, ""},
	"failed-agent-complete":  {"status-disagrees", statefile.Irregular, ""},
	"summary-disagrees":      {"summary-disagrees", statefile.Invalid, "summary.running"},
	"duplicate-agent":        {"duplicate-agent", statefile.Invalid, ""},
	"bad-agent-id":           {"bad-agent-id", statefile.Invalid, ""},
	"unknown-agent":          {"unknown-agent", statefile.Invalid, ""},
	"unknown-status":         {"unknown-status", statefile.Invalid, ""},
	"unknown-source":         {"unknown-source", statefile.Irregular, ""},
	"unknown-schema-version": {"unknown-schema-version", statefile.Irregular, ""},
	"missing-field":          {"missing-field", "", ""},
	"wrong-type":             {"wrong-type", statefile.Invalid, ""},
	"negative-duration":      {"negative-duration", statefile.Irregular, ""},
	"session-id-mismatch":    {"session-id-mismatch", statefile.Invalid, ""},
	"extra-members":          {"wrong-type", statefile.Invalid, ""}, // contains a total of 2.0
}

func TestEveryIrregularFormIsReadAndReportedByItsName(t *testing.T) {
	files, err := filepath.Glob("testdata/wild/*.json")
	must(t, err)
	if len(files) != len(wild) {
		t.Errorf("%d files, %d rows", len(files), len(wild))
	}
	for name, want := range wild {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, start())
			plant(t, s, seedID, golden(t, "wild/"+name+".json"))
			load(t, s, seedID)
			if got := names(s); got != want.names {
				t.Errorf("found %q, want %q", got, want.names)
			}
			for f := range s.Validate() {
				if want.severity != "" && f.Severity != want.severity {
					t.Errorf("%s is %s", f, f.Severity)
				}
			}
		})
	}
}

func TestEveryIrregularFormIsWrittenBackWithNothingDropped(t *testing.T) {
	for name, want := range wild {
		t.Run(name, func(t *testing.T) {
			s, before := newStore(t, start()), golden(t, "wild/"+name+".json")
			plant(t, s, seedID, before)
			must(t, s.Update(t.Context(), seedID, func(root *jsontree.Node) error {
				root.Set("touched", true)
				return nil
			}))
			got := strings.Join(differing("", value(t, before), value(t, document(t, s, seedID))), " ")
			if got != want.set {
				t.Errorf("changed %q, want %q", got, want.set)
			}
			if touched, _ := value(t, document(t, s, seedID)).Get("touched").Bool(); !touched {
				t.Error("nothing was written")
			}
		})
	}
}

func value(t *testing.T, data []byte) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse(data)
	must(t, err)
	return doc.Value()
}

// differing lists the values in old that are missing or changed in current, including changed
// formatting of numbers. It ignores values that were added.
func differing(at string, old, current jsontree.Value) []string {
	if old.Kind() != current.Kind() || old.Kind() == jsontree.Array && old.Len() != current.Len() {
		return []string{at}
	}
	var paths []string
	switch old.Kind() {
	case jsontree.Object:
		for name, v := range old.Members() {
			paths = append(paths, differing(strings.TrimPrefix(at+"."+name, "."), v, current.Get(name))...)
		}
	case jsontree.Array:
		next, stop := iter.Pull2(current.Items())
		defer stop()
		for i, v := range old.Items() {
			_, now, _ := next()
			paths = append(paths, differing(fmt.Sprintf("%s[%d]", at, i), v, now)...)
		}
	default:
		if !bytes.Equal(old.Raw(), current.Raw()) {
			return []string{at}
		}
	}
	return paths
}

func TestACompleteAgentWithAnExitCodeIsInvalid(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status": "complete", "exit_code": 3}`: true, `{"status": "complete", "exit_code": 0}`: false,
		`{"status": "complete", "exit_code": null}`: false, `{"status": "failed", "exit_code": 3}`: false,
	} {
		found := session.Check("status.json", value(t, []byte(`{"agents": [`+text+`]}`)))
		got := slices.ContainsFunc(found, func(f statefile.Finding) bool {
			return f.Name == "complete-with-exit-code" && f.At == "agents[0].exit_code" && f.Severity == statefile.Invalid
		})
		if got != want {
			t.Errorf("%s: %v, want %v", text, found, want)
		}
	}
}

func TestTimesInUTCAreRegularInEverySpelling(t *testing.T) {
	for spelling, regular := range map[string]bool{
		"14:30:22Z": true, "14:30:22+00:00": true, "14:30:22.123456+00:00": true, "14:30:22.123456Z": true, "15:30:22+01:00": false,
	} {
		text := fmt.Sprintf(`{"started_at": "2026-02-01T%s", "agents": [{"started_at": "2026-02-01T%s"}]}`, spelling, spelling)
		found := 0
		for _, f := range session.Check("status.json", value(t, []byte(text))) {
			if strings.Contains(f.Name, "timestamp") {
				found++
			}
		}
		if want := map[bool]int{true: 0, false: 2}[regular]; found != want {
			t.Errorf("%s: %d findings about times, want %d", spelling, found, want)
		}
	}
}

func TestTheTimesOfOtherWritersAreReadAsMeant(t *testing.T) {
	for name, want := range map[string][2]time.Time{
		"offset-timestamp": {
			time.Date(2026, 2, 1, 14, 30, 22, 123456000, time.UTC), time.Date(2026, 2, 1, 14, 30, 25, 500000000, time.UTC),
		},
		"naive-timestamp": {
			time.Date(2026, 2, 1, 14, 30, 22, 123456000, time.Local), time.Date(2026, 2, 1, 14, 30, 25, 0, time.Local),
		},
		"loose-timestamp": {
			time.Date(2026, 2, 1, 14, 30, 22, 0, time.UTC), time.Date(2026, 2, 1, 14, 30, 25, 0, time.UTC),
		},
	} {
		got, _ := session.Decode(value(t, golden(t, "wild/"+name+".json")))
		if !got.StartedAt.Equal(want[0]) || !got.Agents[0].StartedAt.Equal(want[1]) {
			t.Errorf("%s: started at %s, its first agent at %s", name, got.StartedAt, got.Agents[0].StartedAt)
		}
	}
}

func TestDocumentsOfThePythonWriterAreUnderstood(t *testing.T) {
	read := func(name string) session.Status {
		s, _ := session.Decode(value(t, golden(t, "wild/"+name+".json")))
		return s
	}
	if s := read("pid-left"); len(s.RunningAgents()) != 1 || *s.Agents[0].PID != 4711 || s.Agents[0].Status != session.Complete {
		t.Errorf("an agent whose pid was left runs: %+v", s.RunningAgents())
	}
	if s := read("empty-session"); !s.IsComplete() || len(s.Agents) != 0 {
		t.Errorf("a session without agents is %s", s.Status)
	}
	if s := read("wave-disagrees"); s.Waves[0].Status != session.Pending || len(s.RunningAgents()) != 1 {
		t.Errorf("the wave is %s", s.Waves[0].Status)
	}
	if s := read("unfinished-session"); s.IsComplete() || len(s.RunningAgents())+len(s.PendingAgents()) != 0 {
		t.Errorf("the session is %s", s.Status)
	}
}

func TestDerivedObjectsKeepTheirOtherMembers(t *testing.T) {
	s := newStore(t, start())
	before := golden(t, "wild/extra-members.json")
	plant(t, s, seedID, before)
	must(t, s.CompleteAgent(t.Context(), seedID, "002", 0))
	after := string(document(t, s, seedID))
	for _, kept := range []string{`"cost": 12345678901234567890.10`, `"label": "first"`, `"eta": 1e3`, `"total": 2.0`, `"tokens": [1, 2,3]`} {
		if !strings.Contains(after, kept) {
			t.Errorf("%s is gone from %s", kept, after)
		}
	}
}

func TestAnUnreadableDocumentIsReportedAndValidationContinues(t *testing.T) {
	s := newStore(t, start())
	plant(t, s, "20260101-000000-00000001", []byte(`{"a":`))
	plant(t, s, "20260101-000000-00000002", []byte(strings.Repeat("[", 10_000)))
	must(t, os.MkdirAll(filepath.Join(s.Root(), "sessions", "20260101-000000-00000003", "status.json"), 0o755))
	must(t, os.MkdirAll(filepath.Join(s.Root(), "sessions", "20260101-000000-00000004"), 0o755))
	must(t, os.MkdirAll(filepath.Join(s.Root(), "sessions", "20260101-000000-00000005"), 0o755))
	must(t, syscall.Mkfifo(filepath.Join(s.Root(), "sessions", "20260101-000000-00000005", "status.json"), 0o644))
	must(t, os.WriteFile(filepath.Join(s.Root(), "sessions", "README"), nil, 0o644))
	plant(t, s, "20260101-000000-00000006", nil)
	must(t, os.Truncate(filepath.Join(s.Root(), "sessions", "20260101-000000-00000006", "status.json"), 100<<20))
	old := time.Unix(1, 0)
	for _, id := range []string{"20260101-000000-00000001", "20260101-000000-00000002"} {
		must(t, os.Chtimes(filepath.Join(s.Root(), "sessions", id, "status.json"), old, old))
	}
	create(t, s, threeAgents)
	if got := names(s); got != "missing-status-file not-a-document not-json" {
		t.Errorf("found %s", got)
	}
	entries, err := s.List()
	must(t, err)
	unread := 0
	for _, e := range entries {
		if e.Err != nil {
			unread++
		}
	}
	if len(entries) != 6 || unread != 5 {
		t.Errorf("%d entries, %d unread", len(entries), unread)
	}
}

func TestALockThatWasLeftBehindIsReported(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	dir, _ := s.Dir(id)
	lock := filepath.Join(dir, "status.json.lock")
	must(t, os.Mkdir(lock, 0o755))
	if got := names(s); got != "" {
		t.Errorf("a lock that is held is reported: %s", got)
	}
	must(t, os.Chtimes(lock, time.Unix(1, 0), time.Unix(1, 0)))
	if got := names(s); got != "stale-lock" {
		t.Errorf("found %s", got)
	}
}

func TestTheNumberOfFindingsIsLimited(t *testing.T) {
	doc, err := jsontree.Parse([]byte(`{"agents":[` + strings.Repeat("1,", 5000) + `1]}`))
	must(t, err)
	found := session.Check("status.json", doc.Value())
	if len(found) != 1001 || found[1000].Name != "more-findings" {
		t.Errorf("%d findings", len(found))
	}
}
