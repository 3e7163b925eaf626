package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/fleet"
)

// fork forks the task of a run and returns the new task when it has ended.
func (p *environment) fork(args ...string) (fleet.ForkResult, fleet.Task) {
	p.Helper()
	var made fleet.ForkResult
	p.must(json.Unmarshal([]byte(p.done(append([]string{"fork", "--json"}, args...)...)), &made))
	task := p.task("the fork has ended", func(t fleet.Task) bool { return t.Run == made.Run && t.Status.Final() })
	p.until("its run has ended", func() bool { return p.status().Status.Final() })
	return made, task
}

// conversations returns the content of all files in which the agents keep conversations, by path.
func (p *environment) conversations() map[string]string {
	p.Helper()
	all := map[string]string{}
	p.must(filepath.WalkDir(p.home, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") && (strings.Contains(path, "/projects/") || strings.Contains(path, "/sessions/")) {
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}
		return nil
	}))
	return all
}

func TestAForkContinuesACopyOfTheConversationInItsOwnWorktree(t *testing.T) {
	each(t, func(p *environment, agent string) {
		p.write("list.txt", "one\n")
		p.git("config", "user.name", "Person")
		p.git("config", "user.email", "person@example.com")
		p.git("add", "--all")
		p.git("commit", "--quiet", "-m", "start")
		p.defaultSandbox() // for allow
		for _, questions := range []string{"ask", "allow"} {
			p.play("text:first", "text:second", "tool:pwd", "text:third", "text:fourth")
			p.done("run", p.plan(agent, "worktree: true, questions: "+questions))
			p.send("more words", "--wait")
			original := p.ended()
			p.came(original, fleet.Complete, "")
			kept := p.conversations()
			name := original.Run + "/" + original.ID

			made, forked := p.fork(name, "--prompt", "other words")
			p.came(forked, fleet.Complete, "")
			if len(made.Notes) > 0 || !made.From.Copied || forked.Fork == nil || forked.Fork.Run != original.Run || forked.Attempt.Thread == original.Attempt.Thread {
				p.Errorf("%s: the fork is %s\n%s", questions, encode(made), encode(forked))
			}
			last := string(p.turns()[len(p.turns())-1].Body)
			for _, words := range []string{"do the work", "first", "more words", "second", "other words"} {
				if strings.Count(last, words) < 1 {
					p.Errorf("%s: the model does not see %q:\n%s", questions, words, last)
				}
			}
			if !strings.Contains(last, forked.Worktree) || forked.Worktree == "" {
				p.Errorf("%s: the agent did not work in %q:\n%s", questions, forked.Worktree, last)
			}
			// The stub model counts the same tokens for each request. The fork has made two.
			if forked.Attempt.Spent.Tokens != original.Spent.Tokens {
				p.Errorf("%s: the fork has used %d tokens, want %d", questions, forked.Attempt.Spent.Tokens, original.Spent.Tokens)
			}

			made, forked = p.fork(name, "--at", "1", "--prompt", "new words")
			p.came(forked, fleet.Complete, "")
			last = string(p.turns()[len(p.turns())-1].Body)
			if !strings.Contains(last, "do the work") || !strings.Contains(last, "first") || strings.Contains(last, "more words") || !strings.Contains(last, "new words") {
				p.Errorf("%s: the model sees another part of the conversation:\n%s", questions, last)
			}
			if parts := agent == "claude" || questions == "ask"; made.From.Copied != parts || len(made.Notes) == 0 != parts {
				p.Errorf("%s: the fork at turn 1 is %s", questions, encode(made))
			}

			for path, text := range kept {
				if now := p.conversations()[path]; now != text {
					p.Errorf("%s: the conversation %s has changed", questions, path)
				}
			}
			var after []fleet.Attempt
			for _, r := range p.runs() {
				if r.ID == original.Run {
					after = append(after, *r.Tasks[0].Attempt)
				}
			}
			if len(after) != 1 || after[0].ID != original.Attempt.ID {
				p.Errorf("%s: the original has changed: %s", questions, encode(after))
			}
		}
	})
}

// runs returns all runs.
func (p *environment) runs() (list []fleet.Run) {
	p.Helper()
	p.must(json.Unmarshal([]byte(p.done("runs", "--json")), &list))
	for i, r := range list {
		p.must(json.Unmarshal([]byte(p.done("status", r.ID, "--json")), &list[i]))
	}
	return list
}
