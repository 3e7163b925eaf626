package roles

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/config"
	"gaffer/internal/flow/teamstate"
	"gaffer/team"
)

// settings returns the configuration of a project that has only a gaffer.yaml.
func settings(t testing.TB, yaml string) *config.Config {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "gaffer.yaml"), yaml)
	c, err := config.Load(config.Inputs{Root: root, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB) Set {
	t.Helper()
	s, err := Load(settings(t, ""), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// example returns the documents and messages of the protocol's example session.
func example(t testing.TB) (team.Snapshot, []team.Message) {
	t.Helper()
	root := t.TempDir()
	for _, d := range team.Documents() {
		data, err := os.ReadFile(filepath.Join("../../../team/testdata/seed", filepath.Base(d.Path())))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(root, d.Path()), string(data))
	}
	store := team.Open(root, team.Options{})
	s, err := store.Resume(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	messages, err := store.Messages(context.Background(), team.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return s, messages
}

// briefs returns an example brief for each purpose.
func briefs(t testing.TB) map[teamstate.Purpose]teamstate.Brief {
	t.Helper()
	s, messages := example(t)
	all := map[teamstate.Purpose]teamstate.Brief{}
	for _, u := range templateUses {
		b := teamstate.Brief{
			Step:    teamstate.Step{ID: "A-" + u.name + "-1", Role: u.role, Group: "A", Purpose: u.purpose},
			Session: s.SessionID(), Requirements: s.PM.OriginalRequirements, Mode: s.PM.Mode, Developers: 4,
			Items: []teamstate.Item{{ID: "R1", Text: "JWT authentication"}, {ID: "R2", Text: "user registration"}, {ID: "R3", Text: "password reset"}},
			Words: u.words, Tests: []string{"pytest -q", "ruff check ."},
		}
		if u.role == team.PM {
			b.Tasks, b.Plan, b.Groups, b.Phases = s.PM.AllTasks, s.PM.TaskGroups, s.Groups, s.PM.ExecutionPhases
		}
		if u.purpose == teamstate.Plan {
			b.Step, b.Mode = teamstate.Step{ID: "pm-1", Role: team.PM, Purpose: teamstate.Plan}, team.Unplanned
			b.Tasks, b.Plan, b.Groups, b.Phases = nil, nil, nil, nil
		}
		if u.role != team.PM || u.purpose == teamstate.Split {
			b = ofGroup(b, s, messages)
		}
		all[u.purpose] = b
	}
	return all
}

// ofGroup returns the brief with the information about group A added.
func ofGroup(b teamstate.Brief, s team.Snapshot, messages []team.Message) teamstate.Brief {
	b.Group = s.PM.TaskGroups[0]
	b.Status, _ = s.Groups.Find("A")
	b.Change = teamstate.Change{Files: b.Status.FilesModified, Commits: b.Status.Commits}
	if b.Step.Role != team.PM {
		b.Tasks = s.PM.AllTasks[:2]
	}
	for _, m := range messages {
		if m.To == b.Step.Role {
			b.Messages = append(b.Messages, m)
		}
	}
	switch b.Step.Purpose {
	case teamstate.Work:
		b.Feedback = "Good implementation overall, but missing rate limiting on auth endpoints. This is critical for preventing brute force attacks."
	case teamstate.Unblock, teamstate.Split:
		b.Status.Status = team.DevBlocked
		b.Status.Blockers = []team.Blocker{
			{Description: "The limiter needs a Redis server", Resolved: true, Resolution: "Use the limiter in memory"},
			{Description: "Two tests of the limiter fail at random"},
		}
		b.Guidance = "Do not add dependencies."
	}
	return b
}
