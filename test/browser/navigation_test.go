package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/coordinator"
)

// shopPlan has tasks that can be found by their ids, names and prompts. No worker runs them.
const shopPlan = `name: shop
defaults: {agent: fake}
tasks:
  - {id: cart, name: Fill the cart, prompt: "Write the page of the cart, with a voucher."}
  - {id: payments, name: Take payments, prompt: "Ask the provider."}
`

// palette opens the command palette and types a query into it.
func (p *page) palette(query string) {
	p.Helper()
	p.Do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.Wait("the palette is open", `document.activeElement?.closest('.palette')`)
	p.Do(chromedp.KeyEvent(query))
}

// chosen is a script that returns the text of the palette's selected entry.
const chosen = `document.querySelector('.palette [aria-selected=true]')?.innerText.replace(/\s+/g, ' ')`

func TestThePaletteFindsRunsTasksAndActionsByAFewLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.submit(shopPlan)
	p := w.open("#/records")
	p.Sees("live")

	p.palette("shp") // letters of "shop"
	p.Wait("the run is found", chosen+`?.startsWith('Run shop')`)
	p.Press(enter)
	p.at("#/runs/" + run)
	p.Wait("the palette is closed", `!document.querySelector('.palette')`)

	p.palette("shop paym")
	p.Wait("the task is found", chosen+`?.startsWith('Task payments Take payments shop')`)
	p.Accessible("the palette")
	p.Shot("palette")
	p.Press(enter)
	p.at("#/runs/" + run + "/tasks/payments")

	p.palette("dark")
	p.Wait("an action is found", chosen+`?.startsWith('Action Dark colours')`)
	p.Press(enter)
	p.Wait("the page is dark", `document.documentElement.dataset.theme === 'dark'`)

	p.palette("")
	p.Wait("what was used last is on top", `[...document.querySelectorAll('.palette [role=option] .title')].slice(0, 3).map((e) => e.innerText).join() === 'Dark colours,payments Take payments,shop'`)
	p.Press(kb.ArrowDown, enter)
	p.at("#/runs/" + run + "/tasks/payments")

	p.palette("zzzz")
	p.Wait("what is not found can be searched for", chosen+`?.includes('Search for “zzzz”')`)
	p.Press(kb.Escape)
	p.Wait("Escape closes the palette", `!document.querySelector('.palette')`)
	p.at("#/runs/" + run + "/tasks/payments")
}

func TestASearchShowsWhereTheWordsAreAndOpensWithTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.submit(shopPlan)
	p := w.open("#/search")
	p.Wait("the words can be typed", `document.activeElement.matches('input[type=search]')`)
	p.Do(chromedp.KeyEvent("page voucher"))
	p.Sees("1 result")
	p.Wait("the words are marked", `[...document.querySelectorAll('.excerpt mark')].map((e) => e.innerText).join() === 'page,voucher'`)
	p.at("#/search?q=page+voucher")
	p.Accessible("the search")
	p.Shot("search")
	p.Press(kb.Escape, kb.Escape) // clears the filter and leaves it
	p.Sees("Type words of a run")
	p.Visit("#/search?q=zzzz")
	p.Sees("Nothing contains all of these words.")

	p.Visit("#/search?q=shop+cart")
	p.Sees("1 result")
	p.Press(kb.ArrowDown)
	p.Wait("the result has the focus", `document.activeElement.closest('.hits')`)
	p.Press(enter)
	p.at("#/runs/" + run + "/tasks/cart")
}

func TestTheHeaderOfAPhoneIsOneRowWithTheNavigationBelow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	task := w.channelTask("dev", "Paint the door")
	w.question("dev", task.ID, "Which colour?", "red", "blue")
	p := w.open("#/")
	p.Size(390, 844)
	p.Sees("Which colour?")
	p.fits("the fleet on a phone")
	if height := eval[int](p, `document.querySelector('.top').offsetHeight`); height > 52 {
		t.Errorf("the header is %d pixels high", height)
	}
	if !p.Holds(`[...document.querySelectorAll('.bottom > a, .bottom > button')].every((e) => e.offsetHeight >= 44 && Math.abs(e.getBoundingClientRect().bottom - innerHeight) < 2)`) {
		t.Error("the navigation is not at the bottom, or its buttons are too small for a finger")
	}
	p.Accessible("a phone")
	p.Click("Runs")
	p.at("#/runs")
	p.Act(`scrollTo(0, document.body.scrollHeight)`)
	p.Click("Settings")
	p.Wait("the menu is within the screen", `(() => { const m = document.querySelector('.menu:popover-open')?.getBoundingClientRect(); return m && m.left >= 0 && m.right <= innerWidth && m.bottom <= innerHeight; })()`)
	p.Press(kb.ArrowDown)
	p.Wait("arrows move in the menu", `document.activeElement.innerText.includes('Light colours')`)
	p.Press(kb.Escape)
	p.Wait("the menu is closed and its button has the focus", `!document.querySelector(':popover-open') && document.activeElement.getAttribute('aria-label') === 'Settings'`)
	p.at("#/runs")
}

// recordNotifications lets the page believe that the user looks elsewhere. It collects the page's
// notifications instead of showing them, and its announcements.
const recordNotifications = `
window.notes = [];
window.said = [];
new MutationObserver(() => said.push(document.getElementById('announcements').innerText.trim())).observe(document.getElementById('announcements'), { childList: true, subtree: true, characterData: true });
window.Notification = class { constructor(title, how) { window.notes.push(title + ': ' + how.body); } static permission = 'granted'; static requestPermission = async () => 'granted'; close() {} };
document.hasFocus = () => false`

func TestQuestionsAndEndsOfRunsAreAnnouncedAndNotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	task := w.channelTask("dev", "Paint the door")
	run := w.submit(shopPlan)
	p := w.open("#/runs")
	p.Sees("shop")
	p.Act(recordNotifications)
	w.question("dev", task.ID, "Which colour?", "red", "blue")
	p.Wait("the question is announced", `said.includes('Paint the door asks. Which colour?')`)
	if n := eval[int](p, `notes.length`); n != 0 {
		t.Errorf("%d notifications though they are off", n)
	}
	p.Click("Settings")
	p.Click("Notifications")
	p.Sees("This browser notifies you")
	w.post("/v1/runs/"+run+"/cancel", map[string]string{"why": "test"})
	p.Wait("the end of the run is announced", `said.some((text) => text.startsWith('shop: cancelled'))`)
	p.Wait("there is a notification", `notes.join() === 'shop: cancelled: 0 of 2 tasks complete'`)

	// Browsers of phones have notifications of service workers only.
	p.Act(`notes.length = 0;
window.Notification = class { constructor() { throw new TypeError('Illegal constructor'); } static permission = 'granted'; };
navigator.serviceWorker.register = async (url) => ({ showNotification: async (title, how) => notes.push((await fetch(url)).status + ' ' + title + ': ' + how.body + ' ' + how.data.href) })`)
	w.question("dev", task.ID, "Which brush?", "small", "large")
	p.Wait("a service worker notifies", `notes.join() === '200 Paint the door asks: Which brush? #/'`)
}
