// Bar and column charts as SVG, each with a table of its numbers.
import { html } from '../core/view.js';
import { count, many } from '../core/words.js';
import { ended, nice, num, parts, rate, withGaps } from './numbers.js';

/** A chart with its description for screen readers and its numbers as a table. @param {{title: string, note?: string, said: string, head: string[], rows: any[][], children: any}} props */
export function Chart({ title, note, said, head, rows, children }) {
  return html`<figure class="panel chart"><figcaption><h3>${title}</h3>${note && html`<span class="faint">${note}</span>`}</figcaption>
    <div role="img" aria-label=${said}>${children}</div>
    <details><summary>As a table</summary><div class="wide"><table><caption class="hidden">${title}</caption><thead><tr>${head.map((h, i) => html`<th key=${i} scope="col">${h}</th>`)}</tr></thead>
      <tbody>${rows.map((r, i) => html`<tr key=${i}>${r.map((c, j) => (j ? html`<td key=${j}>${c}</td>` : html`<th key=${j} scope="row">${c}</th>`))}</tr>`)}</tbody></table></div></details></figure>`;
}

/** The hatching for failures, which distinguishes them without colour. The page has it once. */
export const Patterns = () => html`<svg class="hidden" aria-hidden="true" width="0" height="0"><defs>
  <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="f-failed" width="6" height="6" /><rect class="f-line" width="2" height="6" /></pattern>
  <pattern id="dots" width="5" height="5" patternUnits="userSpaceOnUse"><rect class="f-timeout" width="5" height="5" /><circle class="f-dot" cx="2.5" cy="2.5" r="1.2" /></pattern></defs></svg>`;

/**
 * Horizontal bars, each with one or several parts.
 * @param {{rows: {name: string, value: string, href?: string, parts: {kind: string, word: string, n: number}[]}[], most: number}} props
 */
export function Bars({ rows, most }) {
  return html`<div class="hbars">${rows.map((r, i) => html`<div key=${i} class="hbar"><span class="name" title=${r.name}>${r.name}</span><${Bar} parts=${r.parts} most=${most} /><span class="value">${r.value}</span></div>`)}</div>`;
}

function Bar({ parts: list, most }) {
  let at = 0;
  return html`<svg width="100%" height="14" aria-hidden="true">${list.map((p) => {
    const x = 100 * at / most;
    at += p.n;
    return html`<rect key=${p.kind} class=${`o-${p.kind}`} x=${`${x}%`} width=${`${100 * p.n / most}%`} height="14" rx="1"><title>${`${count(p.n)} ${p.word}`}</title></rect>`;
  })}</svg>`;
}

/** The meaning of the colours. @param {{of: {kind: string, word: string, n: number}[]}} props */
export const Legend = ({ of }) => html`<p class="legend">${of.map((p) => html`<span key=${p.kind}><svg width="12" height="12" aria-hidden="true"><rect class=${`o-${p.kind}`} width="12" height="12" rx="2" /></svg> ${count(p.n)} ${p.word}</span>`)}</p>`;

const tall = 130;
const fewest = 6; // minimum number of weeks in the width, so that a single column is not too wide

/** The runs of each week by outcome. @param {{weeks: any[]}} props */
export function Weeks({ weeks }) {
  const list = withGaps(weeks);
  const most = nice(Math.max(...weeks.map((w) => num(w.count))));
  const wide = 100 / Math.max(fewest, list.length);
  const middle = (i) => `${(i + 0.5) * wide}%`;
  return html`<svg class="weeks" width="100%" height=${tall + 24} aria-hidden="true">
    ${[0, 0.5, 1].map((part) => html`<line key=${part} class="grid" x1="0" x2="100%" y1=${tall * (1 - part) + 2} y2=${tall * (1 - part) + 2} />`)}
    ${list.map((w, i) => w && html`<g key=${w.week}><title>${`${w.week}: ${many(num(w.count), 'run')}, ${rate(w)} done`}</title><${Column} w=${w} x=${(i + 0.18) * wide} width=${0.64 * wide} most=${most} />
      ${(list.length < 10 || i % Math.ceil(list.length / 8) === 0) && html`<text x=${middle(i)} y=${tall + 18} text-anchor="middle">${String(w.start).slice(5)}</text>`}</g>`)}
    <text class="axis" x="2" y="12">${count(most)}</text></svg>`;
}

function Column({ w, x, width, most }) {
  let at = tall + 2;
  return html`${parts(w).map((p) => {
    const high = tall * p.n / most;
    at -= high;
    return html`<rect key=${p.kind} class=${`o-${p.kind}`} x=${`${x}%`} width=${`${width}%`} y=${at} height=${high} />`;
  })}`;
}

const low = 70; // a success rate below this percentage is low

export function Rates({ weeks }) {
  const list = withGaps(weeks);
  const wide = 100 / Math.max(fewest, list.length);
  const x = (i) => `${(i + 0.5) * wide}%`;
  const y = (w) => tall * (1 - num(w.success_rate) / 100) + 4;
  const has = (w) => w && ended(w) > 0;
  return html`<svg class="weeks" width="100%" height=${tall + 24} aria-hidden="true">
    ${[0, 50, 100].map((p) => html`<line key=${p} class="grid" x1="0" x2="100%" y1=${tall * (1 - p / 100) + 4} y2=${tall * (1 - p / 100) + 4} />`)}
    <line class="threshold" x1="0" x2="100%" y1=${tall * (1 - low / 100) + 4} y2=${tall * (1 - low / 100) + 4} />
    ${list.map((w, i) => i > 0 && has(w) && has(list[i - 1]) && html`<line key=${i} class="trend" x1=${x(i - 1)} y1=${y(list[i - 1])} x2=${x(i)} y2=${y(w)} />`)}
    ${list.map((w, i) => has(w) && html`<g key=${w.week}><circle class="dot" cx=${x(i)} cy=${y(w)} r="4"><title>${`${w.week}: ${rate(w)} of ${count(ended(w))}`}</title></circle>
      ${list.length < 10 && html`<text x=${x(i)} y=${y(w) < 24 ? y(w) + 18 : y(w) - 9} text-anchor="middle">${rate(w)}</text>`}
      ${(list.length < 10 || i % Math.ceil(list.length / 8) === 0) && html`<text x=${x(i)} y=${tall + 22} text-anchor="middle">${String(w.start).slice(5)}</text>`}</g>`)}</svg>`;
}
