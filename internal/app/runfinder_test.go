package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/api/docview"
	"gaffer/internal/api/viewers"
	"gaffer/internal/app"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamsession"
)

// look opens a viewer of the project's documents, as 'gaffer serve' does, and calls fn with it.
func (p testProject) look(fn func(v *viewers.Viewer)) {
	p.t.Helper()
	a := p.open()
	defer func() {
		if err := a.Close(); err != nil {
			p.t.Error(err)
		}
	}()
	c, err := a.Serve(app.ServerOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	fn(c.Viewer)
}

// leave writes a document into the project, as another program would.
func (p testProject) leave(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func TestTheSessionOfARunBelongsToGafferAndAnotherProgramsDoesNot(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	run := p.run(shell("a", "echo hello"))
	p.leave(".founder-mode/status/sessions/20200101-000000-theirs/status.json", `{"status": "running", "started_at": "2020-01-01T00:00:00Z"}`)
	p.look(func(v *viewers.Viewer) {
		list, err := v.Sessions(t.Context(), "")
		if err != nil || len(list) != 2 || list[0].ID != run.ID || !list[0].Ours || list[0].Run != run.ID || list[1].Ours {
			t.Errorf("%+v, %v", list, err)
		}
		log, err := v.SessionLog(t.Context(), "", run.ID, "a", 100)
		if err != nil || string(log.Text) != "hello\n" {
			t.Errorf("the log is %q, %v", log.Text, err)
		}
	})
	copied := newPlace(t) // a session that was copied to another project must not be shown as a run of that project
	copied.home = p.home
	copied.leave(".founder-mode/status/sessions/"+run.ID+"/status.json", `{"status": "complete"}`)
	copied.look(func(v *viewers.Viewer) {
		if list, err := v.Sessions(t.Context(), ""); err != nil || len(list) != 1 || list[0].Ours {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestTheTeamOfARunBelongsToGafferAndAnotherProgramsDoesNot(t *testing.T) {
	t.Parallel()
	c := newCrew(t, "== *\nsay nothing\n")
	begun := c.begin(c.open(), teamsession.Request{})
	var ours docview.TeamPicture
	c.look(func(v *viewers.Viewer) {
		p, err := v.Team(t.Context(), "")
		if err != nil || !p.Found || !p.Ours || p.Run != begun.Run || p.Session.ID != begun.Session {
			t.Errorf("%+v, %v", p, err)
		}
		ours = p
	})
	if len(ours.Problems) != 0 {
		t.Errorf("gaffer's own documents have problems: %v", ours.Problems)
	}
	c.leave("coordination/pm_state.json", `{"session_id": "theirs"}`)
	c.look(func(v *viewers.Viewer) {
		if p, err := v.Team(t.Context(), ""); err != nil || p.Ours || p.Session.ID != "theirs" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestTheBuildOfARunBelongsToGafferUntilAnotherReplacesIt(t *testing.T) {
	t.Parallel()
	const text = "name: two\nagent: fake\nretries: 0\nchunks:\n  - {id: 1, name: One, prompt: \"fake: say one\"}\n  - {id: 2, name: Two, prompt: \"fake: fail it broke\"}\n"
	p := newPlace(t)
	a := p.open()
	run, err := a.Builds.Start(t.Context(), buildrun.Request{Plan: readPlan(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Runs.Work(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	p.look(func(v *viewers.Viewer) {
		s, err := v.BuildStatus(t.Context(), "")
		m := s.Mission
		if err != nil || !m.Found || !m.Ours || m.Run != run || m.Working || m.Progress.Completed != 1 || m.Progress.Failed != 1 || len(m.Alerts) == 0 {
			t.Errorf("%+v, %v", m, err)
		}
	})
	p.leave(".fctry/state.json", `{"buildRun": {"runId": "theirs", "status": "running", "chunks": [{"id": 1}]}}`)
	p.look(func(v *viewers.Viewer) {
		if s, err := v.BuildStatus(t.Context(), ""); err != nil || !s.Mission.Found || s.Mission.Ours {
			t.Errorf("%+v, %v", s.Mission, err)
		}
	})
}
