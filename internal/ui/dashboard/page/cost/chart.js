// Columns by day, or by hour of a single day: cost, or tokens in their parts.
import { html } from '../core/view.js';
import { count, money } from '../core/words.js';
import { Chart } from '../records/charts.js';
import { nice, num } from '../records/numbers.js';
import { costText } from './words.js';

const tall = 140;
const top = 20; // space above the highest column, for the highest value
const most = 400; // days; a longer span shows its last days

const step = (day) => new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);

/** The days from the first to the last, also those without an attempt. @param {any[]} days */
export function everyDay(days) {
  const known = new Map(days.map((d) => [d.key, d]));
  const list = [];
  for (let day = days[0]?.key, end = days.at(-1)?.key; day && day <= end; day = step(day)) list.push(known.get(day) ?? { key: day, attempts: 0, usd: 0 });
  return list.slice(-most);
}

/** The 24 hours of a day. @param {any[]} hours */
function everyHour(hours) {
  const known = new Map(hours.map((h) => [h.key, h]));
  const day = hours[0].key.slice(0, 11);
  return Array.from({ length: 24 }, (_, n) => `${day}${String(n).padStart(2, '0')}`).map((key) => known.get(key) ?? { key, attempts: 0, usd: 0 });
}

/** 2026-11-18, or 09:00 for an hour. @param {string} key */
const nameOf = (key) => (key.includes('T') ? `${key.slice(11)}:00` : key);

const unread = (d) => Math.max(0, num(d.input) - num(d.cached)); // the input that did not come from the cache
const other = (d) => Math.max(0, num(d.tokens) - num(d.input) - num(d.output)); // tokens whose kind is unknown

/** The parts of a column, from below. @type {Record<string, [string, string, (d: any) => number][]>} */
const units = {
  cost: [['plain', 'cost', (d) => num(d.usd)]],
  tokens: [['cached', 'cached input', (d) => num(d.cached)], ['input', 'other input', unread], ['output', 'output', (d) => num(d.output)], ['other', 'of unknown kind', other]],
};

const head = { cost: ['Cost', 'Attempts'], tokens: ['Input', 'Cached', 'Output', 'Tokens'] };
const cells = {
  cost: (d) => [nameOf(d.key), d.attempts ? costText(d) : '–', count(d.attempts)],
  tokens: (d) => [nameOf(d.key), count(num(d.input)), count(num(d.cached)), count(num(d.output)), count(num(d.tokens))],
};

/** @param {{days: any[], hours?: any[], unit: 'cost'|'tokens', children: any}} props hours are used if there is one day; children are the choice of the unit */
export function DayChart({ days, hours, unit, children }) {
  const list = hours?.length ? everyHour(hours) : everyDay(days);
  const period = hours?.length ? 'hour' : 'day';
  const parts = units[unit];
  const sum = (d) => parts.reduce((n, [, , of]) => n + of(d), 0);
  const highest = Math.max(...list.map(sum));
  const limit = nice(highest);
  const name = `${unit === 'cost' ? 'Cost' : 'Tokens'} by ${period}`;
  const shown = unit === 'cost' ? (n) => money(n) || '$0' : count;
  const used = parts.filter(([, , of]) => list.some((d) => of(d) > 0));
  const said = highest > 0 ? `${name}: from ${nameOf(list[0].key)} to ${nameOf(list.at(-1).key)}, at most ${shown(highest)} in one ${period}` : `${name}: none is known`;
  const wide = 100 / Math.max(7, list.length);
  const every = Math.ceil(list.length / 8); // columns from one label to the next
  const labelled = (i) => i % every === 0;
  const text = (d) => `${nameOf(d.key)}: ${d.attempts ? (unit === 'cost' ? costText(d) : parts.map(([, word, of]) => of(d) > 0 && `${count(of(d))} ${word}`).filter(Boolean).join(', ') || 'no tokens known') : 'no attempt'}`;
  return html`<${Chart} title=${name} note=${children} said=${said} head=${[period === 'hour' ? 'Hour' : 'Day', ...head[unit]]} rows=${[...list].reverse().filter((d) => d.attempts).map(cells[unit])}>
    <svg class="weeks" width="100%" height=${tall + top + 22} aria-hidden="true">
      ${[0, 0.5, 1].map((part) => html`<line key=${part} class="grid" x1="0" x2="100%" y1=${top + tall * (1 - part)} y2=${top + tall * (1 - part)} />`)}
      ${list.map((d, i) => {
    let y = top + tall;
    return html`<g key=${d.key}><title>${text(d)}</title>
        <rect class="o-none" x=${`${i * wide}%`} width=${`${wide}%`} y="0" height=${tall + top} />
        ${parts.map(([kind, , of]) => {
      const high = tall * of(d) / limit;
      y -= high;
      return high > 0 && html`<rect key=${kind} class=${`o-${kind}`} x=${`${(i + 0.14) * wide}%`} width=${`${0.72 * wide}%`} y=${y} height=${high} />`;
    })}
        ${d.unknown > 0 && unit === 'cost' && html`<text class="some" x=${`${(i + 0.5) * wide}%`} y=${y - 4} text-anchor="middle">?</text>`}
        ${labelled(i) && html`<text class=${(i / every) % 2 ? 'second' : ''} x=${`${(i + 0.5) * wide}%`} y=${tall + top + 17} text-anchor=${i ? 'middle' : 'start'} dx=${i ? 0 : `-${wide / 3}%`}>${period === 'hour' ? nameOf(d.key) : d.key.slice(5)}</text>`}</g>`;
  })}
      <text class="axis" x="2" y=${top - 6}>${shown(limit)}</text></svg>
    ${unit === 'tokens' && html`<p class="legend">${used.map(([kind, word]) => html`<span key=${kind}><svg width="12" height="12" aria-hidden="true"><rect class=${`o-${kind}`} width="12" height="12" rx="2" /></svg> ${word}</span>`)}</p>`}
    ${unit === 'cost' && list.some((d) => d.unknown > 0) && html`<p class="legend">? some attempts of the ${period} did not report their cost</p>`}
  <//>`;
}
