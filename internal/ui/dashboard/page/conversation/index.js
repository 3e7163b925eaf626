// The blocks of a conversation: what each consists of, and where its lines are in the log.
// The text of a block is not kept. It is read from the log again when the block is shown,
// so that a conversation of a hundred thousand lines needs little memory.
import { plain } from '../task/ansi.js';
import { editsOf } from './edits.js';
import { eventsOf, todoStatus } from './events.js';

/**
 * @typedef {[offset: number, length: number, n: number]} Part the n-th event of the line at this offset of the log; n is -1 for lines that are shown unchanged
 * @typedef {{id: number, index: number, kind: string, parts: Part[], line: number, lines: number, attempt: number, estimate: number, parent?: boolean, bad?: boolean, series?: string, quiet?: boolean, count?: number}} Block
 * kind: say, think, user, tool, ask, note, end, text, begin, result. line: the number of its
 * first line. estimate: its approximate height in pixels.
 */

export const most = 200_000; // blocks that are kept
const dropped = 20_000; // blocks that are dropped at once
const mostMarks = 2_000;
const textLines = 80; // lines of one block of unchanged text
const textBytes = 24 << 10;
const deltas = 500; // pieces of one message

/** The id of an event's block: it stays the same when earlier lines become known. */
const idOf = (offset, n) => offset * 256 + Math.min(255, n + 1);

const rows = (text) => {
  let n = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n++;
  return Math.max(n, Math.ceil(text.length / 95));
};

const estimates = {
  say: (e) => 18 + 21 * Math.min(400, rows(e.text)),
  user: (e) => 44 + 21 * Math.min(12, rows(e.text)),
  ask: () => 110, think: () => 30, note: () => 30, end: () => 30, result: () => 32, begin: () => 56,
};

export class Index {
  /** @param {(block: Block, event: import('./events.js').Event|{kind: 'text', text: string}) => void} [seen] called with each event and the block that it belongs to */
  constructor(seen = () => {}) {
    this.seen = seen;
    /** The kept blocks. The first one has the index cut. @type {Block[]} */
    this.blocks = [];
    this.cut = 0;
    /** Blocks that have changed since the last call of take. @type {Set<number>} */
    this.changed = new Set();
    /** The starts of attempts, and the texts of the user and of questions, to find their messages and answers. @type {{index: number, kind: string, text: string, attempt: number, first: boolean}[]} */
    this.marks = [];
    /** The agent's list. @type {{items: (import('./events.js').Todo & {id?: string})[], index: number}|null} */
    this.todos = null;
    this.attempt = 0;
    this.reset();
  }

  reset() {
    /** Calls without a result, by id. @type {Map<string, Block>} */
    this.calls = new Map();
    this.asks = new Map();
    Object.assign(this, { thread: '', prompted: false, said: '', problem: '', created: 0 });
  }

  get count() { return this.cut + this.blocks.length; }
  /** @param {number} index @returns {Block|undefined} */
  at(index) { return this.blocks[index - this.cut]; }

