package dashboard

import (
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Cell returns a script for the review page. The script finds the element that shows the number of
// line n of a file. side says which version of the file is meant, old or new.
func Cell(path, side string, n int) string {
	return fmt.Sprintf(`document.querySelector('[data-path=%q]')?.querySelector('.n[data-side=%q][data-n="%d"]')`, path, side, n)
}

// ClickLine clicks the number of line n in the new version of a file. That opens a form for a
// comment.
func (p *Page) ClickLine(path string, n int) {
	p.t.Helper()
	p.Wait("the line is there", Cell(path, "new", n))
	p.Act(`const cell = ` + Cell(path, "new", n) + `;
cell.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, buttons: 1 })); cell.dispatchEvent(new PointerEvent('pointerup', { bubbles: true }))`)
}

// Write types text into the open comment form and presses Ctrl+Enter to save it.
func (p *Page) Write(text string) {
	p.t.Helper()
	p.Wait("a form is open", `document.activeElement.matches('.editor textarea')`)
	p.Do(chromedp.KeyEvent(text))
	p.Do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
}

// Comment is like Write, but also waits until the comment is saved.
func (p *Page) Comment(text string) {
	p.t.Helper()
	p.Write(text)
	p.Wait("it is saved", `!document.querySelector('.editor')`)
}
