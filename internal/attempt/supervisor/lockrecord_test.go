package supervisor

import (
	"strings"
	"testing"
	"time"
)

func TestALockIsParsedLineByLine(t *testing.T) {
	const spec, held, exit = `spec {"attempt":"a"}` + "\n", `held {"pid":1}` + "\n", `exit {"attempt":"a","code":3}` + "\n"
	for text, want := range map[string]struct {
		spec, signed bool
		code         int // exit code in the record; 0 if no exit is recorded
		frozen       bool
		words        string
	}{
		"":                                       {},
		spec:                                     {spec: true},
		spec[:9]:                                 {},
		spec + "\n" + held:                       {spec: true, signed: true},
		spec + held[:8]:                          {spec: true, signed: true},
		spec + held + exit:                       {spec: true, signed: true, code: 3},
		spec + held + exit[:15]:                  {spec: true, signed: true},
		spec + held + exit[:15] + "\n":           {spec: true, signed: true},
		spec + held + exit[:15] + exit:           {spec: true, signed: true},
		spec + exit[:9] + "\n" + exit:            {spec: true, code: 3},
		spec + held + "frozen {}\n":              {spec: true, signed: true, frozen: true},
		spec + held + "frozen {}\n\nthawed {}\n": {spec: true, signed: true},
		exit + strings.Replace(exit, "3", "4", 1):        {code: 4},
		spec + held + "panic: x\n\nexit status 2\n":      {spec: true, signed: true, words: "panic: x\nexit status 2"},
		spec + "SIGQUIT: quit\nsp" + exit:                {spec: true, words: "SIGQUIT: quit\nsp" + strings.TrimSpace(exit)},
		spec + strings.Repeat("x", 3000) + "\n" + "more": {spec: true, words: strings.Repeat("x", maxStderr)},
	} {
		a := parseLockRecord([]byte(text))
		code := 0
		if a.exit != nil {
			code = a.exit.Code
		}
		if (a.spec != nil) != want.spec || a.hasSupervisor != want.signed || code != want.code || a.stderr != want.words || a.frozen != want.frozen {
			t.Errorf("%q: %+v", text, a)
		}
	}
}

// In another pid namespace only the user can know that an attempt has ended.
func TestTheUserDeclaresAnAttemptOfAnotherPIDNamespaceGone(t *testing.T) {
	f, elsewhere := folder(t.TempDir()), origin{attempt: "a1", hidden: true}
	record := lockRecord{hasSupervisor: true}
	if found := f.remains(elsewhere, record.supervisor); found.Proof == Gone || f.endRemains(elsewhere, record) == nil {
		t.Errorf("before: %+v", found)
	}
	if err := DeclareGone(string(f), time.Now()); err != nil {
		t.Fatal(err)
	}
	if found := f.remains(elsewhere, record.supervisor); found.Proof != Gone {
		t.Errorf("after: %+v", found)
	}
	if err := f.endRemains(elsewhere, record); err != nil {
		t.Error(err)
	}
}
