// Splits a log, which is loaded in pieces of bytes, into lines. Pure functions.

/** Bytes of a piece. All pieces except the last are full. */
export const size = 128 << 10;

/** Maximum number of shown bytes of a line. */
export const widest = 16 << 10;

/** Maximum number of decoded bytes of a line that is a JSON object: its text may be short. */
export const longest = 256 << 10;

const limit = (first) => (first === 123 ? longest : widest);

/**
 * The offsets in a piece at which lines start.
 * @param {Uint8Array} bytes
 * @param {boolean} fresh whether a line starts with the first byte
 * @param {number[]} [cuts] further offsets of line starts: those of new attempts
 * @returns {Uint32Array}
 */
export function starts(bytes, fresh, cuts = []) {
  let list = new Uint32Array(1024);
  let n = 0;
  const put = (at) => {
    if (n === list.length) { const more = new Uint32Array(2 * n); more.set(list); list = more; }
    list[n++] = at;
  };
  if (fresh && bytes.length) put(0);
  for (let at = bytes.indexOf(10); at >= 0 && at + 1 < bytes.length; at = bytes.indexOf(10, at + 1)) put(at + 1);
  // A piece inside a very long line gets a row that says so. So the whole line need not be
  // loaded to find its start.
  if (!n && bytes.length) put(0);
  const found = list.slice(0, n);
  const more = cuts.filter((at) => at >= 0 && at < bytes.length && !found.includes(at));
  return more.length ? Uint32Array.from([...found, ...more]).sort() : found;
}

const decoder = new TextDecoder(); // replaces invalid UTF-8 by a replacement character

/**
 * The lines that start in a piece. A line that continues in the next piece is completed
 * from it. A line that is too long is cut.
 * @param {boolean} fresh whether a line starts with the first byte
 * @param {Uint8Array} bytes
 * @param {Uint32Array} begins
 * @param {Uint8Array} after bytes that follow the piece
 * @returns {{text: string, cut: number}[]} cut is the minimum number of bytes that are not shown
 */
export function texts(fresh, bytes, begins, after) {
  if (within(fresh, begins)) return [{ text: '', cut: bytes.length }];
  const list = [];
  for (let i = 0; i < begins.length; i++) {
    const from = begins[i];
    list.push(i + 1 < begins.length ? line(bytes.subarray(from, begins[i + 1]), 0) : last(bytes.subarray(from), after));
  }
  return list;
}

/** Whether a piece is inside a line, without a line start or end. */
export const within = (fresh, begins) => !fresh && begins.length === 1 && begins[0] === 0;

function last(begin, after) {
  if (begin.at(-1) === 10) return line(begin, 0);
  const end = after.indexOf(10);
  const rest = after.subarray(0, end < 0 ? after.length : end);
  const most = limit(begin[0]);
  const kept = begin.subarray(0, most);
  const more = rest.subarray(0, most - kept.length);
  const whole = new Uint8Array(kept.length + more.length);
  whole.set(kept);
  whole.set(more, kept.length);
  return line(whole, begin.length + rest.length - whole.length);
}

function line(bytes, missing) {
  let end = bytes.length;
  if (bytes[end - 1] === 10) end--;
  if (bytes[end - 1] === 13) end--;
  const shown = Math.min(end, limit(bytes[0]));
  return { text: afterReturns(decoder.decode(bytes.subarray(0, shown))), cut: end - shown + missing };
}

// Returns the last version of a line that was overwritten with carriage returns, such as a
// progress bar.
function afterReturns(text) {
  const at = text.lastIndexOf('\r');
  return at < 0 ? text : text.slice(at + 1);
}

/**
 * The number of lines in each piece. For unknown pieces it is estimated from the known
 * ones.
 */
export class Count {
  constructor() {
    /** The number of lines by piece, if known. @type {(number|undefined)[]} */
    this.known = [];
    this.pieces = 0;
    this.first = 0;
    this.sums = null;
    /** Pieces inside a line, whose rows have no line number. */
    this.middles = new Set();
  }

  /** @param {number} first the first piece that exists @param {number} pieces the last piece plus one */
  span(first, pieces) {
    if (first === this.first && pieces === this.pieces) return;
    Object.assign(this, { first, pieces, sums: null });
  }

  /** @param {number} piece @param {number} lines @param {boolean} [middle] */
  set(piece, lines, middle = false) {
    if (this.known[piece] === lines && this.middles.has(piece) === middle) return;
    this.known[piece] = lines;
    this.middles[middle ? 'add' : 'delete'](piece);
    this.sums = null;
  }

  /** The arguments of set for a piece, to send them to the page. @param {number} piece @returns {[piece: number, lines: number, middle: boolean]} */
  tell(piece) { return [piece, this.known[piece], this.middles.has(piece)]; }

  /** The number of rows and lines before each piece; sure is the first piece whose successors are estimated. */
  sum() {
    if (this.sums) return this.sums;
    let lines = 0;
    let n = 0;
    for (let p = this.first; p < this.pieces - 1; p++) if (this.known[p] !== undefined) { lines += this.known[p]; n++; }
    const usual = n ? lines / n : this.known[this.pieces - 1] ?? 1;
    const before = [];
    const numbers = [];
    let at = 0;
    let numbered = 0;
    let sure = this.first;
    for (let p = this.first; p < this.pieces; p++) {
      before[p] = at;
      numbers[p] = numbered;
      at += this.known[p] ?? usual;
      numbered += this.middles.has(p) ? 0 : this.known[p] ?? usual;
      if (sure === p && this.known[p] !== undefined) sure = p + 1;
    }
    return this.sums = { before, numbers, total: Math.round(at), lines: Math.round(numbered), sure };
  }

  /** The number of rows. */
  get total() { return this.sum().total; }
  /** The number of lines. */
  get lines() { return this.sum().lines; }
  /** Whether the numbers of all pieces are known. */
  get exact() { return this.sum().sure >= this.pieces; }
  /** The line number, from 1, or 0 if it is unknown. @param {number} piece @param {number} line */
  number(piece, line) {
    const { numbers, sure } = this.sum();
    return piece <= sure && !this.middles.has(piece) ? numbers[piece] + line + 1 : 0;
  }
  /** The piece and line of a line number, or null if it is unknown. @param {number} number */
  place(number) {
    const { numbers, sure } = this.sum();
    for (let p = this.first; p < Math.min(sure, this.pieces); p++) {
      if (!this.middles.has(p) && number > numbers[p] && number <= numbers[p] + this.known[p]) return { piece: p, line: number - numbers[p] - 1 };
    }
    return null;
  }
  /** The approximate number of rows before a line. */
  before(piece, line) { return (this.sum().before[piece] ?? 0) + line; }

  /** The piece and line at an approximate row number. @param {number} lines */
  at(lines) {
    const { before } = this.sum();
    let low = this.first;
    let high = Math.max(this.first, this.pieces - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (before[middle] <= lines) low = middle;
      else high = middle - 1;
    }
    return { piece: low, line: Math.max(0, Math.floor(lines - (before[low] ?? 0))) };
  }
}
