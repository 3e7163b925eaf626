package review

import (
	"context"
	"errors"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/cli/connect"
	screen "gaffer/internal/ui/tui/review"
)

// answers is a fleet whose reviews are simulated. lost is how many answers do not arrive.
type answers struct {
	connect.Fleet
	lost int
	asks []fleet.ReviewAction
}

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
