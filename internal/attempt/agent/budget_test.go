package agent

import (
	"slices"
	"strings"
	"testing"

	"gaffer/internal/engine/failure"
)

func TestClaudeGetsItsLimit(t *testing.T) {
	with, err := New("claude", nil)
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[float64]string{0: "", 0.002: "0.002", 0.000001: "0.000001", 12.5: "12.5"} {
		l, err := with.Launch(Request{Prompt: "x", LimitUSD: limit})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if i := slices.Index(l.Argv, "--max-budget-usd"); i >= 0 {
			got = l.Argv[i+1]
		}
		if got != want {
			t.Errorf("with $%v, the flag is %q, want %q", limit, got, want)
		}
	}
}

func TestClaudeAtItsLimitIsOverItsBudget(t *testing.T) {
	with, _ := New("claude", nil)
	r := with.Reader(Request{LimitUSD: 0.002})
	r.Line([]byte(`{"type":"system","subtype":"init","session_id":"s","model":"m"}`))
	r.Line([]byte(`{"type":"result","subtype":"error_max_budget_usd","is_error":true,"total_cost_usd":0.002325,"errors":["Reached maximum budget ($0.002)"],"session_id":"s"}`))
	if v := r.Verdict(Exit{Code: 1}); v.Class != failure.OverBudget || v.Summary != "Reached maximum budget ($0.002)" {
		t.Errorf("%s: %s", v.Class, v.Summary)
	}
}

func TestClaudeIsAskedForItsCostOnlyIfThatIsLimited(t *testing.T) {
	with, _ := New("claude", nil)
	message := []byte(`{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":120,"output_tokens":1}},"session_id":"s"}`)
	for _, s := range with.Reader(Request{}).Line(message) {
		if s.Reply != nil {
			t.Errorf("asked without a limit: %s", s.Reply)
		}
	}
	r := with.Reader(Request{LimitUSD: 1})
	var asked []Signal
	for _, s := range r.Line(message) {
		if s.Reply != nil {
			asked = append(asked, s)
		}
	}
	if len(asked) != 1 || !strings.Contains(string(asked[0].Reply), `"get_session_cost"`) {
		t.Fatalf("asked %v", asked)
	}
	for text, want := range map[string]float64{
		`Total cost:            $0.0031\nTotal duration (API):  2s`:         0.0031,
		`Total cost:            $1,234.50 (costs may be inaccurate)\nOther`: 1234.5,
		`no cost`:                     0,
		`Total cost:            $NaN`: 0,
	} {
		r := with.Reader(Request{LimitUSD: 1})
		r.Line(message)
		got := r.Line([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"` + asked[0].ReplyTo + `","response":{"text":"` + text + `"}}}`))
		if len(got) != 1 || got[0].Closed != asked[0].ReplyTo {
			t.Fatalf("%q gives %+v", text, got)
		}
		if u := got[0].Usage; want == 0 && u != nil || want > 0 && (u == nil || u.USD != want || u.Input != 120) {
			t.Errorf("%q gives %+v, want $%v", text, u, want)
		}
	}
}

func TestCodexReportsItsUsageWhileItWorksIfItsTokensAreLimited(t *testing.T) {
	with, _ := New("codex", nil)
	for _, c := range []struct {
		r      Request
		server bool
	}{
		{Request{Policy: Allow}, false},
		{Request{Policy: Deny}, false},
		{Request{Policy: Allow, LimitTokens: 100}, true},
		{Request{Policy: Deny, LimitTokens: 100}, true},
		{Request{Policy: Ask}, true},
	} {
		l, err := with.Launch(c.r)
		if err != nil {
			t.Fatal(err)
		}
		_, reads := with.Reader(c.r).(*serverReader)
		if got := slices.Contains(l.Argv, "app-server"); got != c.server || reads != c.server {
			t.Errorf("%+v starts %v", c.r, l.Argv)
		}
		if never := slices.Contains(l.Argv, `approval_policy="never"`); never != (c.server && c.r.Policy != Ask) {
			t.Errorf("%+v starts %v", c.r, l.Argv)
		}
	}
}

func TestRequestsOfTheAppServerAreAnsweredByThePolicy(t *testing.T) {
	with, _ := New("codex", nil)
	for policy, want := range map[Policy]string{Allow: `"accept"`, Deny: `"decline"`} {
		r := with.Reader(Request{Policy: policy, LimitTokens: 100})
		got := r.Line([]byte(`{"id":7,"method":"item/commandExecution/requestApproval","params":{"command":"make install"}}`))
		if len(got) != 1 || got[0].Ask != nil || !strings.Contains(string(got[0].Reply), want) {
			t.Errorf("with %s: %+v", policy, got)
		}
	}
}
