package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gaffer/statefile/jsontree"
)

func validateAll(t *testing.T, s *Store) []ValidatedFile {
	t.Helper()
	var all []ValidatedFile
	err := s.Validate(t.Context(), ValidateOptions{}, func(c ValidatedFile) error {
		all = append(all, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRunsAndResultsThatDoNotBelongTogetherAreNamed(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	running := readFile(t, s.path(RunKind, "bd-1"))
	finish(t, s, ended(1, Done))
	for _, c := range []struct {
		name  string
		spoil func()
		want  string
	}{
		{"a result is gone", func() { must(t, os.Remove(s.path(ResultKind, "bd-1"))) }, runWithoutResult},
		{"a run is gone", func() { must(t, os.Remove(s.path(RunKind, "bd-1"))) }, resultWithoutRun},
		{"a run was not completed", func() { writeFile(t, s.path(RunKind, "bd-1"), []byte(running)) }, "status " + stuckRunning},
		{"a result is broken", func() { writeFile(t, s.path(ResultKind, "bd-1"), []byte("{")) }, notJSON},
		{"a run has another name", func() {
			must(t, os.Rename(s.path(RunKind, "bd-1"), s.path(RunKind, "bd-2")))
		}, "bead " + beadDiffers},
		{"a kept attempt has another number", func() {
			must(t, os.Rename(s.path(RunKind, "bd-1"), s.keptPath(RunKind, "bd-1", 4)))
		}, "attempt " + attemptDiffers},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.root = filepath.Join(t.TempDir(), "state")
			begin(t, s, dispatch(1))
			finish(t, s, ended(1, Done))
			c.spoil()
			var names []string
			for _, a := range validateAll(t, s) {
				names = append(names, namesOf(a.Found)...)
			}
			if !slices.Contains(names, c.want) || len(names) > 2 {
				t.Errorf("got %q, want %q", names, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostileFilesAreReportedAndBlockNothing(t *testing.T) {
	s := testStore(t)
	dir := s.Dir(RunKind)
	writeFile(t, filepath.Join(dir, "bd-z.json"), sound(RunKind))
	must(t, os.Mkdir(filepath.Join(dir, "bd-folder.json"), 0o755))
	must(t, syscall.Mkfifo(filepath.Join(dir, "bd-pipe.json"), 0o644))
	writeFile(t, filepath.Join(dir, "bd-deep.json"), []byte(strings.Repeat("[", 10_000)))
	writeFile(t, filepath.Join(dir, "bd-huge.json"), nil)
	must(t, os.Truncate(filepath.Join(dir, "bd-huge.json"), 100<<20))
	must(t, os.Symlink("bd-loop.json", filepath.Join(dir, "bd-loop.json")))
	writeFile(t, filepath.Join(dir, "bd-z.json.bak"), []byte("not looked at"))
	writeFile(t, filepath.Join(dir, ".bd-z.json.next"), []byte("not looked at"))
	want := map[string]string{
		"bd-deep.json": notJSON, "bd-folder.json": notADocument, "bd-huge.json": notADocument,
		"bd-loop.json": unreadable, "bd-pipe.json": notADocument, "bd-z.json": beadDiffers,
	}
	all := validateAll(t, s)
	if len(all) != len(want) {
		t.Errorf("%d files, want %d", len(all), len(want))
	}
	for _, c := range all {
		if len(c.Found) == 0 || c.Found[0].Name != want[filepath.Base(c.Path)] {
			t.Errorf("%s: %v", c.Path, c.Found)
		}
	}
}

func TestResultsAreInTheOrderOfTasks(t *testing.T) {
	s := testStore(t)
	for i := range 500 {
		bead := fmt.Sprintf("bd-%03d", i)
		writeFile(t, s.path(RunKind, bead), fmt.Appendf(nil, `{"bead": %q, "attempt": 1}`, bead))
		writeFile(t, s.path(ResultKind, fmt.Sprintf("bd-%03d", i)), []byte("{"))
	}
	all := validateAll(t, s)
	inTurn := slices.IsSortedFunc(all, func(a, b ValidatedFile) int {
		return strings.Compare(filepath.Base(a.Path), filepath.Base(b.Path))
	})
	if len(all) != 1000 || !inTurn {
		t.Errorf("%d answers, in turn: %v", len(all), inTurn)
	}
	stop := errors.New("enough")
	if err := s.Validate(t.Context(), ValidateOptions{}, func(ValidatedFile) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestAMissingLedgerHasNoRecords(t *testing.T) {
	if all := validateAll(t, testStore(t)); len(all) != 0 {
		t.Errorf("got %v", all)
	}
}

func TestNumbersAreWholeAsInJSONSchema(t *testing.T) {
	for raw, want := range map[string]string{
		"1": "1", "-0": "0", "1.0": "1", "10e-1": "1", "0.0e9": "0", "1.5": "", "1e-1": "", "-1.20e1": "-12", "1e2": "100", "15e-1": "",
	} {
		got, ok := wholeNumber([]byte(raw))
		if got != want || ok != (want != "") {
			t.Errorf("%s is %q, %v", raw, got, ok)
		}
	}
}

func FuzzRecord(f *testing.F) {
	for _, kind := range Kinds() {
		f.Add(sound(kind))
	}
	f.Add([]byte(legacy))
	f.Add([]byte(`{"schema_version":1e0,"attempt":1e999999999999999999999,"verification":{"lint":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		for _, kind := range Kinds() {
			name := fileName{file: "bd-1.json", bead: "bd-1"}
			c := newCheck(kind, "x", true)
			c.record(doc.Value())
			c.irregularities(name, noon)
			var m merged
			rec := fields{kind: kind}
			rec.collect(doc.Value())
			m.attempt("bd-1", attemptNumber(rec, name)).addRecord(rec)
			m.attempts[0].derive()
			fixable(t, file{kind, "/", name}, data)
		}
	})
}

// fixable repairs a record. If the repair is not refused, the repaired record must be valid, and a
// second repair must not change it.
func fixable(t *testing.T, f file, data []byte) {
	doc, err := jsontree.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	fix, fixed := f.repaired(doc, jsontree.Value{}, "r")
	if fix.Outcome != Fixed {
		return
	}
	again, err := jsontree.Parse(fixed)
	if err != nil {
		t.Fatalf("%v\n%s", err, fixed)
	}
	if fix, _ := f.repaired(again, jsontree.Value{}, "r"); fix.Outcome != Unchanged {
		t.Fatalf("not stable: %v\n%s", fix, fixed)
	}
	c := newCheck(f.kind, "x", false)
	if c.record(again.Value()); hasInvalid(c.found) {
		t.Fatalf("%v\n%s", c.found, fixed)
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("bd-1.attempt-2.json")
	f.Add("bd-1.attempt-02.json")
	f.Add(".json")
	f.Fuzz(func(t *testing.T, name string) {
		parsed, ok := parseName(name)
		if !ok {
			return
		}
		back := parsed.bead + extension
		if parsed.attempt > 0 {
			back = keptName(parsed.bead, parsed.attempt)
		}
		if back != name {
			t.Errorf("%q became %q", name, back)
		}
	})
}

func TestARecordThatOtherProgramsReadOtherwiseIsInvalid(t *testing.T) {
	change := func(kind Kind, field string, v any) []byte {
		doc, err := jsontree.Parse(sound(kind))
		must(t, err)
		doc.Root().Set(field, v)
		must(t, doc.Err())
		return doc.Bytes()
	}
	replace := func(kind Kind, old, with string) []byte {
		text := string(sound(kind))
		if !strings.Contains(text, old) {
			t.Fatalf("no %s in %s", old, text)
		}
		return []byte(strings.Replace(text, old, with, 1))
	}
	for _, kind := range Kinds() {
		for _, c := range []struct {
			what, want string
			data       []byte
		}{
			{"nothing", "", sound(kind)},
			{"times of another writer", "", change(kind, "started_at", "2026-02-12T11:59:59.123456+00:00")},
			{"invalid UTF-8", "invalid not-utf8", replace(kind, `"agent-`, "\"\xff")},
			{"a byte order mark", "invalid byte-order-mark", append([]byte("\ufeff"), sound(kind)...)},
			{"a member twice", "invalid bead duplicate-member", replace(kind, `"bead"`, `"bead": "bd-other", "bead"`)},
			{"an attempt beyond all numbers", "invalid attempt number-out-of-range, invalid attempt too-large", replace(kind, `"attempt": 1`, `"attempt": 1e400`)},
			{"an attempt beyond all attempts", "invalid attempt too-large", replace(kind, `"attempt": 1`, `"attempt": 1e10`)},
			{"an attempt in another spelling", "", replace(kind, `"attempt": 1`, `"attempt": 1.0`)},
			{"done with an exit code", "invalid exit_code done-with-exit-code", done(t, kind, 3)},
			{"done without one", "", done(t, kind, nil)},
		} {
			if got := foundIn(t, kind, c.data); got != c.want {
				t.Errorf("%s with %s: %q, want %q", kind, c.what, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		what, want string
		kind       Kind
		data       []byte
	}{
		{"another prompt's hash", "invalid prompt_hash hash-differs", RunKind, change(RunKind, "prompt_hash", Hash("another"))},
		{"another prompt", "irregular prompt prompt-differs", RunKind, change(RunKind, "prompt", "Another")},
		{"an exit code while it runs", "irregular exit_code exit-code-while-running", RunKind, change(RunKind, "exit_code", 0)},
		{"a large exit code", "", ResultKind, []byte(strings.Replace(string(done(t, ResultKind, 3221225477)), `"done"`, `"failed"`, 1))},
		{"a retry of what is done", "invalid will_retry retry-after-done", ResultKind, replace(ResultKind, `"will_retry": false`, `"will_retry": true`)},
	} {
		if got := foundIn(t, c.kind, c.data); got != c.want {
			t.Errorf("%s with %s: %q, want %q", c.kind, c.what, got, c.want)
		}
	}
}

// done returns a valid record of a successful attempt.
func done(t *testing.T, kind Kind, exit any) []byte {
	t.Helper()
	doc, err := jsontree.Parse(sound(kind))
	must(t, err)
	for field, v := range map[string]any{
		"status": "done", "started_at": "2026-02-12T12:00:00Z", "finished_at": "2026-02-12T12:01:00Z", "duration_seconds": 60, "exit_code": exit,
	} {
		doc.Root().Set(field, v)
	}
	must(t, doc.Err())
	return doc.Bytes()
}

// foundIn validates a folder with a single record and returns its findings.
func foundIn(t *testing.T, kind Kind, data []byte) string {
	t.Helper()
	s := testStore(t)
	path := s.path(kind, "bd-1")
	if bead := parseBead(data); bead != "" {
		path = s.path(kind, bead)
	}
	writeFile(t, path, data)
	var found []string
	must(t, s.ValidatePath(t.Context(), kind, path, ValidateOptions{Strict: true}, func(c ValidatedFile) error {
		for _, f := range c.Found {
			found = append(found, strings.Join(strings.Fields(fmt.Sprint(f.Severity, " ", f.At, " ", f.Name)), " "))
		}
		return nil
	}))
	return strings.Join(found, ", ")
}

func parseBead(data []byte) string {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return ""
	}
	return doc.Value().Get("bead").Text()
}

func TestARunThatEndedOtherwiseThanItsResultSaysIsInvalid(t *testing.T) {
	s := testStore(t)
	begin(t, s, dispatch(1))
	finish(t, s, ended(1, Failed))
	for _, c := range validateAll(t, s) {
		if len(c.Found) > 0 {
			t.Fatalf("before: %v", c.Found)
		}
	}
	path := s.path(RunKind, "bd-1")
	writeFile(t, path, []byte(strings.Replace(readFile(t, path), `"failed"`, `"timeout"`, 1)))
	var names []string
	for _, c := range validateAll(t, s) {
		names = append(names, namesOf(c.Found)...)
	}
	if got := strings.Join(names, ", "); got != "status "+outcomeDiffers {
		t.Errorf("found %q", got)
	}
}
