package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
)

// echoLanding is a service whose answers repeat the request.
type echoLanding struct{}

func (echoLanding) Merge(_ context.Context, by credential.Identity, m fleet.MergeRequest) ([]fleet.MergeResult, error) {
	if m.Into == "away" {
		return nil, &serviceError{"conflict", "conflict", "the changes are not on this machine"}
	}
	return []fleet.MergeResult{{Run: m.Run, Task: m.Task, Into: m.Into, State: fleet.MergeDone, Why: fmt.Sprint(m.Method, m.All, m.Fix, m.Yes, by.Role)}}, nil
}

func (echoLanding) UndoMerge(_ context.Context, _ credential.Identity, m fleet.MergeRequest) (fleet.MergeResult, error) {
	return fleet.MergeResult{Run: m.Run, Task: m.Task, State: fleet.MergeUndone, Why: fmt.Sprint(m.Yes, m.Revert)}, nil
}

func (echoLanding) Discard(_ context.Context, _ credential.Identity, run, task string, undo bool) (fleet.Review, error) {
	return fleet.Review{Run: run, Task: task, Rescue: fmt.Sprint(undo)}, nil
}

func TestChangesAreMergedAndDiscardedByRequest(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *Options) { o.Landing = echoLanding{} })
	for path, c := range map[string]struct{ body, want string }{
		"/v1/runs/r/merge":           {`{"all":true}`, `{"merges":[{"run":"r","task":"","into":"","state":"merged","why":"true false falseoperator"}]}`},
		"/v1/runs/r/tasks/t/merge":   {`{"into":" feature/x ","method":"squash","fix":true,"yes":true,"run":"other","task":"other"}`, `{"merges":[{"run":"r","task":"t","into":"feature/x","state":"merged","why":"squashfalse true trueoperator"}]}`},
		"/v1/runs/r/tasks/t/undo":    {`{"revert":true}`, `{"merge":{"run":"r","task":"t","into":"","state":"undone","why":"false true"}}`},
		"/v1/runs/r/tasks/t/discard": {`{"undo":true}`, `{"review":{"run":"r","task":"t","state":"","round":0,"rescue":"true"}}`},
	} {
		if got := w.ask(credential.Operator, "POST", path, c.body); got.status != 200 || strings.TrimSpace(got.body) != c.want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if got := w.ask(credential.Operator, "POST", path, `{"into":"a\u0000b"}`); !strings.HasSuffix(path, "discard") {
			w.wants(path, got, 400, "invalid_request")
		}
	}
	w.wants("on another machine", w.ask(credential.Operator, "POST", "/v1/runs/r/merge", `{"into":"away"}`), 409, "conflict")
}
