package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// foundBy returns what a search finds, as "run/task in field" or "run".
func (f *fixture) foundBy(text string) string {
	f.t.Helper()
	found := must2(f.as[credential.Viewer].Runs.Search(f.ctx, text, 0))(f)
	var names []string
	for _, hit := range found.Hits {
		name := hit.RunName
		if hit.Task != "" {
			name += "/" + hit.Task + " in " + string(hit.In)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func TestASearchFindsRunsTasksPromptsAndResults(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.submit(plan.Plan{Name: "shop", Tasks: []plan.Task{
			{ID: "api", Name: "The interface", Prompt: "Add a cart.\nThen <escape> the \"quotes\" & 100% of the rest_of_it."},
			{ID: "docs", Prompt: "Write it down", After: []string{"api"}},
		}})
		a := f.claim()
		f.finish(a, engine.Finish{Ending: fleet.Ending{Summary: "The Größe of the cart is limited now"}})
		f.pass(time.Second)
		f.submit(plan.Plan{Name: "site", Tasks: []plan.Task{{ID: "api-tests", Prompt: "Test it", Env: map[string]secret.Value{"KEY": secret.Text("cart-secret")}}}})
		for text, want := range map[string]string{
			"SHOP":              "shop",
			"api":               "site/api-tests in name, shop/api in name",
			"shop api":          "shop/api in name",
			"interface":         "shop/api in name",
			"cart":              "shop/api in prompt",
			"cart then":         "shop/api in prompt",
			"<ESCAPE>":          "shop/api in prompt",
			`"quotes"`:          "shop/api in prompt",
			"100%":              "shop/api in prompt",
			"rest_of":           "shop/api in prompt",
			"restXof":           "",
			"grösse":            "",
			"GRÖßE":             "shop/api in result",
			"limited interface": "shop/api in result",
			"cart-secret":       "", // values of variables are not searched
			"status":            "", // names of columns are not searched either
			"  ":                "",
		} {
			if got := f.foundBy(text); got != want {
				t.Errorf("%q finds %q, want %q", text, got, want)
			}
		}
		hit := must2(f.Runs.Search(f.ctx, "größe", 0))(f).Hits[0]
		if hit.Excerpt != "The Größe of the cart is limited now" || hit.Status != fleet.Complete || hit.Name != "The interface" || hit.Project != "web" || hit.Created.IsZero() {
			t.Errorf("the hit is %+v", hit)
		}
	})
}

func TestASearchReturnsTheLatestFirstAndNoMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		for n := range 3 {
			var p plan.Plan
			for i := range 20 {
				p.Tasks = append(p.Tasks, plan.Task{ID: fmt.Sprintf("step-%02d", i), Prompt: "walk"})
			}
			p.Name = fmt.Sprint("tour", n)
			f.submit(p)
			f.pass(time.Second)
		}
		found := must2(f.Runs.Search(f.ctx, "step", 25))(f)
		if len(found.Hits) != 25 || found.Hits[0].RunName != "tour2" || found.Hits[24].RunName != "tour1" || found.Partial {
			t.Errorf("found %d: %+v", len(found.Hits), found)
		}
		if found := must2(f.Runs.Search(f.ctx, "walk", 25))(f); len(found.Hits) != 25 || found.Hits[0].RunName != "tour2" || found.Hits[0].In != fleet.InPrompt {
			t.Errorf("found %d: %+v", len(found.Hits), found)
		}
	})
}

func TestASearchDoesNotFindTheTasksOfChannels(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	channel := must2(f.Channels.Add(f.ctx, "build", ""))(f)
	must2(f.Tasks.Add(f.ctx, coordinator.NewTask{ChannelID: channel.ID, Title: "Paint the door"}))(f)
	if got := f.foundBy("paint") + f.foundBy("build"); got != "" {
		t.Errorf("found %q", got)
	}
}
