package ledger

import "fmt"

// Recommendation says that a statistic of a report, such as the success rate, has crossed a
// threshold. It advises the user what to do.
type Recommendation struct {
	Rule      string  `json:"rule"`
	Subject   string  `json:"subject"`   // an agent, template or failure reason; empty means all runs
	Threshold float64 `json:"threshold"` // a percentage, or a number of runs
	Value     float64 `json:"value"`     // the value that crossed Threshold, in the same unit
	// Runs is the number of runs from which Value was computed. But if Rule is HighRetry, Value was
	// computed from tasks, and Runs is the number of tasks.
	Runs     int      `json:"runs"`
	Finding  string   `json:"finding"`
	Advice   string   `json:"advice"`
	Evidence []string `json:"evidence"` // task ids of the most recent examples, at most maxEvidence
}

func (r Recommendation) String() string { return r.Finding + ": " + r.Advice }

// The names of the rules for recommendations.
const (
	LowSuccess   = "low-success-rate"
	HighRetry    = "high-retry-rate"
	WeakAgent    = "weak-agent"
	WeakTemplate = "weak-template"
	MainReason   = "main-failure-reason"
	ManyTimeouts = "many-timeouts"
	StuckRuns    = "stuck-running"
)

// Thresholds of recommendations, as percentages. The constants whose names begin with "enough" are
// instead minimum numbers of runs or tasks. With fewer runs or tasks, a percentage means little, so
// gaffer gives no recommendation.
const (
	lowSuccess       = 70.0
	highRetry        = 30.0
	lowAgentSuccess  = 60.0
	lowTemplate      = 60.0
	mainReason       = 50.0
	highTimeout      = 20.0
	enough           = 3
	enoughOfAgent    = 2
	enoughOfTimeouts = 5
)

// recommend returns a recommendation for each statistic in s that has crossed its threshold.
func (t *tally) recommend(s Statistics) []Recommendation {
	list := []Recommendation{}
	for _, rule := range []func(Statistics) []Recommendation{
		t.lowSuccess, t.highRetry, t.weakAgents, t.weakTemplates, t.mainReason, t.manyTimeouts, t.stuckRuns,
	} {
		list = append(list, rule(s)...)
	}
	return list
}

// sentences returns the recommendations as sentences, because the format of a report requires
// texts. If there are no recommendations, it returns one sentence that says so.
func sentences(list []Recommendation, s Statistics) []string {
	if len(list) == 0 {
		runs := fmt.Sprintf("%d runs", s.TotalRuns)
		if s.TotalRuns == 1 {
			runs = "1 run"
		}
		return []string{"nothing to do: no threshold is crossed in " + runs}
	}
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = r.String()
	}
	return texts
}

func (t *tally) lowSuccess(s Statistics) []Recommendation {
	ended := s.Success + s.Failed + s.Timeout
	if ended < enough || s.SuccessRate >= lowSuccess {
		return nil
	}
	return []Recommendation{{
		Rule: LowSuccess, Threshold: lowSuccess, Value: s.SuccessRate, Runs: ended,
		Finding:  fmt.Sprintf("success rate is %.1f%% (%d of %d ended runs), below %.0f%%", s.SuccessRate, s.Success, ended, lowSuccess),
		Advice:   "review the prompt templates and how tasks are cut",
		Evidence: t.all.failures.beads(),
	}}
}

func (t *tally) highRetry(s Statistics) []Recommendation {
	if s.Tasks < enough || s.RetryRate <= highRetry {
		return nil
	}
	return []Recommendation{{
		Rule: HighRetry, Threshold: highRetry, Value: s.RetryRate, Runs: s.Tasks,
		Finding: fmt.Sprintf("retry rate is %.1f%% (%d of %d tasks needed more than one attempt), above %.0f%%",
			s.RetryRate, s.RetryCount, s.Tasks, highRetry),
		Advice:   "give agents more context in the first prompt",
		Evidence: t.retries.again.beads(),
	}}
}

