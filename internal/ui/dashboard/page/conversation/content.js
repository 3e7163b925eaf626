// What is shown of a block, from the events of its lines. Long texts are cut. Pure
// functions, used by the worker.
import { editsOf } from './edits.js';

const message = 40_000; // characters of a message
const output = 5_000; // characters of a tool's result, unless all of it is wanted
const outputLines = 40;
const everything = 200_000; // characters if all of a text is wanted; the log has more
const diffLines = 16; // lines of an edit, unless all of it is wanted
const input = 2_000;
export const widest = 4_000; // characters of one line of unchanged text

/** @typedef {{text: string, more: number}} Cut more: the number of characters that are left out */

/** @returns {Cut} */
const cut = (text, most) => (text.length > most ? { text: text.slice(0, most), more: text.length - most } : { text, more: 0 });

/**
 * The first lines of a result, or the last ones of a failure: the reason is at its end.
 * @param {string} text @param {boolean} bad @param {boolean} full
 */
function outputOf(text, bad, full) {
  const lines = text.split('\n');
  const total = lines.length;
  let shown = full ? lines : bad ? lines.slice(-outputLines) : lines.slice(0, outputLines);
  let whole = shown.join('\n');
  const most = full ? everything : output;
  if (whole.length > most) {
    whole = bad ? whole.slice(-most) : whole.slice(0, most);
    shown = whole.split('\n');
  }
  return { text: whole, total: text ? total : 0, hidden: total - shown.length, cut: text.length - whole.length, end: bad };
}

/** The edits of a call, limited to a number of lines. */
function editsShown(list, full) {
  let room = full ? 5_000 : diffLines;
  return list.map((f) => {
    const total = f.hunks.reduce((n, h) => n + h.lines.length, 0);
    const hunks = [];
    for (const h of f.hunks) {
      if (room <= 0) break;
      hunks.push(h.lines.length <= room ? h : { ...h, lines: h.lines.slice(0, room) });
      room -= h.lines.length;
    }
    return { ...f, hunks, hidden: total - hunks.reduce((n, h) => n + h.lines.length, 0) };
  });
}

/** The members of an input other than the shown one. */
function restOf(call) {
  if (!call.input || typeof call.input !== 'object' || call.todos) return '';
  const rest = Object.fromEntries(Object.entries(call.input).filter(([name, v]) => v !== call.what && !(name === 'description' && call.input.command)));
  return Object.keys(rest).length ? JSON.stringify(rest, null, 2).slice(0, input) : '';
}

function tool(block, [call, result], full) {
  const edits = editsOf(call, result);
  const state = !result ? 'running' : block.bad ? 'failed' : 'complete';
  const what = edits ? edits.map((e) => e.path).join(', ') : call.what;
  return {
    tool: call.tool, what: cut(what.replace(/\s+/g, ' ').trim(), 300).text, whole: what.includes('\n') || what.length > 300 ? cut(what, full ? everything : output).text : '',
    state, exit: result?.exit, declined: result?.declined, input: edits ? '' : restOf(call),
    edits: edits && editsShown(edits, full), output: result && !(edits && !block.bad) ? outputOf(result.text, Boolean(block.bad), full) : null,
  };
}

const by = {
  say: (block, events, full) => cut(events.map((e) => e.text).join(''), full ? everything : message),
  think: (block, [e], full) => cut(e.text, full ? everything : message),
  user: (block, [e], full) => ({ ...cut(e.text, full ? everything : message), first: block.first }),
  tool,
  result: (block, [e], full) => ({ output: outputOf(e.text, Boolean(e.bad), full) }),
  ask: (block, [e, result]) => {
    const q = e.ask ?? e;
    return { text: cut(q.text, message).text, options: q.options, permission: block.permission, reason: q.reason ?? '', answer: result ? cut(result.text, 1_000).text : '' };
  },
  note: (block, [e], full) => ({ ...cut(e.text, full ? everything : output), count: block.count }),
  end: (block, [e], full) => ({ ...cut(block.quiet ? '' : e.text, full ? everything : message), tokens: e.tokens, usd: e.usd, stopped: e.stopped }),
};

/**
 * @param {import('./index.js').Block} block
 * @param {import('./events.js').Event[]} events one for each part of the block
 * @param {boolean} full whether nothing is to be cut
 */
export function contentOf(block, events, full) {
  return { ...common(block), ...by[block.kind]?.(block, events, full), full };
}

/** The content of a block of unchanged lines. @param {import('./index.js').Block} block @param {string[]} lines @param {number} missing bytes that are left out */
export function textContent(block, lines, missing) {
  return { ...common(block), rows: lines.map((l) => cut(l, widest)), missing };
}

export const common = (block) => ({ id: block.id, index: block.index, kind: block.kind, line: Number.isNaN(block.line) ? 0 : block.line, attempt: block.attempt, parent: Boolean(block.parent), bad: Boolean(block.bad) });
