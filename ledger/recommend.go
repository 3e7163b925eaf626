package ledger

import (
	"fmt"
	"slices"
)

// The thresholds of recommendations: percentages, and how many runs it takes
// before a percentage says anything.
const (
	lowSuccess      = 70.0
	highRetry       = 30.0
	lowAgentSuccess = 60.0
	enoughRuns      = 3
	enoughOfAgent   = 2
)

// mostCommon returns the reason that was given most often.
func mostCommon(reasons []Reason) (Reason, bool) {
	at := slices.IndexFunc(reasons, func(r Reason) bool { return r.Reason != noReason })
	if at < 0 {
		return Reason{}, false
	}
	return reasons[at], true
}

// recommend says what the counts suggest, each with the counts themselves.
func recommend(s Statistics) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if ended := s.Success + s.Failed + s.Timeout; ended >= enoughRuns && s.SuccessRate < lowSuccess {
		say("success rate is %.1f%% (%d of %d ended runs), below %.0f%%: review the prompt templates and how tasks are cut",
			s.SuccessRate, s.Success, ended, lowSuccess)
	}
	if s.Tasks >= enoughRuns && s.RetryRate > highRetry {
		say("retry rate is %.1f%% (%d of %d tasks needed more than one attempt), above %.0f%%: give agents more context in the first prompt",
			s.RetryRate, s.RetryCount, s.Tasks, highRetry)
	}
	for _, a := range s.ByAgent {
		if ended := a.Success + a.Failed + a.Timeout; ended >= enoughOfAgent && a.SuccessRate < lowAgentSuccess {
			say("agent %s succeeds in %.1f%% (%d of %d ended runs), below %.0f%%: change its prompts or give it other tasks",
				a.Agent, a.SuccessRate, a.Success, ended, lowAgentSuccess)
		}
	}
	if most, ok := mostCommon(s.FailureReasons); ok {
		say("the most common failure is %q (%d of %d failed or timed out)", most.Reason, most.Count, s.Failed+s.Timeout)
	}
	if len(list) == 0 {
		say("nothing to do: no threshold is crossed in %d runs", s.TotalRuns)
	}
	return list
}