func (t *tally) weakAgents(s Statistics) []Recommendation {
	var list []Recommendation
	for _, a := range s.ByAgent {
		if a.Ended() < enoughOfAgent || a.SuccessRate >= lowAgentSuccess {
			continue
		}
		list = append(list, Recommendation{
			Rule: WeakAgent, Subject: a.Agent, Threshold: lowAgentSuccess, Value: a.SuccessRate, Runs: a.Ended(),
			Finding: fmt.Sprintf("agent %s succeeds in %.1f%% (%d of %d ended runs), below %.0f%%",
				a.Agent, a.SuccessRate, a.Success, a.Ended(), lowAgentSuccess),
			Advice:   "change its prompts or give it other tasks",
			Evidence: t.agents.of(a.Agent).failures.beads(),
		})
	}
	return list
}

// weakTemplates returns a recommendation for each prompt template whose runs have a low success
// rate. If there is only one template, it returns no recommendation, because there is nothing to
// compare.
func (t *tally) weakTemplates(s Statistics) []Recommendation {
	var list []Recommendation
	for _, tpl := range s.ByTemplate {
		if len(s.ByTemplate) == 1 || tpl.Ended() < enough || tpl.SuccessRate >= lowTemplate {
			continue
		}
		who, advice := "template "+tpl.Template+" succeeds", "compare its prompt with those of the templates that do better"
		if tpl.Template == noTemplate {
			who, advice = "runs without a template succeed", "use a template that does better"
		}
		list = append(list, Recommendation{
			Rule: WeakTemplate, Subject: tpl.Template, Threshold: lowTemplate, Value: tpl.SuccessRate, Runs: tpl.Ended(),
			Finding: fmt.Sprintf("%s in %.1f%% (%d of %d ended runs), below %.0f%%",
				who, tpl.SuccessRate, tpl.Success, tpl.Ended(), lowTemplate),
			Advice:   advice,
			Evidence: t.templates.of(tpl.Template).failures.beads(),
		})
	}
	return list
}

func (t *tally) mainReason(s Statistics) []Recommendation {
	failures := s.Failed + s.Timeout
	if failures < enough {
		return nil
	}
	most := s.FailureReasons[0]
	share := percent(most.Count, failures)
	if share <= mainReason || most.Reason == noReason || most.Reason == otherNames {
		return nil
	}
	return []Recommendation{{
		Rule: MainReason, Subject: most.Reason, Threshold: mainReason, Value: share, Runs: failures,
		Finding: fmt.Sprintf("most failures have one reason, %q (%d of %d, %.1f%%, above %.0f%%)",
			most.Reason, most.Count, failures, share, mainReason),
		Advice:   "look into it first",
		Evidence: t.reasons.of(most.Reason).failures.beads(),
	}}
}

func (t *tally) manyTimeouts(s Statistics) []Recommendation {
	ended := s.Success + s.Failed + s.Timeout
	share := percent(s.Timeout, ended)
	if ended < enoughOfTimeouts || share <= highTimeout {
		return nil
	}
	return []Recommendation{{
		Rule: ManyTimeouts, Threshold: highTimeout, Value: share, Runs: ended,
		Finding:  fmt.Sprintf("%.1f%% of ended runs timed out (%d of %d), above %.0f%%", share, s.Timeout, ended, highTimeout),
		Advice:   "cut the tasks smaller or allow them more time",
		Evidence: t.timeouts.beads(),
	}}
}

func (t *tally) stuckRuns(s Statistics) []Recommendation {
	if s.Stuck == 0 {
		return nil
	}
	return []Recommendation{{
		Rule: StuckRuns, Threshold: 0, Value: float64(s.Stuck), Runs: s.Running,
		Finding:  fmt.Sprintf("%d of %d running runs are stuck: they began over an hour ago, or a record of their end says running", s.Stuck, s.Running),
		Advice:   "see with 'gaffer poll' whether anything is alive, and repair the records",
		Evidence: t.stuck.beads(),
	}}
}
