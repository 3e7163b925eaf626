package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"gaffer/internal/flow/spec"
)

func FuzzAnyFileIsASpec(f *testing.F) {
	for _, seed := range []string{demo, shop, "---\n---\n#\n", "## {#}\n", "```\n#", "<!--", "## 1.1.1.1 `#`", "\xff## a\r\n", "##\t#\t#"} {
		f.Add(seed, "Make 2.2 faster, see src/viewer/x.js")
	}
	f.Fuzz(func(t *testing.T, text, idea string) {
		s := spec.Parse([]byte(text))
		for _, section := range s.Sections {
			if !strings.HasPrefix(section.Alias, "#") || len(section.Alias) < 2 || section.Level < 1 || section.Level > 6 {
				t.Errorf("section %+v", section)
			}
			if !utf8.ValidString(section.Text + section.Title + section.Alias) {
				t.Errorf("not UTF-8: %+v", section)
			}
			if !strings.Contains(text, "\r") && utf8.ValidString(text) && !strings.Contains(text, section.Text) {
				t.Errorf("text that is not in the file: %q", section.Text)
			}
		}
		if n := len(s.Affected(idea)); n > spec.MaxAffected {
			t.Errorf("%d sections", n)
		}
		s.OfFile(idea, nil)
		if _, err := json.Marshal(s.Workflow()); err != nil {
			t.Error(err)
		}
	})
}
