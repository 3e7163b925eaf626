// A text editor with line numbers. Findings are marked at their lines.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { many } from '../core/words.js';

const height = 20; // of a line in pixels, as in new.css

/**
 * @param {{value: string, change: (text: string) => void, findings: any[], label: string, line?: number, seen?: () => void, placeholder?: string}} props
 * line: the line to go to; seen is called when the editor is there
 */
export function Editor({ value, change, findings, label, line, seen, placeholder }) {
  const area = useRef(null);
  const gutter = useRef(null);
  const marks = useRef(null);
  const [at, setAt] = useState(1);
  const count = useMemo(() => lines(value), [value]);
  const numbers = useMemo(() => Array.from({ length: count }, (_, i) => i + 1).join('\n'), [count]);
  const byLine = useMemo(() => group(findings, count), [findings, count]);

  const follow = () => {
    const { scrollTop, scrollLeft } = area.current;
    gutter.current.style.transform = `translateY(${-scrollTop}px)`;
    marks.current.style.transform = `translate(${-scrollLeft}px, ${-scrollTop}px)`;
  };
  useLayoutEffect(follow, [value]);
  useEffect(() => {
    if (!line) return;
    show(area.current, line);
    setAt(line);
    seen?.();
  }, [line]);

  const place = () => setAt(lines(area.current.value.slice(0, area.current.selectionStart)));
  const key = (e) => {
    if (e.key !== 'Enter' || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey || e.isComposing) return;
    const indent = indentAfter(area.current.value.slice(0, area.current.selectionStart));
    if (!indent) return;
    e.preventDefault();
    insert(area.current, `\n${indent}`);
  };
  const here = byLine.get(at);
  return html`<div class="editor">
    <div class="editor-text">
      <div class="gutter" aria-hidden="true"><div ref=${gutter}><pre>${numbers}</pre>
        ${[...byLine].map(([n, list]) => html`<span key=${n} class=${`mark ${list[0].severity}`} style=${{ top: `${(n - 1) * height}px` }} title=${list.map((f) => f.text).join('\n')}>${sign(list[0])}</span>`)}</div></div>
      <div class="under" aria-hidden="true"><div ref=${marks}>${[...byLine].map(([n, list]) => html`<span key=${n} class=${`stripe ${list[0].severity}`} style=${{ top: `${(n - 1) * height}px` }}></span>`)}</div></div>
      <textarea ref=${area} aria-label=${label} aria-describedby="editor-here" spellcheck="false" autocomplete="off" autocapitalize="off" wrap="off" placeholder=${placeholder} value=${value}
        onInput=${(e) => { change(e.currentTarget.value); place(); }} onScroll=${follow} onKeyDown=${key} onKeyUp=${place} onClick=${place}></textarea>
    </div>
    <p class="editor-foot"><span class="number">Line ${at} of ${count}</span><span id="editor-here">${here && html`<span class=${`at ${here[0].severity}`}>${sign(here[0])} ${here[0].text}${here.length > 1 ? ` (and ${many(here.length - 1, 'more finding')})` : ''}</span>`}</span></p>
  </div>`;
}

/** The sign of a finding. @param {{severity: string}} finding */
export const sign = ({ severity }) => ({ problem: '✗', warning: '!', missing: '⊘' })[severity] ?? '·';

/** The number of lines of a text. @param {string} text */
function lines(text) {
  let n = 1;
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) n++;
  return n;
}

// group returns the findings of the text by line, problems first.
function group(findings, count) {
  const byLine = new Map();
  for (const f of findings) {
    if (!f.line || f.file) continue;
    const n = Math.min(f.line, count);
    byLine.set(n, [...byLine.get(n) ?? [], f].sort((a, b) => rank(a) - rank(b)));
  }
  return byLine;
}

const rank = (f) => ['problem', 'missing', 'warning'].indexOf(f.severity);

// show moves the caret to the start of a line and scrolls it into view.
function show(area, line) {
  let from = 0;
  for (let n = 1; n < line; n++) {
    const next = area.value.indexOf('\n', from);
    if (next < 0) break;
    from = next + 1;
  }
  area.focus({ preventScroll: false });
  area.setSelectionRange(from, from);
  area.scrollTop = Math.max(0, (line - 1) * height - area.clientHeight / 3);
  area.scrollLeft = 0;
}

// indentAfter returns the white space with which a line after the text begins: that of its
// last line, and the width of "- " for the keys of a list item.
function indentAfter(before) {
  const last = before.slice(before.lastIndexOf('\n') + 1);
  const [, spaces, dash] = /^( *)(- )?/.exec(last);
  const deeper = /:\s*[|>]?[-+]?\s*$/.test(last) ? '  ' : '';
  return spaces + (dash && last.trim() !== '-' ? '  ' : '') + deeper;
}

// insert replaces the selection as if the text were typed, so that it can be undone.
function insert(area, text) {
  if (!document.execCommand('insertText', false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
    area.dispatchEvent(new Event('input', { bubbles: true }));
  }
}
