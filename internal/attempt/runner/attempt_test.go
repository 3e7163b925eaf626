package runner

import (
	"slices"
	"strings"
	"testing"
	"time"
)

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
