package worker

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/plan"
)

// completeFork is called for a fork, which is a task that continues a copy of another task's
// conversation. It adds to the job what the agent program needs on this machine to copy the
// conversation: the folder in which the agent works, and the path of the conversation's file.
func completeFork(with agent.Agent, job *runner.Job) {
	f := *job.Request.Fork
	f.Dir = job.Work
	if finder, ok := with.(agent.ConversationFinder); ok {
		accountEnv, _ := job.Account.Environment()
		own := slices.Concat(launchEnv(with, job.Request), accountEnv, job.Env)
		pattern := finder.ConversationFiles(f.Thread, func(name string) string {
			for _, v := range slices.Backward(own) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return os.Getenv(name)
		})
		// If the file is found, pass its path. If not, the program gets only the conversation's id,
		// and reports that the conversation is missing.
		if files, err := filepath.Glob(pattern); err == nil && len(files) > 0 {
			f.File = files[0]
		}
	}
	job.Request.Fork = &f
}

// bringConversation prepares an attempt at a fork. If the other task, whose conversation the fork
// continues, used another account, bringConversation copies the conversation to the account of this
// attempt. If this worker does not have the other account, or that account does not have the
// conversation, it does nothing and returns nil. The agent program then reports that the
// conversation is missing.
func (h *heldAttempt) bringConversation(spec plan.Task, job runner.Job) error {
	from, ok := h.worker.account(job.Agent, spec.Fork.Account)
	if !ok || spec.Fork.Account == job.Account.Name {
		return nil
	}
	own := job.Account
	from.Kind, own.Kind = firstKind(from, own), firstKind(own, from)
	err := account.CopyConversation(spec.Fork.Thread, from, own, os.Getenv)
	if errors.Is(err, account.ErrNoConversation) {
		return nil
	}
	return err
}

// launchEnv returns the environment variables that gaffer's adapter for the agent program sets when
// it launches the program.
func launchEnv(with agent.Agent, r agent.Request) []string {
	launch, err := with.Launch(r)
	if err != nil {
		return nil // ignore the error: starting the agent fails with the same error
	}
	return launch.Env
}
