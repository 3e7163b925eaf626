package review

import (
	"context"
	"errors"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/ui/tui/program"
	screen "gaffer/internal/ui/tui/review"
)

// answers is a fleet with one simulated review. The caller gets no answer to the first actions;
// lost is their number.
type answers struct {
	openfleet.Fleet
	lost     int
	asks     []fleet.ReviewAction
	review   fleet.Review
	attended int
}

func (a *answers) Review(context.Context, string, string) (fleet.Review, error) { return a.review, nil }

func (a *answers) EnsureProcess(context.Context, string) error { a.attended++; return nil }

func (a *answers) ChangeReview(_ context.Context, _, _ string, action fleet.ReviewAction) (fleet.Review, error) {
	a.asks = append(a.asks, action)
	if a.lost--; a.lost >= 0 {
		return fleet.Review{}, errors.New("no answer")
	}
	return fleet.Review{}, nil
}

func TestACommentThatIsSavedAgainAfterALostAnswerHasTheSameKey(t *testing.T) {
	t.Parallel()
	a := &answers{lost: 3}
	f := newFeed(a, nil)
	comment := screen.Act{Run: "r", Task: "api", Kind: screen.Comment, Comment: fleet.Comment{Text: "why?"}}
	other := comment
	other.Comment.Text = "why not?"
	for _, act := range []screen.Act{comment, comment, other, other, other} {
		_ = f.act(t.Context(), act)
	}
	var keys []string
	for _, asked := range a.asks {
		keys = append(keys, asked.Comment.Key)
	}
	if keys[0] == "" || keys[1] != keys[0] || keys[2] == keys[0] || keys[3] != keys[2] || keys[4] == keys[3] {
		t.Errorf("the keys are %q: want the first two equal, the next two equal, and another for the last, which is a new comment", keys)
	}
}

// A gaffer process that was killed after it had sent the comments leaves an agent that no process
// continues.
func TestSendingBackAgainContinuesTheAgentAndSendsNothing(t *testing.T) {
	t.Parallel()
	a := &answers{review: fleet.Review{State: fleet.ReviewSentBack, Round: 1, Comments: []fleet.Comment{{ID: "c1", Round: 1}}}}
	m := screen.New("", "r", "api", time.Now())
	m, _ = m.Update(screen.Page{Task: fleet.Task{Run: "r", ID: "api"}, Change: fleet.Change{Run: "r", Task: "api"}, Review: a.review})
	_, actions := m.Update(program.Key{Name: "s"})
	act, ok := append(actions, nil)[0].(screen.Act)
	if !ok {
		t.Fatalf("the key s does %+v", actions)
	}
	if err := newFeed(a, nil).act(t.Context(), act); err != nil || a.attended != 1 || len(a.asks) != 0 {
		t.Errorf("%v, the run is attended %d times, and the requests are %+v", err, a.attended, a.asks)
	}
	a.review.Comments = append(a.review.Comments, fleet.Comment{ID: "c2"})
	if err := newFeed(a, nil).act(t.Context(), act); err != nil || a.attended != 2 || len(a.asks) != 1 {
		t.Errorf("with a draft: %v, the run is attended %d times, and the requests are %+v", err, a.attended, a.asks)
	}
}
