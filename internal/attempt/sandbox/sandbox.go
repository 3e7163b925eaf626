// Package sandbox runs agents so that they reach only what their task needs. It decides which
// sandbox a task gets, finds out which sandboxes this machine has, and turns the command line of an
// agent into one that runs inside the sandbox.
//
// To run a program inside bubblewrap or a container, gaffer is started twice. [EnterMain] runs
// outside of the sandbox: it starts bwrap or the container engine, connects to the allowed hosts
// for the agent, and ends as the agent has ended. [InitMain] is the first process inside: it starts
// the agent, passes signals on to it, and reaps the processes that the agent leaves behind. See
// docs/sandbox.md and decision 36 in docs/decisions.
package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/plan"
)

// Settings are the user's settings for sandboxes.
type Settings struct {
	Mode plan.SandboxMode // empty or auto: the plan decides, unless Forced is set
	// Forced says that Mode is from a flag of the user, which overrides the plan. If it is false,
	// the plan may choose a stronger sandbox than Mode, but no weaker one.
	Forced bool
	Image  string // container image for tasks whose plan names none
}

// Unattended reports whether no user answers the agent's requests for permission.
func Unattended(t plan.Task) bool { return t.Questions != "" && t.Questions != plan.Ask }

// Apply returns the sandbox that a task gets. It combines want, the sandbox in the task's plan,
// with the settings. The result's mode is never weaker than the user's setting. If neither the plan
// nor the user sets a mode, an unattended task gets the mode auto, see [Unattended].
func (s Settings) Apply(want plan.Sandbox, unattended bool) plan.Sandbox {
	if want.Image == "" {
		want.Image = s.Image
	}
	switch {
	case s.Forced:
		want.Mode = s.Mode
	case s.Mode == plan.SandboxNone && want.Mode == plan.SandboxAuto: // the plan wants the strongest sandbox
	case s.Mode != "" && s.Mode != plan.SandboxAuto:
		if want.Mode == plan.SandboxAuto || strength(want.Mode) < strength(s.Mode) {
			want.Mode = s.Mode
		}
	case want.Mode == "" && unattended:
		want.Mode = plan.SandboxAuto
	}
	return want
}

// strength returns the rank of a mode: the stronger the sandbox, the higher the rank. An empty or
// unknown mode, and auto, have rank 0.
func strength(m plan.SandboxMode) int {
	order := []plan.SandboxMode{"", plan.SandboxNone, plan.SandboxProgram, plan.SandboxBubblewrap, plan.SandboxContainer}
	return max(slices.Index(order, m), 0)
}

// ApplyPlan returns a copy of the plan in which each task has the sandbox that [Settings.Apply]
// returns. It does not change tasks whose agent is implemented by gaffer itself. The parameter own
// is a function that reports whether an agent is one of these.
func (s Settings) ApplyPlan(p plan.Plan, own func(agent string) bool) plan.Plan {
	p.Tasks = slices.Clone(p.Tasks)
	for i, t := range p.Tasks {
		if !own(t.Agent) {
			p.Tasks[i].Sandbox = s.Apply(t.Sandbox, Unattended(t))
		}
	}
	return p
}

// Program describes an agent program, for the choice of its sandbox.
type Program struct {
	Kind string // name of the built-in agent whose protocol the program uses
	// Custom says that the user has set the program in gaffer.yaml. gaffer does not know which
	// files such a program needs.
	Custom bool
	// Gaffer says that the program is gaffer itself, which merges branches or picks the best of
	// several solutions of a task. It never runs in a sandbox.
	Gaffer bool
	// Restricted says that, for this agent, some requests for permission are denied or left to the
	// user.
	Restricted bool
}

// Choice is the sandbox that was chosen for an attempt.
type Choice struct {
	Mode plan.SandboxMode `json:"mode"` // never empty or auto
	// Why says why the attempt has no sandbox although its task wants the mode auto. It is empty in
	// all other cases.
	Why string `json:"why,omitempty"`
}

