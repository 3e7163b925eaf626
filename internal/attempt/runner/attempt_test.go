package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
)

// An error after the launch would leave an agent that no gaffer process follows.
func TestAnAttemptWhoseFilesCannotBeReadLaunchesNoAgent(t *testing.T) {
	for _, name := range []string{answeredFile, messagesFile} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		with, err := agent.New("command", nil)
		if err != nil {
			t.Fatal(err)
		}
		job := Job{Attempt: "a1", Agent: "command", Work: dir, Log: filepath.Join(dir, "log"), Request: agent.Request{Argv: []string{"sleep", "60"}}}
		opts := Options{Now: time.Now, Supervisor: supervisor.Options{Command: []string{"true"}}}
		_, err = Start(t.Context(), dir, with, job, opts)
		if files, _ := filepath.Glob(filepath.Join(dir, "*lock*")); err == nil || len(files) > 0 {
			t.Errorf("%s: %v, and %v", name, err, files)
		}
	}
}

func TestLongWaitsAreAligned(t *testing.T) {
	base := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for after := time.Duration(0); after < 2*maxReadInterval; after += 7 * time.Millisecond {
		now := base.Add(after)
		wait := alignWakeUp(now, maxReadInterval)
		if wait <= 0 || wait > maxReadInterval || now.Add(wait).UnixNano()%int64(maxReadInterval) != 0 {
			t.Errorf("%s after: %s", after, wait)
		}
	}
	if got := alignWakeUp(base, minReadInterval); got != minReadInterval {
		t.Errorf("a short wait is %s", got)
	}
}

func TestAVariableOfATaskReplacesAnInheritedOne(t *testing.T) {
	t.Setenv("API_KEY", "inherited")
	env := environ([]string{"API_KEY=agent", "OTHER=x"}, []string{"API_KEY=task"})
	var got []string
	for _, v := range env {
		if strings.HasPrefix(v, "API_KEY=") {
			got = append(got, v)
		}
	}
	if !slices.Equal(got, []string{"API_KEY=task"}) || !slices.Contains(env, "OTHER=x") {
		t.Errorf("it is told %q", got)
	}
}

func TestAnAgentDoesNotGetGitRepositoryVariables(t *testing.T) {
	for _, name := range gitRepositoryVars() {
		t.Setenv(name, "/elsewhere")
	}
	t.Setenv("GIT_AUTHOR_NAME", "me")
	env := environ([]string{"GIT_DIR=/wanted"})
	for _, v := range env {
		if strings.HasSuffix(v, "=/elsewhere") {
			t.Errorf("it is told %s", v)
		}
	}
	for _, want := range []string{"GIT_AUTHOR_NAME=me", "GIT_DIR=/wanted"} {
		if !slices.Contains(env, want) {
			t.Errorf("it is not told %s", want)
		}
	}
}
