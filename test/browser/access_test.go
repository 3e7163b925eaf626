package browser

import (
	"testing"

	"gaffer/coordinator"
)

func TestTheFrameHasNoBarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.open("#/runs")
	p.Sees("Nothing has run yet.")
	p.Accessible("an empty list")
	w.beat(coordinator.Heartbeat{AgentID: "dev", Name: "dev", ClaudeStatus: coordinator.Idle})
	task := w.channelTask("dev", "Paint the door")
	w.question("dev", task.ID, "Which colour?", "red", "blue")
	p.Visit("#/")
	p.Sees("Which colour?")
	p.Accessible("a question")
	p.Press("?")
	p.Wait("the help is open", `document.querySelector('dialog[open]')`)
	p.Sees("Everywhere", "to the first question", "On this page")
	p.Accessible("the help")
}
