package session_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

func TestANewSessionIsWrittenAsTheProtocolSays(t *testing.T) {
	s := newStore(t, start())
	id, err := s.Create(t.Context(), session.Draft{
		Source: "orchestrate", SourceFile: "prompts/<a> & b.md",
		Agents: list(t, `[
			{"id": "001", "name": "schema", "prompt_path": "p/001.md", "wave": 1, "model": "claude", "cost_usd": 1.50, "x": {"deep": [1e3]}},
			{"wave": 2, "id": "002", "log_file": "/etc/passwd"}]`),
	})
	must(t, err)
	if diff := cmp.Diff(string(golden(t, "new.json")), string(document(t, s, id))); diff != "" {
		t.Error(diff)
	}
	for f := range s.Validate() {
		t.Error(f)
	}
}

func TestAnIDIsTheTimeInUTCAndEightHexDigits(t *testing.T) {
	now := time.Date(2026, 2, 1, 15, 30, 22, 0, time.FixedZone("", 3600))
	id, err := session.NewID(now, bytes.NewReader([]byte{0xab, 0xc1, 0x23, 0x45}))
	if err != nil || id != "20260201-143022-abc12345" {
		t.Errorf("id is %q, %v", id, err)
	}
	if id, err = session.NewID(now, strings.NewReader("")); err == nil {
		t.Errorf("without randomness the id is %q", id)
	}
}

func TestAnIDThatIsTakenIsDrawnAgain(t *testing.T) {
	c, root := start(), t.TempDir()
	zeros, ones := make([]byte, 4), bytes.Repeat([]byte{1}, 4)
	random := io.MultiReader(bytes.NewReader(zeros), bytes.NewReader(zeros), bytes.NewReader(ones))
	s := session.New(root, session.Options{Now: c.Now, Rand: random})
	first := create(t, s, threeAgents)
	must(t, s.StartAgent(t.Context(), first, "001", 0))
	second := create(t, s, threeAgents)
	if first == second || load(t, s, first).Summary.Running != 1 {
		t.Errorf("ids are %s and %s", first, second)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "sessions", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheNewestSessionIsTheActiveOneByARelativeLink(t *testing.T) {
	s := newStore(t, start())
	for range 2 {
		id := create(t, s, threeAgents)
		target, err := os.Readlink(filepath.Join(s.Root(), "active-session"))
		if err != nil || target != "sessions/"+id {
			t.Errorf("link leads to %q, %v", target, err)
		}
		if active, err := s.Active(); err != nil || active != id {
			t.Errorf("active is %q, %v", active, err)
		}
	}
}

func TestLinksOfOtherWritersAreUnderstood(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	link := filepath.Join(s.Root(), "active-session")
	for name, target := range map[string]string{
		"absolute-active-session": filepath.Join(s.Root(), "sessions", id),
		"dangling-active-session": "project/.founder-mode/status/sessions/" + id,
	} {
		must(t, os.Remove(link))
		must(t, os.Symlink(target, link))
		if active, err := s.Active(); err != nil || active != id {
			t.Errorf("%s: active is %q, %v", name, active, err)
		}
		if got := names(s); got != name {
			t.Errorf("found %s, want %s", got, name)
		}
	}
}

func TestADanglingActiveSessionIsNotFound(t *testing.T) {
	s := newStore(t, start())
	var none *session.ActiveError
	if _, err := s.Active(); !errors.As(err, &none) {
		t.Errorf("none: error is %v", err)
	}
	create(t, s, threeAgents)
	link := filepath.Join(s.Root(), "active-session")
	for _, target := range []string{"sessions/gone", "..", "/", "sessions/a b\n"} {
		must(t, os.Remove(link))
		must(t, os.Symlink(target, link))
		if _, err := s.Active(); !errors.As(err, &none) || !none.NotFound() {
			t.Errorf("%q: error is %v", target, err)
		}
		if got := names(s); got != "dangling-active-session" {
			t.Errorf("%q: found %s", target, got)
		}
	}
}

func TestAnActiveSessionThatIsNoLinkIsKeptAndReported(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"file":   func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			root, notices := t.TempDir(), []statefile.Notice(nil)
			must(t, put(filepath.Join(root, "active-session")))
			s := session.New(root, session.Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
			id := create(t, s, threeAgents)
			if len(notices) != 1 || notices[0].Kind != session.ActiveKept {
				t.Errorf("notices are %v", notices)
			}
			if _, err := s.Active(); err == nil {
				t.Error("it is taken for the active session")
			}
			if got := names(s); got != "active-session-not-a-link" {
				t.Errorf("found %s", got)
			}
			load(t, s, id)
		})
	}
}

func TestInvalidAgentsAndWavesAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 998) + strings.Repeat("]", 998)
	for _, c := range []struct{ agents, waves, want string }{
		{`[1]`, ``, `agents\[0\]: a number where an object should be`},
		{`[null]`, ``, `agents\[0\]: null where an object should be`},
		{`[{}]`, ``, `agents\[0\]\.id: agent id "": is empty`},
		{`[{"id": 1}]`, ``, `agents\[0\]\.id: 1 where a string should be`},
		{`[{"id": "a/b"}]`, ``, `agents\[0\]\.id: .*slash`},
		{`[{"id": ".."}]`, ``, `agents\[0\]\.id: .*dot`},
		{`[{"id": "a\u0000"}]`, ``, `agents\[0\]\.id: .*printed`},
		{`[{"id": "` + strings.Repeat("x", 300) + `"}]`, ``, `agents\[0\]\.id: .*300 bytes`},
		{`[{"id": "a"}, {"id": "b"}, {"id": "a"}]`, ``, `agents\[2\]\.id: "a" is already the id of agents\[0\]`},
		{`[{"id": "a", "status": "idle"}]`, ``, `agents\[0\]\.status: "idle": want queued, running,`},
		{`[{"id": "a", "wave": "one"}]`, ``, `agents\[0\]\.wave: "one" where a whole number should be`},
		{`[{"id": "a", "started_at": "soon"}]`, ``, `agents\[0\]\.started_at: "soon" where a time should be`},
		{`[{"id": "a", "x": ` + deep + `}]`, ``, `nest`},
		{threeAgents, `[{"wave": 1, "agents": ["001", "02"]}]`, `waves\[0\]\.agents\[1\]: there is no agent "02"; there is 002`},
		{threeAgents, `[{"wave": 1, "agents": []}]`, `waves\[0\]\.agents: the wave has no agents`},
		{threeAgents, `[{"agents": ["001"]}]`, `waves\[0\]\.wave: the wave has no number`},
		{threeAgents, `[{"wave": 1, "agents": ["001"]}, {"wave": 1, "agents": ["002"]}]`, `waves\[1\]\.wave: there are two waves 1`},
		{threeAgents, `[{"wave": 1, "agents": ["001"]}, {"wave": 2, "agents": ["001"]}]`, `agent 001 is already in wave 1`},
	} {
		s := newStore(t, start())
		d := session.Draft{Source: "orchestrate", Agents: list(t, c.agents)}
		if c.waves != "" {
			d.Waves = waveList(t, c.waves)
		}
		_, err := s.Create(t.Context(), d)
		var draft *session.DraftError
		if !errors.As(err, &draft) || !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%.60s %s: error is %v", c.agents, c.waves, err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Root(), "*", "*")); len(left) > 0 {
			t.Errorf("written: %v", left)
		}
	}
}

func TestAnUnknownSourceIsRefused(t *testing.T) {
	_, err := newStore(t, start()).Create(t.Context(), session.Draft{Source: "magic"})
	if err == nil || err.Error() != `source "magic": want orchestrate, execute-phase or run-prompt` {
		t.Errorf("error is %v", err)
	}
}

func TestListsOfAgentsComeInTwoForms(t *testing.T) {
	for text, want := range map[string]string{
		`[{"id":"1"}]`:            `[{"id":"1"}]`,
		`{"agents":[{"id":"1"}]}`: `[{"id":"1"}]`,
		`{"agent":[]}`:            "f.json: nothing where an array of agents should be",
		`"x"`:                     "f.json: a string where an array of agents should be",
		"[\n  1,\n]":              "f.json:3:1: not JSON",
	} {
		v, err := session.ParseAgents("f.json", []byte(text))
		got := string(v.Raw())
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

func TestGivenWavesAreKeptAndMissingOnesDerivedFromAgents(t *testing.T) {
	s := newStore(t, start())
	id, err := s.Create(t.Context(), session.Draft{
		Source: "orchestrate", Agents: list(t, threeAgents),
		Waves: waveList(t, `{"waves": [{"wave": 7, "name": "all", "agents": ["003", "001", "002"]}]}`),
	})
	must(t, err)
	if !strings.Contains(string(document(t, s, id)), `"name": "all"`) || len(load(t, s, id).Waves) != 1 {
		t.Errorf("document is %s", document(t, s, id))
	}
	if got := load(t, s, create(t, s, threeAgents)).Waves; len(got) != 2 || got[1].Agents[0] != "003" {
		t.Errorf("waves are %+v", got)
	}
	if got := load(t, s, create(t, s, `[{"id":"1"}]`)).Waves; len(got) != 0 {
		t.Errorf("waves are %+v", got)
	}
}

func TestDocumentReturnsTheBytesOfTheFile(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	doc, err := s.Document(id)
	must(t, err)
	if !jsontree.Valid(doc.Bytes()) || !bytes.Equal(doc.Bytes(), document(t, s, id)) {
		t.Error("the document is not the file's bytes")
	}
}
