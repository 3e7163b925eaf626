package session_test

import (
	"bytes"
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

// names returns the names of what is found in a store, each once.
func names(s *session.Store) string {
	var all []string
	for f := range s.Validate() {
		all = append(all, f.Name)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// wild lists the irregular documents and what is found in each.
var wild = map[string]struct {
	names    string
	severity statefile.Severity
}{
	"offset-timestamp":       {"offset-timestamp", statefile.Irregular},
	"naive-timestamp":        {"naive-timestamp", statefile.Irregular},
	"loose-timestamp":        {"loose-timestamp", statefile.Irregular},
	"bad-timestamp":          {"bad-timestamp", statefile.Invalid},
	"wave-disagrees":         {"wave-disagrees", statefile.Irregular},
	"pid-left":               {"pid-left", statefile.Irregular},
	"empty-session":          {"empty-session", statefile.Irregular},
	"unfinished-session":     {"unfinished-session", statefile.Irregular},
	"status-disagrees":       {"status-disagrees", statefile.Irregular},
	"failed-agent-complete":  {"status-disagrees", statefile.Irregular},
	"summary-disagrees":      {"summary-disagrees", statefile.Invalid},
	"duplicate-agent":        {"duplicate-agent", statefile.Invalid},
	"bad-agent-id":           {"bad-agent-id", statefile.Invalid},
	"unknown-agent":          {"unknown-agent", statefile.Invalid},
	"unknown-status":         {"unknown-status", statefile.Invalid},
	"unknown-source":         {"unknown-source", statefile.Irregular},
	"unknown-schema-version": {"unknown-schema-version", statefile.Irregular},
	"missing-field":          {"missing-field", ""},
	"wrong-type":             {"wrong-type", statefile.Invalid},
	"negative-duration":      {"negative-duration", statefile.Irregular},
	"session-id-mismatch":    {"session-id-mismatch", statefile.Invalid},
	"extra-members":          {"wrong-type", statefile.Invalid}, // a total of 2.0
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
	for name := range wild {
		t.Run(name, func(t *testing.T) {
			s, before := newStore(t, start()), golden(t, "wild/"+name+".json")
			plant(t, s, seedID, before)
			must(t, s.Update(t.Context(), seedID, func(root *jsontree.Node) error {
				root.Set("touched", true)
				return nil
			}))
			old, err := jsontree.Parse(before)
			must(t, err)
			now, err := jsontree.Parse(document(t, s, seedID))
			must(t, err)
			for member, v := range old.Value().Members() {
				if slices.Contains([]string{"summary", "waves", "status", "completed_at"}, member) {
					continue // these follow from the agents
				}
				if !bytes.Equal(v.Raw(), now.Value().Get(member).Raw()) {
					t.Errorf("%s: %s became %s", member, v.Raw(), now.Value().Get(member).Raw())
				}
			}
		})
	}
}

func TestWhatFollowsFromTheAgentsKeepsItsOtherMembers(t *testing.T) {
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

func TestWhatIsNoDocumentIsReportedAndStopsNothing(t *testing.T) {
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

func TestADocumentThatIsWrongAllOverIsReportedOnlySoFar(t *testing.T) {
	doc, err := jsontree.Parse([]byte(`{"agents":[` + strings.Repeat("1,", 5000) + `1]}`))
	must(t, err)
	found := session.Check("status.json", doc.Value())
	if len(found) != 1001 || found[1000].Name != "more-findings" {
		t.Errorf("%d findings", len(found))
	}
}
