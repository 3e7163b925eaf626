// The visible lines of a log. The top line is identified by its piece and its index in
// it, not by its line number, because the number of earlier lines may be an estimate.
// So the scroll bar is exact only near both ends.

/** @typedef {{piece: number, line: number, data?: {text: string, cut: number}, attempt?: number, loading?: boolean}} Row */

const tallest = 8_000_000; // pixels that every browser can scroll through
const spare = 12; // extra rows beyond the visible ones

export class Sight {
  /** @param {import('./log.js').Log} log */
  constructor(log) {
    this.log = log;
    /** The top line (piece, line), its pixels above the top (over), and whether the end is followed instead (end). */
    Object.assign(this, { piece: 0, line: 0, over: 0, end: true, row: 20, jumped: false });
  }

  /** Shows a line at the top. @param {{piece: number, line: number}} place @param {number} over pixels of the line above the top */
  show(place, over = 0) { Object.assign(this, place, { over, end: false, jumped: true }); }

  /** Shows an approximate position. @param {number} part the position between 0 and 1 @param {number} view */
  jump(part, view) {
    const { count } = this.log;
    Object.assign(this, count.at(part * Math.max(0, count.total - view / this.row)), { over: 0, end: part >= 1 });
  }

  /** Moves by so many pixels, also beyond the rows that are drawn. */
  move(pixels) {
    const { count } = this.log;
    const to = Math.max(0, count.before(this.piece, this.line) * this.row + this.over + pixels);
    const line = Math.floor(to / this.row);
    Object.assign(this, count.at(line), { over: to - line * this.row, end: false });
  }

  /** The position of the top line, between 0 and 1. */
  part(view) {
    const { count } = this.log;
    return Math.min(1, count.before(this.piece, this.line) / Math.max(1, count.total - view / this.row));
  }

  /** The approximate height of the log in pixels. @param {number} view */
  height(view) { return Math.max(view, Math.min(tallest, this.log.count.total * this.row)); }

  /** The rows to draw. @param {number} view @returns {Row[]} */
  rows(view) {
    const n = Math.ceil(view / this.row) + spare;
    const { first, last, state } = this.log.span.value;
    if (state === 'loading') return [];
    if (this.end) return this.before(last, Infinity, n);
    this.settle(first, last);
    if (this.end) return this.before(last, Infinity, n);
    const below = this.after(this.piece, this.line, n);
    return [...this.before(this.piece, this.line - 1, Math.max(Math.ceil(n / 2), n - below.length)), ...below];
  }

  // settle moves to an existing line if the piece has fewer lines than estimated.
  settle(first, last) {
    this.piece = Math.min(last, Math.max(first, this.piece));
    for (let there = this.log.lines(this.piece); there && this.line >= there.lines.length;) {
      if (there.lines.length) { this.line = there.lines.length - 1; return; }
      if (this.piece >= last) { Object.assign(this, { piece: last, line: 0, end: true }); return; }
      Object.assign(this, { piece: this.piece + 1, line: 0 });
      there = this.log.lines(this.piece);
    }
  }

  after(piece, line, n) {
    const { last } = this.log.span.value;
    const list = [];
    for (let p = piece, l = line; p <= last && list.length < n; p++, l = 0) {
      const there = this.log.lines(p);
      if (!there) { list.push({ piece: p, line: -1, loading: true }); break; }
      for (; l < there.lines.length && list.length < n; l++) list.push(row(p, l, there));
    }
    return list;
  }

  before(piece, line, n) {
    const { first, last } = this.log.span.value;
    const list = [];
    for (let p = piece, l = line; p >= first && list.length < n; p--, l = Infinity) {
      const there = this.log.lines(p);
      if (!there && p === last && p > first && this.log.pieces.has(p - 1)) continue; // the last piece is new and not loaded yet
      if (!there) { list.push({ piece: p, line: -2, loading: true }); break; }
      for (l = Math.min(l, there.lines.length - 1); l >= 0 && list.length < n; l--) list.push(row(p, l, there));
    }
    return list.reverse();
  }

  /** Whether a row is the first, or the last, of the log. @param {Row} r */
  isFirst(r) { return r && !r.loading && r.line === 0 && this.count0(r.piece); }
  count0(piece) {
    for (let p = this.log.span.value.first; p < piece; p++) if (this.log.count.known[p] !== 0) return false;
    return true;
  }
  isLast(r) {
    const { last } = this.log.span.value;
    if (!r || r.loading) return false;
    for (let p = last; p >= r.piece; p--) {
      const there = this.log.pieces.get(p);
      const n = there ? there.lines.length : this.log.count.known[p];
      if (p === r.piece) return r.line === n - 1;
      if (n !== 0) return false;
    }
    return false;
  }
}

const row = (piece, line, there) => ({ piece, line, data: there.lines[line], attempt: there.marks.find(([l]) => l === line)?.[1] });
