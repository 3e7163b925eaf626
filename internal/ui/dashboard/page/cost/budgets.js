// What runs have spent of their budgets.
import { link } from '../core/route.js';
import { html, useState } from '../core/view.js';
import { count, moneyOf, text } from '../core/words.js';
import { Status, Until } from '../parts/status.js';
import { dollars } from './words.js';

const near = 0.8; // from this share on, a budget is marked as nearly spent
const shown = 6;

// limits returns the limits of a budget: money, tokens, or both.
function limits({ spent, budget }) {
  const list = [];
  if (budget?.usd > 0) list.push({ unit: 'money', share: (spent?.usd ?? 0) / budget.usd, words: moneyOf(spent?.usd ?? 0, budget.usd) });
  if (budget?.tokens > 0) list.push({ unit: 'tokens', share: (spent?.tokens ?? 0) / budget.tokens, words: `${count(spent?.tokens ?? 0)} of ${count(budget.tokens)} tokens` });
  return list;
}

/** @param {{list: any[]}} props sorted by share, the highest first */
export function Budgets({ list }) {
  const [all, setAll] = useState(false);
  if (!list.length) return null;
  return html`<section aria-label="Budgets" class="budgets"><header class="section"><h2>Budgets</h2><span class="faint">of whole runs, whatever the time span is</span></header>
    <ul class="panel">${(all ? list : list.slice(0, shown)).map((b) => html`<${Budget} key=${b.run} b=${b} />`)}</ul>
    ${list.length > shown && html`<p><button class="quiet" onClick=${() => setAll(!all)}>${all ? 'Show fewer' : `Show all ${count(list.length)}`}</button></p>`}</section>`;
}

/** The user's limits for the current day and month. @param {{list: any[] | undefined}} props */
export function Limits({ list }) {
  if (!list?.length) return null;
  return html`<section aria-label="Limits" class="budgets"><header class="section"><h2>Limits</h2><span class="faint">of all projects, whatever the time span is</span></header>
    <ul class="panel">${list.map((l) => html`<li key=${`${l.period} ${text(l.account)}`}><div class="of"><b>${l.period === 'day' ? 'Today' : 'This month'}</b> ${l.account && html`<bdi>${text(l.account)}</bdi>`}
      <span class="faint">${dollars(l.left?.usd ?? 0)} left, starts anew <${Until} time=${l.until} /></span></div>
      <div class="meters">${limits({ spent: l.spent, budget: l.limit }).map((m) => html`<${Meter} key=${m.unit} l=${m} />`)}</div></li>`)}</ul></section>`;
}

function Budget({ b }) {
  return html`<li><div class="of"><a href=${link('runs', b.run)}><bdi>${text(b.name) || b.run}</bdi></a> <${Status} of=${b.status} /></div>
    <div class="meters">${limits(b).map((l) => html`<${Meter} key=${l.unit} l=${l} />`)}</div></li>`;
}

function Meter({ l }) {
  const percent = Math.round(100 * l.share);
  const state = l.share >= 1 ? 'over' : l.share >= near ? 'near' : 'within';
  const word = { over: 'spent', near: 'nearly spent', within: '' }[state];
  return html`<div class=${`meter ${state}`}>
    <div class="track" role="meter" aria-label=${l.unit === 'money' ? 'Money' : 'Tokens'} aria-valuemin="0" aria-valuemax="100" aria-valuenow=${Math.min(100, percent)} aria-valuetext=${`${l.words}, ${percent}%`}>
      <span class="fill" style=${{ width: `${Math.min(100, 100 * l.share)}%` }}></span><span class="mark" title="80%"></span></div>
    <span class="number">${l.words}</span><span class="share number">${word && html`<span class="word">${state === 'over' ? '✗' : '!'} ${word}</span> `}${percent}%</span></div>`;
}
