package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
)

// slowGH is a stand-in for gh with eight issues. It keeps comments as GitHub does, and takes some time
// before and after it has stored one.
const slowGH = `#!/bin/sh
case "$*" in
"issue list"*) jq -nc '[range(1;9) | {number: ., title: "Issue \(.)", body: "x", url: "", state: "OPEN", author: {login: "ben"}}]' ;;
*"--json comments") jq -Rs '{comments: [{body: .}]}' "$COMMENTS/$3" 2>/dev/null || echo '{"comments":[]}' ;;
"issue comment"*) text=$(cat); echo >>"$COMMENTS/begun"; sleep 0.05; echo "$text" >>"$COMMENTS/$3"; sleep 0.05 ;;
*) exit 9 ;;
esac
`

// commentsBegun returns how many comments the stand-in has begun to write.
func commentsBegun(dir string) int {
	data, _ := os.ReadFile(filepath.Join(dir, "comments", "begun")) // the file is missing at first
	return len(data)
}

func TestNoIssueIsTakenTwiceAndNoCommentIsWrittenTwiceHoweverOftenGafferIsKilled(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	program, dir := testenv.Program(t), t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("bin/gh", slowGH)
	write("project/night.yaml", "defaults: {agent: fake}\nsource: {report: {comment: true}}\n")
	write("comments/.keep", "")
	mark := "SOURCES_KILL_TEST=" + dir
	gaffer := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = filepath.Join(dir, "project")
		cmd.Env = []string{"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "COMMENTS=" + filepath.Join(dir, "comments"), mark}
		return cmd
	}
	t.Cleanup(func() {
		for _, pid := range testenv.ProcessesWith(mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
		}
	})

	commands := [][]string{
		{"run", "--from", "gh:ada/shop", "night.yaml", "--limit", "3"}, {"sources", "--send"}, {"resume"}, {"sources", "--send"},
	}
	for i := range testenv.Count(4, 12, 200) {
		// Start two processes at the same time, and kill them.
		var both []*exec.Cmd
		for range 2 {
			cmd := gaffer(commands[i%len(commands)]...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			both = append(both, cmd)
		}
		// Kill them at any moment, or soon after one of them has begun to write a comment.
		begun, moment := commentsBegun(dir), time.Duration(rand.IntN(500))*time.Millisecond
		if i%3 != 2 {
			testenv.Poll(2*time.Second, func() bool { return commentsBegun(dir) > begun })
			moment /= 5
		}
		testenv.Poll(moment, func() bool { return false })
		for _, cmd := range both {
			_ = cmd.Process.Kill() // ignore the error: the process may have ended
			_ = cmd.Wait()         // ignore the error: the process was killed
		}
	}

	testenv.Wait(t, "every issue is done and has its comment", func() error {
		for _, args := range [][]string{{"resume"}, {"run", "--from", "gh:ada/shop", "night.yaml"}, {"sources", "--send"}} {
			_ = gaffer(args...).Run() // ignore the error: there may be nothing to resume
		}
		for n := 1; n <= 8; n++ {
			if _, err := os.Stat(filepath.Join(dir, "comments", fmt.Sprint(n))); err != nil {
				return err
			}
		}
		return nil
	})
	for n := 1; n <= 8; n++ {
		text, err := os.ReadFile(filepath.Join(dir, "comments", fmt.Sprint(n)))
		if got := strings.Count(string(text), "<!-- gaffer report"); err != nil || got != 1 {
			t.Errorf("issue %d has %d comments: %v\n%s", n, got, err, text)
		}
	}
	out, err := gaffer("runs", "-n", "0", "--json").Output()
	var runs []struct {
		Counts struct{ Total, Complete int }
	}
	if err == nil {
		err = json.Unmarshal(out, &runs)
	}
	total, complete := 0, 0
	for _, r := range runs {
		total, complete = total+r.Counts.Total, complete+r.Counts.Complete
	}
	if err != nil || total != 8 || complete != 8 {
		t.Errorf("%d tasks, %d complete, want 8: %v\n%s", total, complete, err, out)
	}
}
