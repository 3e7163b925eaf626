// One line of a diff, in one column or two.
import { html, memo } from '../core/view.js';
import { count } from '../core/words.js';
import { wordDifferences, pieces } from './diff.js';
import { names } from './highlight.js';
import { visible } from './visible.js';
import { widest } from './layout.js';

/** Cache of the word differences of paired lines, by the old line. */
const compared = new WeakMap();

function marksOf(line) {
  if (!line.pair || line.op === ' ') return undefined;
  const [before, after] = line.op === '-' ? [line, line.pair] : [line.pair, line];
  if (!compared.has(before)) compared.set(before, wordDifferences(before.text, after.text));
  return compared.get(before)?.[line.op === '-' ? 'before' : 'after'];
}

function Text({ line, runs }) {
  const syntax = (line.op === '-' ? runs?.old?.[line.old - 1] : runs?.new?.[line.new - 1]) || undefined;
  const text = line.text.length > widest ? line.text.slice(0, widest) : line.text;
  const total = syntax ? syntax.reduce((n, value, i) => (i % 2 ? n : n + value), 0) : 0;
  const fits = syntax && total === line.text.length; // otherwise another version of the file was highlighted
  return html`<code class=${line.short ? 't short' : 't'}>${pieces(text, fits ? syntax : undefined, marksOf(line), names).map((p) => (p.mark ? html`<mark class=${p.class && `h-${p.class}`}>${visible(p.text)}</mark>` : p.class ? html`<span class=${`h-${p.class}`}>${visible(p.text)}</span>` : visible(p.text)))}${text.length < line.text.length && html`<em class="cut">… ${count(line.text.length - text.length)} more characters</em>`}${line.noEOL && html`<em class="cut" title="The file ends without a line end">⊘</em>`}</code>`;
}

const looks = { '+': 'ins', '-': 'del', ' ': '' };
const signs = { '+': '+', '-': '−', ' ': '' };

/** A line number. A click on it comments on the line. */
const Number = ({ side, n }) => html`<span class="n" data-side=${n ? side : undefined} data-n=${n || ''}></span>`;

/** @param {{line: import('./diff.js').Line, runs: any, at: boolean, marked: string}} props marked: 'old', 'new' or '' */
export const Line = memo(({ line, runs, at, marked }) => html`<div class=${`dl ${looks[line.op]}${at ? ' at' : ''}${marked ? ' marked' : ''}`} data-key=${line.key} aria-current=${at ? 'true' : undefined}>
  <${Number} side="old" n=${line.old} /><${Number} side="new" n=${line.new} /><span class="op">${signs[line.op]}</span><${Text} line=${line} runs=${runs} /></div>`);

function Half({ line, side, runs, marked }) {
  if (!line) return html`<div class="dl half none"></div>`;
  return html`<div class=${`dl half ${looks[line.op]}${marked === side ? ' marked' : ''}`}><${Number} side=${side} n=${side === 'old' ? line.old : line.new} /><span class="op">${signs[line.op]}</span><${Text} line=${line} runs=${runs} /></div>`;
}

/** @param {{pair: import('./diff.js').Pair, runs: any, at: boolean, side: string, marked: string}} props */
export const Both = memo(({ pair, runs, at, side, marked }) => html`<div class=${`pair${at ? ` at ${side}` : ''}`} data-key=${pair.key} aria-current=${at ? 'true' : undefined}>
  <${Half} line=${pair.left} side="old" runs=${runs} marked=${marked} /><${Half} line=${pair.right} side="new" runs=${runs} marked=${marked} /></div>`);
