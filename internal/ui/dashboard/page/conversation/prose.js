// Draws Markdown and code of agents.
import { html, memo, useEffect, useState } from '../core/view.js';
import { attempt } from '../parts/dialog.js';
import { Highlighter, names } from '../review/highlight.js';
import { pieces } from '../review/diff.js';
import { visible } from '../review/visible.js';
import { parse } from './markdown.js';

/** A text with the occurrences of another one marked. @param {string} text @param {string} find in lower case */
export function marked(text, find) {
  if (!find) return text;
  const lower = text.toLowerCase();
  const out = [];
  let at = 0;
  for (let hit = lower.indexOf(find); hit >= 0 && out.length < 2000; hit = lower.indexOf(find, at)) {
    if (hit > at) out.push(text.slice(at, hit));
    at = hit + find.length;
    out.push(html`<mark>${text.slice(hit, at)}</mark>`);
  }
  if (!out.length) return text;
  out.push(text.slice(at));
  return out;
}

/** @param {{text: string, find: string, colours: Highlighter}} props */
export const Markdown = memo(({ text, find, colours }) => html`<div class="prose">${parse(text).map((n) => node(n, { find, colours }))}</div>`);

function node(n, with_) {
  const inside = (list) => list.map((one) => inlineNode(one, with_.find));
  switch (n.kind) {
    case 'p': return html`<p>${inside(n.children)}</p>`;
    case 'h': return html`<p class=${`heading h${n.level}`} role="heading" aria-level=${Math.min(6, n.level + 2)}>${inside(n.children)}</p>`;
    case 'hr': return html`<hr />`;
    case 'pre': return html`<${Code} text=${n.text} language=${n.language} ...${with_} />`;
    case 'quote': return html`<blockquote>${n.children.map((c) => node(c, with_))}</blockquote>`;
    case 'list': {
      const items = n.items.map((item) => html`<li>${item.length === 1 && item[0].kind === 'p' ? inside(item[0].children) : item.map((c) => node(c, with_))}</li>`);
      return n.ordered ? html`<ol start=${n.first}>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case 'table': return html`<div class="cells" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${n.head.map((c) => html`<th>${inside(c)}</th>`)}</tr></thead><tbody>${n.rows.map((r) => html`<tr>${r.map((c) => html`<td>${inside(c)}</td>`)}</tr>`)}</tbody></table></div>`;
  }
  return null;
}

function inlineNode(n, find) {
  switch (n.kind) {
    case 'text': return marked(n.text, find);
    case 'code': return html`<code>${find ? marked(n.text, find) : visible(n.text)}</code>`;
    case 'strong': return html`<strong>${n.children.map((c) => inlineNode(c, find))}</strong>`;
    case 'em': return html`<em>${n.children.map((c) => inlineNode(c, find))}</em>`;
    case 'del': return html`<del>${n.children.map((c) => inlineNode(c, find))}</del>`;
    case 'link': {
      const label = n.children.map((c) => inlineNode(c, find));
      return n.children.length === 1 && n.children[0].text === n.to ? html`<code>${n.to}</code>` : html`<span class="target">${label} (<code>${marked(n.to, find)}</code>)</span>`;
    }
  }
  return null;
}

/** A block of code. @param {{text: string, language?: string, find: string, colours: Highlighter}} props */
export function Code({ text, language, find, colours }) {
  const runs = useColours(colours, language ? `x.${language}` : '', text);
  const lines = text.split('\n');
  const copy = () => attempt('The code is copied', () => navigator.clipboard.writeText(text));
  return html`<div class="code"><button class="quiet" tabindex="-1" onClick=${copy}>Copy</button><pre tabindex="0"><code>${lines.map((line, i) => [find ? marked(line, find) : pieces(line, fitting(runs?.[i], line), undefined, names).map((p) => (p.class ? html`<span class=${`h-${p.class}`}>${visible(p.text)}</span>` : visible(p.text))), i < lines.length - 1 && '\n'])}</code></pre></div>`;
}

const fitting = (runs, line) => (runs && runs.reduce((n, value, i) => (i % 2 ? n : n + value), 0) === line.length ? runs : undefined);

/** The syntax of each line of a text, once it is known. @param {Highlighter} colours @param {string} path @param {string} text */
function useColours(colours, path, text) {
  const [runs, setRuns] = useState(null);
  useEffect(() => {
    let over = false;
    setRuns(null);
    if (path) colours?.add(path, [text], () => !over, ([lines]) => { if (!over) setRuns(lines); });
    return () => { over = true; };
  }, [colours, path, text]);
  return runs;
}

/** The syntax of both sides of an edit. @param {Highlighter} colours @param {string} path @param {string[]} texts */
export function useBoth(colours, path, texts) {
  const [runs, setRuns] = useState(null);
  const key = texts.join('\0');
  useEffect(() => {
    let over = false;
    setRuns(null);
    colours?.add(path, texts, () => !over, (lines) => { if (!over) setRuns(lines); });
    return () => { over = true; };
  }, [colours, path, key]);
  return runs;
}
