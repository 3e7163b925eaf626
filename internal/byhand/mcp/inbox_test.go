package mcp

import (
	"testing"

	"gaffer/statefile/host"
)

func TestOnlyTheProcessThatTookAnItemFinishesIt(t *testing.T) {
	self := host.OS().Self()
	other, dead := self, self
	other.Start++ // now no such process exists, so it holds no item
	dead.PID, dead.Start = 1<<22-3, 1
	for name, c := range map[string]struct {
		holders  []host.Process // processes that take the item, one after the other
		finisher host.Process
		refused  bool
	}{
		"its own":                         {[]host.Process{self}, self, false},
		"another's":                       {[]host.Process{self}, other, true},
		"nobody's":                        {nil, other, false},
		"one's that is gone":              {[]host.Process{dead}, self, false},
		"its own that another has by now": {[]host.Process{dead, self}, dead, true},
	} {
		for _, problem := range []string{"", "it cannot be done"} {
			dir := t.TempDir()
			r, text, failed := newTestServer(dir, Worker).call(t, "inbox_add", map[string]any{"type": "evolve", "content": "x"})
			if failed {
				t.Fatal(text)
			}
			for _, holder := range c.holders {
				s := newTestServer(dir, Worker)
				s.opts.Self = holder
				if r, text, failed := s.call(t, "inbox_take", map[string]any{}); failed || r["taken"] != true {
					t.Fatal(text)
				}
			}
			s := newTestServer(dir, Worker)
			s.opts.Self = c.finisher
			finish := map[string]any{"id": r["item"].(map[string]any)["id"], "consumed_by": "section 2", "error": problem}
			if _, text, failed := s.call(t, "inbox_finish", finish); failed != c.refused {
				t.Errorf("%s, error %q: %s", name, problem, text)
			}
		}
	}
}
