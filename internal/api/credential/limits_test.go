package credential

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSecurityALimitedTokenIsGoodForTasksOfItsProjectsAndPoolsAlone(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		labels string
		may    bool
	}{
		{Limits{}, "project:api,prod", true},
		{Limits{Projects: []string{"web"}}, "project:web", true},
		{Limits{Projects: []string{"web"}}, "project:web,gpu,@w", true},
		{Limits{Projects: []string{"web"}}, "project:api", false},
		{Limits{Projects: []string{"web"}}, "project:web,project:api", false},
		{Limits{Projects: []string{"web"}}, "gpu", false},
		{Limits{Projects: []string{"web"}}, "", false},
		{Limits{Projects: []string{"web", "api"}}, "project:api", true},
		{Limits{Pools: []string{"gpu"}}, "project:api,gpu", true},
		{Limits{Pools: []string{"gpu"}}, "project:api", false},
		{Limits{Pools: []string{"gpu"}}, "project:api,gpu,prod", false},
		{Limits{Pools: []string{"gpu", "prod"}}, "project:api,gpu,prod", true},
		{Limits{Projects: []string{"web"}, Pools: []string{"gpu"}}, "project:web,gpu", true},
		{Limits{Projects: []string{"web"}, Pools: []string{"gpu"}}, "project:web", false},
		{Limits{Projects: []string{"web"}, Pools: []string{"gpu"}}, "project:api,gpu", false},
	} {
		b, _, _ := newBook()
		text, row := create(t, b, TokenSpec{Role: Worker, Name: "w", Limits: c.limits})
		by, err := b.Check(t.Context(), text)
		if err != nil || by.Role != Worker || by.Limited() == c.limits.empty() {
			t.Fatalf("%+v, %v", by, err)
		}
		if why := by.MayTake(strings.Split(c.labels, ",")); (why == "") != c.may {
			t.Errorf("limited to %s, a task with %s: %q", c.limits.Text(), c.labels, why)
		}
		if role, limits := row.Shown(); role != Worker || limits.Text() != c.limits.Text() {
			t.Errorf("shown as %s, %s", role, limits.Text())
		}
	}
}

// An older coordinator, which does not know limits, reads a row without them and writes it back.
func TestSecurityALimitedTokenIsGoodForNothingWhereItsLimitsAreNotKnown(t *testing.T) {
	b, rows, _ := newBook()
	text, row := create(t, b, TokenSpec{Role: Worker, Name: "w", Limits: Limits{Projects: []string{"web"}}})
	var older struct {
		Role Role `json:"role"`
	}
	kept, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(kept, &older); err != nil || older.Role == Worker || older.Role == Viewer {
		t.Errorf("an older coordinator takes it for a %s: %v", older.Role, err)
	}
	row.Limits = Limits{}
	if err := rows.Put(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	b.invalidateCache()
	by, err := b.Check(t.Context(), text)
	if err != nil || !by.Limited() || by.MayTake([]string{"project:web"}) == "" {
		t.Errorf("%+v, %v", by, err)
	}
}

func TestLimitsAreOfAWorkersTokenAndAreNames(t *testing.T) {
	b, _, _ := newBook()
	for _, n := range []TokenSpec{
		{Role: Viewer, Limits: Limits{Projects: []string{"web"}}},
		{Role: Admin, Limits: Limits{Pools: []string{"gpu"}}},
		{Role: Worker, Limits: Limits{Projects: []string{""}}},
		{Role: Worker, Limits: Limits{Pools: []string{"a,b"}}},
		{Role: Worker, Limits: Limits{Pools: []string{"@w"}}},
		{Role: Worker, Limits: Limits{Projects: []string{"a\nb"}}},
		{Role: limitedWorker},
	} {
		n.Name = "w"
		if _, row, err := b.Create(t.Context(), n); err == nil {
			t.Errorf("%+v was made of %+v", row, n)
		}
	}
}
