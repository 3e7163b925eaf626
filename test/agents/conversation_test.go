package agents

import "testing"

// The page must understand what the real programs print: calls of tools, questions, messages.
func TestTheConversationOfAnAgentIsShownInTheBrowser(t *testing.T) {
	each(t, func(p *environment, agent string) {
		run, _ := p.talk(agent, "")
		_, address := p.serve("127.0.0.1:0")
		page := p.page(address)
		page.Visit("#/runs/" + p.status().ID + "/tasks/work")
		tool := `[...document.querySelectorAll('.b-tool')].find((b) => b.innerText.includes('begun'))`
		page.Wait("the tool runs", tool+`?.querySelector('.k-running')`)
		page.Wait("the prompt is shown once", `[...document.querySelectorAll('.dialogue .who')].filter((w) => w.innerText === 'Prompt').length === 1`)
		if agent == "claude" {
			page.Wait("the answered question", `[...document.querySelectorAll('.inquiry')].some((q) => q.innerText.includes('Bash: ') && q.innerText.includes('answered allow by'))`)
		}

		p.send("mind the gap")
		page.Sees("mind the gap", "waits until the agent takes it")
		p.isWritten()
		p.write("go", "")
		if o := run.wait(); o.code != 0 {
			p.Errorf("exit %d\n%s", o.code, o.errors)
		}
		page.Wait("the tool has returned", tool+` && !`+tool+`.querySelector('.k-running, .k-failed')`)
		page.Wait("the message is where it was delivered", `((all) => { const at = (text) => all.findIndex((b) => b.includes(text)); return at('begun') >= 0 && at('begun') < at('mind the gap') && at('mind the gap') < at('second'); })([...document.querySelectorAll('.dialogue .block')].map((b) => b.innerText))`)
		page.Wait("it is marked as delivered", `[...document.querySelectorAll('.b-user')].some((b) => b.innerText.includes('mind the gap') && b.innerText.includes('✓ delivered'))`)
		page.Wait("the attempt has ended", `document.querySelector('.dialogue .tail .k-complete')`)
		page.Wait("no line is left raw", `![...document.querySelectorAll('.b-text')].some((b) => b.innerText.includes('{"'))`)
		page.Shot("agents-conversation-" + agent)
	})
}
