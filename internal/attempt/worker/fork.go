package worker

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
)

// completeFork adds to the job what the agent program needs on this machine to copy a conversation:
// the folder in which the copy works, and the conversation's file.
func completeFork(with agent.Agent, job *runner.Job) {
	f := *job.Request.Fork
	f.Dir = job.Work
	if finder, ok := with.(agent.ConversationFinder); ok {
		own := append(slices.Clone(launchEnv(with, job.Request)), job.Env...)
		pattern := finder.ConversationFiles(f.Thread, func(name string) string {
			for _, v := range slices.Backward(own) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return os.Getenv(name)
		})
		// If the file is not found, the program gets the id, and says itself what is missing.
		if files, err := filepath.Glob(pattern); err == nil && len(files) > 0 {
			f.File = files[0]
		}
	}
	job.Request.Fork = &f
}

// launchEnv returns the variables that the agent adds to the environment of its program.
func launchEnv(with agent.Agent, r agent.Request) []string {
	launch, err := with.Launch(r)
	if err != nil {
		return nil // starting the agent reports the error
	}
	return launch.Env
}
