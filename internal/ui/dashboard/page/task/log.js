// The page's part of a task's log: the range of pieces, the lines near the visible ones,
// and the result of a search. The bytes are in a worker (store.js).
import { signal } from '../core/view.js';
import { Count } from './lines.js';

const held = 24e6; // approximate number of characters that are kept
const patience = 2_000; // milliseconds before a failed request is repeated
const most = 32 << 20; // the lines of a log with at most this many bytes are numbered at once

export class Log {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
    /** The state and the range of the whole log. */
    this.span = signal({ state: 'loading', error: '', from: 0, to: 0, first: 0, last: 0, starts: [] });
    /** The searched text, the number of matching lines, and the shown match. */
    this.found = signal({ text: '', lines: 0, complete: false, reached: 0, index: 0, place: null });
    /** Changes when lines have changed. */
    this.version = signal(0);
    this.count = new Count();
    /** @type {Map<number, {lines: {text: string, cut: number}[], marks: [number, number][], stale: boolean}>} */
    this.pieces = new Map();
    this.asked = new Set();
    /** How often the log was loaded anew. Pieces of an earlier round are dropped. */
    this.round = 0;
    /** The number of lines that were added since the log was opened. */
    this.added = 0;
    this.begin();
  }

  begin() {
    this.worker = new Worker('/assets/task/worker.js', { type: 'module', name: 'log' });
    this.worker.onmessage = ({ data }) => this.told[data.kind](data);
    this.ask({ do: 'open', url: this.url });
  }

  ask(what) { this.worker.postMessage(what); }

  /** The lines of a piece, or null until they are loaded. @param {number} p */
  lines(p) {
    const piece = this.pieces.get(p);
    if ((!piece || piece.stale) && !this.asked.has(p)) {
      this.asked.add(p);
      this.ask({ do: 'piece', round: this.round, piece: p, from: Math.max(0, (piece?.lines.length ?? 0) - 1) });
    }
    if (piece) {
      this.pieces.delete(p);
      this.pieces.set(p, piece);
    }
    return piece && (piece.lines.length || !piece.stale) ? piece : null;
  }

  /** Searches the whole log for a text. */
  search(text, raw) {
    this.found.value = { text, raw, lines: 0, complete: false, reached: 0, index: 0, place: null };
    this.ask({ do: 'search', text, raw });
  }

  /** @param {{piece: number, line: number}} at @param {1|-1} step @param {boolean} [too] whether the line at itself may be the result */
  find(at, step, too = false) { this.ask({ do: 'find', at, step, too }); }

  /** Continues to read new output, for example when another attempt has started. */
  follow() { this.ask({ do: 'follow' }); }
  pause() { this.ask({ do: 'pause' }); }
  number() { this.search(this.found.value.text, this.found.value.raw); }
  end() { this.worker.terminate(); }

  /** The handlers of the worker's messages, by kind. */
  get told() {
    return { span: (n) => this.spanned(n), piece: (n) => this.took(n), counted: (n) => this.counted(n), found: (n) => this.hit(n), wrong: (n) => this.failed(n), again: () => this.again() };
  }

  spanned(news) {
    const before = this.span.value;
    const had = this.count.known[before.last] ?? 0;
    this.count.span(news.first, news.last + 1);
    for (const told of news.known) this.count.set(...told);
    if (before.state !== 'loading') for (let p = before.last; p <= news.last; p++) this.added += (this.count.known[p] ?? 0) - (p === before.last ? had : 0);
    if (news.to > before.to) for (let p = before.last; p <= news.last; p++) this.grown(p);
    const first = before.state === 'loading';
    this.span.value = { state: news.state, error: news.error, from: news.from, to: news.to, first: news.first, last: news.last, starts: news.starts };
    this.version.value++;
    if (first && news.to - news.from <= most && !this.found.value.text) this.number();
  }

  grown(p) {
    const piece = this.pieces.get(p);
    if (piece) piece.stale = true;
  }

  took({ round, piece: p, from, lines, marks, held: bytes }) {
    if (round !== this.round) return undefined;
    this.asked.delete(p);
    const old = this.pieces.get(p)?.lines ?? [];
    if (from > old.length) return this.lines(p); // the earlier lines were dropped meanwhile: load all
    this.pieces.delete(p);
    this.pieces.set(p, { lines: from ? [...old.slice(0, from), ...lines] : lines, marks, stale: false });
    this.giveUp(p);
    this.kept = bytes;
    this.version.value++;
    return undefined;
  }

  // giveUp drops the least recently used pieces, except one.
  giveUp(but) {
    const weight = ({ lines }) => lines.reduce((sum, l) => sum + l.text.length + 60, 0);
    let all = 0;
    for (const piece of this.pieces.values()) all += piece.weight ??= weight(piece);
    for (const [p, piece] of this.pieces) {
      if (all <= held) return;
      if (p === but) continue;
      this.pieces.delete(p);
      all -= piece.weight;
    }
  }

  counted(news) {
    for (const told of news.known) this.count.set(...told);
    const now = this.found.value;
    if (news.text === now.text) this.found.value = { ...now, lines: news.lines, complete: news.complete, reached: news.reached, index: news.index };
    this.version.value++;
  }

  hit({ text, place }) {
    if (text === this.found.value.text) this.found.value = { ...this.found.value, place };
  }

  failed({ about, message }) {
    if (about.do === 'piece') setTimeout(() => { this.asked.delete(about.piece); this.version.value++; }, patience);
    this.span.value = { ...this.span.value, error: message };
  }

  // again starts over, because the log was replaced.
  again() {
    this.round++;
    this.pieces.clear();
    this.asked.clear();
    this.count = new Count();
    this.span.value = { ...this.span.value, state: 'loading', from: 0, to: 0, first: 0, last: 0, starts: [] };
    this.version.value++;
  }
}
