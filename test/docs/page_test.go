package docs

import (
	"strings"
	"testing"
)

func TestASkippedBlockNeedsAReasonDirectlyAboveIt(t *testing.T) {
	const block = "```sh\nrm -r /\n```\n"
	for page, want := range map[string]string{
		"<!-- not run: ends everything -->\n\n" + block:              "",
		"<!-- not run: -->\n" + block:                                `line 1: "not run" says nothing more`,
		"<!-- not run -->\n" + block:                                 `line 1: "not run" says nothing more`,
		"<!-- not run: ends everything -->\nSome words.\n\n" + block: "line 2: the comment before it is not directly above a block",
		block + "<!-- not run: ends everything -->\n":                "the last comment has no block below it",
	} {
		items, err := parse(page)
		if got := errorText(err); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		} else if err == nil && items[0].block.reason != "ends everything" {
			t.Errorf("%q: %+v", page, items[0].block)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCommandsOfABlockAreSplit(t *testing.T) {
	lines := strings.Split("# a remark\na \\\n  b\n\ncat > f <<'END'\nx\n\nEND\nc   # a remark", "\n")
	var got []string
	for _, c := range commands(10, lines) {
		got = append(got, c.text)
	}
	if want := "a \\\n  b|cat > f <<'END'\nx\n\nEND|c   # a remark"; strings.Join(got, "|") != want {
		t.Errorf("commands are %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestShownOutputIsTheWholeOutput(t *testing.T) {
	const out = "run 20261117-081720-c0431a6f: two tasks\nfirst: complete, 3s\nsecond: failed\n"
	for shown, same := range map[string]bool{
		"run 20260101-000000-00000000: two tasks\nfirst: complete, 1m 2s\nsecond:   failed": true,
		"…\nsecond: failed":                      true,
		"…\nfirst: complete, 1s\n…":              true,
		"run …: two tasks\n…":                    true,
		"…\nfirst: complete, 1s":                 false,
		"first: complete, 1s\nsecond: failed":    false,
		"…\nsecond: failed\nfirst: complete, 3s": false,
		"…\nfirst: failed\n…":                    false,
		"":                                       false,
	} {
		var lines []string
		if shown != "" {
			lines = strings.Split(shown, "\n")
		}
		if wrong := mismatch(lines, out, "/src"); (wrong == "") != same {
			t.Errorf("%q: %q", shown, wrong)
		}
	}
}

func TestACommandDoesNotHideInATextBlock(t *testing.T) {
	for line, want := range map[string]bool{"gaffer report   as text": true, "$ ls": true, "git show": true, "gaffer brings protocols together": true, ".fctry/": false} {
		if _, got := hidesCommand([]string{"first", line}); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}
