package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTheStagesOfAStop(t *testing.T) {
	for name, c := range map[string]struct{ events, want string }{
		"a stop is an escalation":              {"stop time time time", "interrupt/1s terminate/2s kill/2ms kill/4ms"},
		"a stop is heard once":                 {"stop stop time stop", "interrupt/1s - terminate/2s -"},
		"a stop can be hurried":                {"stop now now", "interrupt/1s kill/2ms -"},
		"a stop can be in a hurry":             {"now exit time", "kill/2ms - kill/4ms"},
		"what is left behind is swept":         {"exit time time", "sweep/1s kill/2ms kill/4ms"},
		"what is left after a stop is too":     {"stop exit time", "interrupt/1s sweep/1s kill/2ms"},
		"sweeping can be hurried":              {"exit now", "sweep/1s kill/2ms"},
		"sweeping is not stopped":              {"exit stop time", "sweep/1s - kill/2ms"},
		"one that is frozen is killed":         {"lapse stop time", "freeze kill/2ms kill/4ms"},
		"so is what it leaves behind":          {"lapse exit", "freeze kill/2ms"},
		"what is about to end is killed":       {"stop lapse time", "interrupt/1s kill/2ms kill/4ms"},
		"also when it is swept":                {"exit lapse", "sweep/1s kill/2ms"},
		"what is killed is not frozen":         {"now lapse", "kill/2ms -"},
		"time means nothing while it runs":     {"time stop", "- interrupt/1s"},
		"pauses grow to a limit while killing": {"now time time time time time time time time", "kill/2ms kill/4ms kill/8ms kill/16ms kill/32ms kill/64ms kill/128ms kill/250ms kill/250ms"},
	} {
		e := stopSequence{interrupt: time.Second, terminate: 2 * time.Second}
		var got []string
		for event := range strings.FieldsSeq(c.events) {
			got = append(got, step(&e, event))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s gives %s, should be %s", name, c.events, text, c.want)
		}
	}
}

func step(e *stopSequence, event string) string {
	var do action
	var wait time.Duration
	switch event {
	case "stop":
		do, wait = e.stop("asked", false)
	case "now":
		do, wait = e.stop("hurried", true)
	case "exit":
		do, wait = e.agentExited()
	case "time":
		do, wait = e.timeUp()
	case "lapse":
		var freeze bool
		if freeze, do, wait = e.leaseEnded(); freeze {
			return "freeze"
		}
	}
	if do == nothing {
		return "-"
	}
	name := map[action]string{interruptGroup: "interrupt", terminateGroup: "terminate", terminateAll: "sweep", killAll: "kill", giveUp: "give-up"}[do]
	return fmt.Sprintf("%s/%s", name, wait)
}

func TestKillingIsGivenUpAfterALimit(t *testing.T) {
	var e stopSequence
	e.stop("x", true)
	for range 1000 {
		if do, _ := e.timeUp(); do == giveUp {
			return
		}
	}
	t.Error("it goes on for ever")
}

func TestTheFirstStopReasonIsKept(t *testing.T) {
	for events, want := range map[string]string{"stop now": "asked", "now stop": "hurried", "exit stop now": ""} {
		var e stopSequence
		for event := range strings.FieldsSeq(events) {
			step(&e, event)
		}
		if e.reason != want {
			t.Errorf("%s: told %q, should be %q", events, e.reason, want)
		}
	}
}