// Choose returns the sandbox that a program gets on a machine with these facts. If the task wants a
// sandbox that the machine or the program does not have, Choose returns an [*UnavailableError].
func (f Facts) Choose(want plan.Sandbox, p Program) (Choice, error) {
	switch {
	case p.Gaffer || want.Mode == "" || want.Mode == plan.SandboxNone:
		return Choice{Mode: plan.SandboxNone}, nil
	case want.Mode == plan.SandboxAuto:
		return f.strongest(want, p), nil
	}
	if reason := f.unavailable(want.Mode, want, p); reason != "" {
		return Choice{}, &UnavailableError{want.Mode, reason}
	}
	return Choice{Mode: want.Mode}, nil
}

// strongest returns the strongest sandbox that works, for a task that wants the mode auto. A
// program whose needs are unknown gets none: a sandbox could hide files that the program needs, and
// only the user knows which.
func (f Facts) strongest(want plan.Sandbox, p Program) Choice {
	switch {
	case p.Kind == plan.CommandAgent && !p.Custom:
		return Choice{Mode: plan.SandboxNone, Why: "the plan's author has written its command"}
	case p.Custom:
		return Choice{Mode: plan.SandboxNone, Why: "gaffer.yaml names its program, whose needs are unknown; 'sandbox: bubblewrap' in the plan runs it in one"}
	}
	var reasons []string
	for _, mode := range []plan.SandboxMode{plan.SandboxContainer, plan.SandboxBubblewrap, plan.SandboxProgram} {
		if mode == plan.SandboxContainer && want.Image == "" {
			continue
		}
		reason := f.unavailable(mode, want, p)
		if reason == "" {
			return Choice{Mode: mode}
		}
		reasons = append(reasons, reason)
	}
	return Choice{Mode: plan.SandboxNone, Why: strings.Join(reasons, "; ")}
}

// unavailable returns why a program cannot run in a sandbox of this mode on this machine, or "" if
// it can.
func (f Facts) unavailable(mode plan.SandboxMode, want plan.Sandbox, p Program) string {
	// Codex asks for permission only before a command leaves Codex's own sandbox. If it cannot
	// create that sandbox, it never asks, and gaffer's rules about permissions have no effect. So a
	// restricted Codex must not run in a sandbox in which it cannot create its own.
	if p.Kind == "codex" && p.Restricted && (mode == plan.SandboxContainer || mode == plan.SandboxBubblewrap && !f.Nested) {
		return "codex cannot make its own sandbox in it, without which it asks for no permission: no rule would hold"
	}
	switch mode {
	case plan.SandboxBubblewrap:
		return f.NoBubblewrap
	case plan.SandboxContainer:
		if f.NoContainer == "" && want.Image == "" {
			return "a container needs an image: 'image' in the plan, or the setting sandbox_image"
		}
		return f.NoContainer
	case plan.SandboxProgram:
		return f.programUnavailable(want, p.Kind)
	}
	return fmt.Sprintf("there is no sandbox %q", mode)
}

// programUnavailable returns why an agent program's own sandbox cannot be used, or "" if it can.
func (f Facts) programUnavailable(want plan.Sandbox, kind string) string {
	switch {
	case kind != "claude" && kind != "codex":
		return fmt.Sprintf("agent %s has no sandbox of its own", kind)
	case want.Network == plan.NetworkList, want.Network == plan.NetworkOff && kind == "claude":
		return fmt.Sprintf("the sandbox of %s cannot limit its network like this", kind)
	case kind == "claude" && f.System == "linux" && f.NoBubblewrap != "":
		return "the sandbox of claude needs bubblewrap: " + f.NoBubblewrap
	case kind == "claude" && f.System == "linux" && !f.Socat:
		return "the sandbox of claude needs the program socat, which is not in PATH"
	}
	return ""
}

// UnavailableError reports that a task wants a sandbox that it cannot have.
type UnavailableError struct {
	Mode   plan.SandboxMode
	Reason string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("sandbox %s: %s", e.Mode, e.Reason)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (*UnavailableError) NotFound() bool { return true }

// Hint returns what the user can do.
func (*UnavailableError) Hint() string {
	return "'gaffer doctor' says which sandboxes this machine has; --sandbox chooses another, or none"
}
