package dashboard

import (
	_ "embed"
	"fmt"
	"strings"
)

// axe is the JavaScript source of axe-core 4.14.0, which examines a page for accessibility
// problems. The licence of axe-core is the Mozilla Public License 2.0 (axe/LICENSE.txt). Only test
// programs contain axe-core.
//
//go:embed axe/axe.min.js
var axe string

// finding describes an accessibility rule that the page violates. The script axe-core reports it.
type finding struct {
	Rule   string   `json:"rule"`
	Impact string   `json:"impact"`
	Help   string   `json:"help"`
	Nodes  []string `json:"nodes"`
}

// examine is a script that checks the page with axe-core. It returns the serious and critical
// findings.
const examine = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .filter((v) => v.impact === 'serious' || v.impact === 'critical')
  .map((v) => ({ rule: v.id, impact: v.impact, help: v.help,
    nodes: v.nodes.map((n) => n.target.join(' ') + '\n      ' + n.html.slice(0, 200) + '\n      ' + [...n.any, ...n.all, ...n.none].map((c) => c.message).join('; ')) })))`

// Accessible checks the accessibility of the page in its current state with axe-core. The test
// fails if there is a serious or critical finding. The page is checked in light and in dark
// colours. The parameter name is the page's name in the failure message.
func (p *Page) Accessible(name string) {
	p.t.Helper()
	defer p.Dark(p.dark)
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		if !p.Holds("window.axe") {
			// Load axe-core. The page's content security policy does not prevent this, because
			// scripts of the DevTools protocol are exempt.
			p.Act(axe)
		}
		for _, f := range Eval[[]finding](p, examine) {
			p.t.Errorf("%s is not accessible (dark: %t): %s (%s, %s)\n    %s", name, dark, f.Help, f.Rule, f.Impact, strings.Join(f.Nodes[:min(5, len(f.Nodes))], "\n    ")+more(len(f.Nodes)-5))
		}
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("\n    and %d more", n)
}
