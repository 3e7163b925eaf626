package git

import (
	"slices"
	"strings"
	"testing"
)

func TestVersionsAreCompared(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"git version 2.39.5": true, "git version 2.38.0": true, "git version 2.37.9": false, "git version 1.99": false,
		"git version 3.0": true, "git version 2.39.5 (Apple Git-154)": true, "git version 2.46.0.windows.1": true, "": false,
	} {
		if got := newEnough(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestGitIsGivenACleanEnvironment(t *testing.T) {
	t.Parallel()
	got := environ([]string{
		"PATH=/bin", "HOME=/h", "GIT_DIR=/x", "GIT_INDEX_FILE=/y", "GIT_WORK_TREE=/z", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_PARAMETERS=p",
		"GIT_AUTHOR_DATE=1", "GIT_AUTHOR_NAME=Me", "GIT_CONFIG_GLOBAL=/g", "LANGUAGE=de", "LC_ALL=de_DE", "GIT_PAGER=less",
	})
	want := []string{
		"PATH=/bin", "HOME=/h", "GIT_AUTHOR_NAME=Me", "GIT_CONFIG_GLOBAL=/g", "LC_ALL=de_DE",
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=true", Mark,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestASubjectIsOneLineOfLimitedLength(t *testing.T) {
	t.Parallel()
	got := CleanSubject("tab\tand \x1b[31mred " + strings.Repeat("ü", 300))
	if !strings.HasPrefix(got, "tab and  [31mred ü") || !strings.HasSuffix(got, "ü…") || len(got) > maxSubject+len("…") {
		t.Errorf("subject: %q", got)
	}
	if got := CleanSubject("not\xfftext"); got != "not�text" {
		t.Errorf("subject: %q", got)
	}
}