  /** The last block that starts at or before a line. @param {number} line */
  ofLine(line) {
    let [low, high] = [0, this.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].line <= line) low = middle + 1;
      else high = middle;
    }
    // A result belongs to the block of its call, which may be earlier.
    for (let i = low - 1; i >= Math.max(0, low - 200); i--) if (this.blocks[i].more?.includes(line)) return this.cut + i;
    return this.cut + Math.max(0, low - 1);
  }

  /** An attempt starts. @param {number} attempt @param {number} offset @param {number} line @param {boolean} shown whether it has a block */
  begin(attempt, offset, line, shown = true) {
    this.reset();
    this.attempt = attempt;
    this.todos = null;
    if (shown) this.mark(this.push('begin', [offset, 0, 254], line, { text: '' }), '', false);
  }

  /** @param {string} text @param {number} offset @param {number} length @param {number} line */
  line(text, offset, length, line) {
    const events = eventsOf(text);
    if (!events) return this.text(text, offset, length, line);
    events.forEach((e, n) => this.add(e, [offset, length, n], line));
    return undefined;
  }

  text(text, offset, length, line) {
    const last = this.blocks.at(-1);
    const shown = plain(text);
    if (last?.kind === 'text' && last.attempt === this.attempt && last.lines < textLines && offset + length - last.parts[0][0] <= textBytes && last.parts[0][0] + last.parts[0][1] === offset) {
      last.parts[0][1] += length;
      last.lines++;
      last.estimate = 16 + 19 * last.lines;
      this.changed.add(last.index);
      this.seen(last, { kind: 'text', text: shown });
      return;
    }
    if (!shown.trim() && last?.kind !== 'text') return;
    this.seen(this.push('text', [offset, length, -1], line, { text: shown }), { kind: 'text', text: shown });
  }

  /** @param {import('./events.js').Event} e @param {Part} part @param {number} line */
  add(e, part, line) {
    if (e.kind === 'thread') { this.thread ||= e.id; return; }
    if (e.thread && this.thread && e.thread !== this.thread) return; // an internal thread of Codex
    const block = this[`on_${e.kind}`](e, part, line);
    if (block) this.seen(block, e);
  }

  on_say(e, part, line) {
    const last = this.blocks.at(-1);
    if (e.delta && last?.kind === 'say' && last.delta && last.attempt === this.attempt && last.parts.length < deltas) {
      last.parts.push(part);
      last.characters += e.text.length;
      last.estimate = 18 + 21 * Math.min(400, Math.ceil(last.characters / 95));
      this.said += e.text;
      this.changed.add(last.index);
      return last;
    }
    if (e.delta && !e.text.trim()) return undefined;
    this.said = e.text;
    return this.push('say', part, line, e, { delta: Boolean(e.delta), characters: e.text.length });
  }

  on_think(e, part, line) { return this.push('think', part, line, e); }

  on_user(e, part, line) {
    const first = e.first ?? !this.prompted;
    if (e.first && this.prompted) return undefined; // a repetition of the prompt
    this.prompted = true;
    const block = this.push('user', part, line, e, { first });
    this.mark(block, e.text, first);
    return block;
  }

  on_call(e, part, line) {
    this.plan(e);
    const known = this.calls.get(e.id);
    if (known) { // Codex repeats the call with its result
      known.parts[0] = part;
      this.note(known, line);
      return known;
    }
    if (e.ask) {
      const block = this.on_ask(e.ask, part, line);
      this.calls.set(e.id, block);
      return block;
    }
    const edits = editsOf(e);
    const shown = edits?.reduce((n, f) => n + f.hunks.reduce((m, h) => m + h.lines.length, 0), 0) ?? 0;
    const block = this.push('tool', part, line, e, { estimate: edits ? 44 + 20 * Math.min(16, shown) : 32 });
    this.calls.set(e.id, block);
    return block;
  }

  on_result(e, part, line) {
    const block = this.calls.get(e.id);
    this.calls.delete(e.id);
    if (!block) return this.push('result', part, line, e);
    const task = block.creates && e.text.match(/^Task #(\w+)/);
    if (task) block.creates.id = task[1];
    block.parts[1] = part;
    if (e.bad) block.bad = true;
    this.note(block, line);
    return block;
  }

  on_ask(e, part, line) {
    const known = this.asks.get(e.toolId);
    if (known && !e.permission) { // the same question, as a call and as a request
      this.note(known, line);
      return known;
    }
    const block = this.push('ask', part, line, e, { permission: Boolean(e.permission) });
    if (e.toolId) this.asks.set(e.toolId, block);
    this.mark(block, e.text, false);
    return block;
  }

  on_note(e, part, line) {
    const last = this.blocks.at(-1);
    this.problem = e.bad ? e.text : '';
    if (e.series && last?.kind === 'note' && last.series === e.series && last.attempt === this.attempt) {
      last.parts[0] = part;
      last.count++;
      this.note(last, line);
      return last;
    }
    return e.text ? this.push('note', part, line, e, { series: e.series, count: 1 }) : undefined;
  }

  on_end(e, part, line) {
    const quiet = !e.text || e.text.trim() === this.said.trim() || e.text === this.problem; // the text repeats what was said
    return this.push('end', part, line, e, { quiet, estimate: quiet ? 30 : 24 + 21 * Math.min(100, rows(e.text)) });
  }

  on_todos(e) {
    this.todos = { items: e.items, index: this.count };
  }

  // plan keeps the agent's list up to date.
  plan(e) {
    if (e.todos) this.todos = { items: e.todos, index: this.count };
    const known = this.calls.has(e.id);
    if (e.create && !known) {
      this.created++;
      const item = { ...e.create, id: String(this.created) };
      this.todos = { items: [...(this.todos?.items ?? []), item], index: this.count };
      this.creating = item;
    } else this.creating = undefined;
    if (e.update && this.todos) {
      const items = this.todos.items.map((t) => (t.id !== e.update.id ? t : Object.assign(t, e.update.text !== undefined && { text: e.update.text }, e.update.status !== undefined && { status: todoStatus(e.update.status) })));
      this.todos = { items: items.filter((t) => e.update.status !== 'deleted' || t.id !== e.update.id), index: this.count };
    }
  }

  // note records that a later line has changed a block.
  note(block, line) {
    (block.more ??= []).push(line);
    if (block.more.length > 50) block.more = block.more.slice(-50);
    this.changed.add(block.index);
  }

  mark(block, text, first) {
    this.marks.push({ index: block.index, kind: block.kind, text: text.slice(0, 4000), attempt: this.attempt, first });
    if (this.marks.length > mostMarks) this.marks.shift();
  }

  push(kind, part, line, e, more = {}) {
    const block = { id: idOf(part[0], part[2]), index: this.count, kind, parts: [part], line, lines: 1, attempt: this.attempt, estimate: 35, ...more };
    if (!more.estimate) block.estimate = kind === 'text' ? 35 : estimates[kind](e);
    if (e.parent) block.parent = true;
    if (e.bad) block.bad = true;
    if (this.creating) block.creates = this.creating;
    this.creating = undefined;
    this.blocks.push(block);
    if (this.blocks.length > most) this.drop();
    return block;
  }

  drop() {
    this.blocks.splice(0, dropped);
    this.cut += dropped;
    this.marks = this.marks.filter((m) => m.index >= this.cut);
  }
}
