// Prepares a log line for display: runs of styled text, with search matches marked. Pure
// functions.
import { runs } from './ansi.js';
import { widest } from './lines.js';
import { read } from './agentoutput.js';

/**
 * @typedef {{kind: string, runs: import('./ansi.js').Run[], cut: number}} Shown
 * kind is the line's marker, or empty for a line that is shown unchanged
 * @param {{text: string, cut: number}} line
 * @param {{raw: boolean, wrap: boolean}} how
 * @returns {Shown}
 */
export function show(line, { raw, wrap }) {
  const said = raw ? null : read(line.text);
  if (said) return { kind: said.kind, runs: runs(wrap ? said.text : said.text.replace(/\s*\n\s*/g, ' ⏎ ')), cut: 0 };
  if (line.text.length <= widest) return { kind: '', runs: runs(line.text), cut: line.cut };
  return { kind: '', runs: runs(line.text.slice(0, widest)), cut: line.cut + line.text.length - widest };
}

/**
 * Splits runs at the occurrences of a text, and marks the matching parts.
 * @param {import('./ansi.js').Run[]} list
 * @param {string} text in lower case
 */
export function mark(list, text) {
  if (!text) return list;
  const whole = list.map((r) => r.text).join('').toLowerCase();
  const found = [];
  for (let at = whole.indexOf(text); at >= 0 && found.length < 1000; at = whole.indexOf(text, at + text.length)) found.push(at);
  if (!found.length) return list;
  const out = [];
  let start = 0;
  for (const run of list) {
    split(run, start, found, text.length, out);
    start += run.text.length;
  }
  return out;
}

function split(run, start, found, length, out) {
  const end = start + run.text.length;
  let at = start;
  for (const f of found) {
    if (f + length <= at || f >= end) continue;
    if (f > at) out.push({ ...run, text: run.text.slice(at - start, f - start) });
    const from = Math.max(f, at);
    const to = Math.min(f + length, end);
    out.push({ ...run, text: run.text.slice(from - start, to - start), mark: true });
    at = to;
  }
  if (at < end) out.push({ ...run, text: run.text.slice(at - start) });
}
