package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestEscapeGoesToThePageAboveAndArrowsMoveInLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.submit(shopPlan)
	second := w.submit(shopPlan)
	p := w.open("#/runs/" + first + "/tasks/cart")
	p.Sees("Fill the cart")
	p.Wait("the title names the task and the run", `document.title === 'Fill the cart · shop · gaffer'`)
	p.Press(kb.Escape)
	p.at("#/runs/" + first)
	p.Sees("payments")
	p.Press("/")
	p.Wait("the filter has the focus", `document.activeElement.matches('[data-filter]')`)
	p.Do(chromedp.KeyEvent("cart"))
	p.SeesNot("payments")
	p.Press(kb.Escape) // clears the filter
	p.Sees("payments")
	p.Press(kb.Escape, kb.Escape) // leaves the filter, then the page
	p.at("#/runs")
	p.Wait("the title names the page", `document.title === 'Runs · gaffer'`)

	focused := func(run string) {
		p.Helper()
		p.Wait("the run has the focus", fmt.Sprintf(`document.activeElement.getAttribute('href') === %s`, quoted("#/runs/"+run)))
	}
	p.Wait("both runs are listed", `document.querySelectorAll('.runlist li').length === 2`)
	p.Press(kb.ArrowDown)
	focused(second) // the latest run is first
	p.Press(kb.ArrowDown)
	focused(first)
	p.Press(kb.Home)
	focused(second)
	p.Press(kb.End, enter)
	p.at("#/runs/" + first)
	p.Press(kb.Escape)
	p.at("#/runs")
	focused(first) // where the user came from
	p.Press(kb.Escape)
	p.at("#/")
}

// Escape may come so soon after Enter that the page still shows the list.
func TestEscapeRightAfterARunWasOpenedGoesBackToTheRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.submit(shopPlan)
	p := w.open("#/runs")
	p.Act(fmt.Sprintf(`location.hash = %s; dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))`, quoted("#/runs/"+run)))
	p.at("#/runs")
	p.Wait("the title names the page", `document.title === 'Runs · gaffer'`)
}
