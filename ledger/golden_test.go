package ledger

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

var noon = time.Date(2026, 2, 12, 12, 0, 0, 0, time.UTC)

// goldens lists the records in testdata with their kind, which is how the file name starts.
func goldens(t *testing.T) map[string]Kind {
	t.Helper()
	found := map[string]Kind{}
	for _, kind := range Kinds() {
		for _, folder := range []string{"seed", "wild"} {
			paths, err := filepath.Glob(filepath.Join("testdata", folder, string(kind)+"-*.json"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no %s records in %s: %v", kind, folder, err)
			}
			for _, p := range paths {
				found[p] = kind
			}
		}
	}
	return found
}

func TestARecordThatIsNotChangedKeepsItsBytes(t *testing.T) {
	for path := range goldens(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			continue // skip the file that is not JSON
		}
		doc.Root().Set("bead", doc.Root().Get("bead"))
		if !bytes.Equal(doc.Bytes(), data) {
			t.Errorf("%s changed:\n%s", path, doc.Bytes())
		}
	}
}

func TestAnEditChangesOnlyItsField(t *testing.T) {
	for path := range goldens(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsontree.Parse(data)
		if err != nil || doc.Root().Get("attempt").Kind() != jsontree.Number {
			continue
		}
		was := string(doc.Root().Get("attempt").Raw())
		doc.Root().Set("attempt", 77)
		back := bytes.Replace(doc.Bytes(), []byte("77"), []byte(was), 1)
		if !bytes.Equal(back, data) {
			t.Errorf("%s: more than attempt changed:\n%s", path, doc.Bytes())
		}
	}
}

func TestEveryIrregularFormIsNamed(t *testing.T) {
	rows := []struct {
		file  string
		names []string
	}{
		{"seed/run-minimal.json", []string{minimalForm}},
		{"seed/run-full.json", []string{"prompt_full " + missingField, "prompt_hash " + notAHash}},
		{"seed/result-minimal.json", []string{minimalForm}},
		{"seed/result-full.json", nil},
		{"wild/run-placeholder.json", []string{minimalForm, "started_at " + placeholderTimestamp}},
		{"wild/run-home.json", []string{"repo " + variableInPath, "result_file " + variableInPath}},
		{"wild/run-other-bead.json", []string{"bead " + beadNotBD}},
		{"wild/run-fraction.json", nil},
		{"wild/run-offset.json", []string{"started_at " + offsetTimestamp}}, // times in UTC may end with +00:00 instead of Z
		{"wild/run-duration.json", []string{"duration_seconds " + durationDiffers}},
		{"wild/run-stuck.json", []string{"status " + stuckRunning}},
		{"wild/run-clock-back.json", []string{"finished_at " + endsBeforeStart}},
		{"wild/run-gemini.json", nil},
		{"wild/run-array.json", []string{notObject}},
		{"wild/run-wrong-types.json", []string{minimalForm, "agent " + wrongType, "repo " + wrongType, "prompt " + missingField, "started_at " + wrongType, "attempt " + wrongType, "extra " + unknownField}},
		{"wild/run-broken.json", []string{notJSON}},
		{"wild/run-version-2.json", []string{"schema_version " + unknownSchema}},
		{"wild/result-running.json", []string{minimalForm, "status " + stuckRunning}},
		{"wild/result-model.json", []string{"model " + unknownField}},
		{"wild/result-naive.json", []string{minimalForm, "finished_at " + notATimestamp}},
		{"wild/result-placeholder.json", []string{"started_at " + placeholderTimestamp, "finished_at " + offsetTimestamp}},
		{"wild/result-bd-1-verify.json", []string{notRecord}},
	}
	if files := goldens(t); len(rows) != len(files) {
		t.Errorf("%d files, %d rows", len(files), len(rows))
	}
	for _, c := range rows {
		t.Run(c.file, func(t *testing.T) {
			got := strings.Join(namesOf(validated(t, c.file, ValidateOptions{}).Found), "\n")
			if want := strings.Join(c.names, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestStrictAcceptsOnlyTheProtocolsAgents(t *testing.T) {
	found := validated(t, "wild/run-gemini.json", ValidateOptions{Strict: true}).Found
	if len(found) != 1 || found[0].Name != unknownAgent || found[0].Severity != statefile.Invalid {
		t.Errorf("found %v", found)
	}
	own := strings.Replace(string(sound(RunKind)), `"claude"`, `"gaffer-team-merge"`, 1)
	if found := foundIn(t, RunKind, []byte(own)); found != "" {
		t.Errorf("a step of gaffer's own: %s", found)
	}
}

// plant copies a record from testdata into a ledger, under the name of its bead.
func plant(t *testing.T, s *Store, golden string) (Kind, string) {
	t.Helper()
	data := []byte(readFile(t, golden))
	kind, name, _ := strings.Cut(filepath.Base(golden), "-")
	if doc, err := jsontree.Parse(data); err == nil && doc.Root().Get("bead").Text() != "" && !strings.Contains(name, "verify") {
		name = doc.Root().Get("bead").Text() + ".json"
	}
	path := filepath.Join(s.Dir(Kind(kind)), name)
	writeFile(t, path, data)
	return Kind(kind), path
}

// validated copies a record from testdata into a ledger and validates it.
func validated(t *testing.T, golden string, opts ValidateOptions) ValidatedFile {
	t.Helper()
	s := testStore(t)
	kind, path := plant(t, s, filepath.Join("testdata", golden))
	var answers []ValidatedFile
	err := s.ValidatePath(t.Context(), kind, path, opts, func(c ValidatedFile) error {
		answers = append(answers, c)
		return nil
	})
	if err != nil || len(answers) != 1 {
		t.Fatalf("%d answers, error %v", len(answers), err)
	}
	return answers[0]
}

// namesOf returns the field and the name of each finding, such as "status unknown-value".
func namesOf(found []statefile.Finding) []string {
	var names []string
	for _, f := range found {
		names = append(names, strings.TrimSpace(f.At+" "+f.Name))
	}
	return names
}

func testStore(t *testing.T) *Store {
	t.Helper()
	return Open(filepath.Join(t.TempDir(), "state"), Options{Now: func() time.Time { return noon }})
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
