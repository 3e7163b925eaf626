package browser

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"gaffer/coordinator"
)

// badges returns a script that returns the two badges in a worker's row: the status of the worker
// and of its agent.
func badges(name string) string {
	return fmt.Sprintf(`(() => { const row = [...document.querySelectorAll('.workers tbody tr')].find((r) => r.querySelector('th').innerText.startsWith(%s)); return row && [...row.querySelectorAll('.status')].map((s) => s.lastChild.textContent).join(' '); })()`, quoted(name))
}

func (p *page) seesBadges(name, want string) {
	p.Helper()
	p.Wait(name+" is "+want, badges(name)+" === "+quoted(want))
}

// channelTask creates a task in a new channel and lets an agent claim it.
func (w *world) channelTask(agent, title string) (task coordinator.Task) {
	w.Helper()
	var channel struct{ Channel coordinator.Channel }
	w.must(json.Unmarshal(w.post("/v1/channels", map[string]string{"name": "build"}), &channel))
	w.post("/v1/tasks", map[string]any{"channel_id": channel.Channel.ID, "title": title})
	var claimed struct{ Task coordinator.Task }
	w.must(json.Unmarshal(w.post("/v1/tasks/claim", map[string]string{"agent_id": agent, "channel": "build"}), &claimed))
	return claimed.Task
}

func TestTheProtocolsFourScenariosAreSeenAsBadges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/workers")
	p.Sees("No worker has been heard of.")

	// First, a worker that is online but has no task.
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	crashed := time.Now()
	w.beatOnce(coordinator.Heartbeat{AgentID: "old", Name: "old", ClaudeStatus: coordinator.Running})
	p.seesBadges("dev", "online idle")

	// Then the worker claims a task. That alone must not change its status.
	task := w.channelTask("dev", "Paint the door")
	start := p.another("#/")
	start.Click("Tasks of channels 1 open")
	start.Sees("Paint the door")
	p.seesBadges("dev", "online idle")
	w.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
	p.seesBadges("dev", "online running")

	// Then the worker waits for the user, who answers on the page.
	w.post("/v1/events", coordinator.NewEvent{
		AgentID: "dev", TaskID: task.ID, Type: coordinator.TaskPrompt,
		Payload: json.RawMessage(`{"kind":"choice","question":"Which colour?","options":["red","blue"],"input_mode":"number"}`),
	})
	w.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Waiting, CurrentTaskID: task.ID})
	p.seesBadges("dev", "online waiting")
	start.Sees("One agent waits for you", "Which colour?")
	start.Wait("the title says so", `document.title === '(1) Fleet · gaffer'`)
	start.Shot("fleet-question")
	start.Click("blue")
	var input struct{ Input coordinator.Input }
	until(w, "the answer", func() (string, bool) {
		text, ok := w.try("/v1/tasks/inputs/claim", map[string]string{"task_id": task.ID, "agent_id": "dev"})
		return string(text), ok && json.Unmarshal(text, &input) == nil
	})
	if input.Input.Text != "2" || !input.Input.SendEnter {
		t.Errorf("the agent was given %+v", input.Input)
	}
	w.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
	p.seesBadges("dev", "online running")
	start.SeesNot("Which colour?")

	// Then the worker crashes. After 30 seconds it must be offline and keep its last status.
	for time.Since(crashed) < coordinator.OfflineAfter-5*time.Second {
		w.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
		if !p.Holds(badges("old")+" === 'online running'") && time.Since(crashed) < coordinator.OfflineAfter-10*time.Second {
			t.Fatalf("old is %s after %s", eval[string](p, badges("old")), time.Since(crashed))
		}
		time.Sleep(2 * time.Second) // the interval of heartbeats
	}
	p.seesBadges("old", "offline running")
	if late := time.Since(crashed); late < coordinator.OfflineAfter {
		t.Errorf("old was offline after %s", late)
	}
	p.seesBadges("dev", "online running")
	p.Shot("fleet-offline")
}

// twoPictures loads a copy of the page's fleet module. It requests the whole fleet while another
// request is pending, and again after a failed request.
const twoPictures = `(async () => {
  const [Shared, ask, later] = [SharedWorker, fetch, setTimeout];
  let port;
  let asked = [];
  window.SharedWorker = class { constructor() { this.port = port = { postMessage() {} }; } };
  window.fetch = (url) => new Promise((give, fail) => asked.push({ fail, give: (body) => give(Response.json(url === '/v1/self' ? { self: {} } : body)) }));
  window.setTimeout = (f, ms) => later(f, ms === 2000 ? 20 : ms);
  const rest = () => new Promise((done) => later(done, 100));
  const hello = () => { asked = []; port.onmessage({ data: { kind: 'hello', gap: true, data: '{}' } }); return asked; };
  try {
    const fleet = await import('/assets/core/fleet.js?twice');
    fleet.begin();
    const [first, second] = [hello(), hello()];
    for (const a of second) a.give({ agents: [{ id: 'new' }] });
    await rest();
    for (const a of first) a.give({ agents: [{ id: 'old' }] });
    await rest();
    const rows = [...fleet.agents.rows.keys()].join();

    for (const a of hello()) a.fail(new Error('away'));
    await new Promise((done) => later(done, 0));
    const last = hello();
    await rest();
    return rows + ', asked ' + (asked === last ? last.length : 0);
  } finally {
    Object.assign(window, { SharedWorker: Shared, fetch: ask, setTimeout: later });
  }
})()`

func TestOfTwoPicturesTheNewerOneIsShown(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	if got, want := eval[string](p, twoPictures), "new, asked 8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// hiddenSoon changes a table and hides the page before the next frame, which would show the change.
const hiddenSoon = `import('/assets/core/table.js?hidden').then(async ({ Table }) => {
  const frame = requestAnimationFrame;
  window.requestAnimationFrame = () => 0;
  const table = new Table();
  table.put('a', {});
  window.requestAnimationFrame = frame;
  Object.defineProperty(document, 'hidden', { configurable: true, value: true });
  document.dispatchEvent(new Event('visibilitychange'));
  delete document.hidden;
  await new Promise((done) => setTimeout(done, 1500));
  return table.version.value;
})`

func TestAChangeIsNoticedThoughThePageIsHiddenBeforeItIsShown(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	if n := eval[int](p, hiddenSoon); n != 1 {
		t.Errorf("the table is of version %d", n)
	}
}
