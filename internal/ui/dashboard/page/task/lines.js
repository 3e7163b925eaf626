// A log in pieces of bytes: where its lines begin, and what they say. Pure.

/** Bytes of a piece. All but the last are full. */
export const size = 128 << 10;

/** Bytes of a line that are shown. */
export const widest = 16 << 10;

/** Bytes that are read of a line that is an object: what it says may be short. */
export const longest = 256 << 10;

const limit = (first) => (first === 123 ? longest : widest);

/**
 * Where lines begin in a piece, as offsets in it.
 * @param {Uint8Array} bytes
 * @param {boolean} fresh whether a line begins with the first byte
 * @param {number[]} [cuts] where lines begin as well, since somebody else wrote them
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
  // A piece in the middle of a very long line has a row that says so. Whoever looks for
  // the beginning of that line need not have all of it.
  if (!n && bytes.length) put(0);
  const found = list.slice(0, n);
  const more = cuts.filter((at) => at >= 0 && at < bytes.length && !found.includes(at));
  return more.length ? Uint32Array.from([...found, ...more]).sort() : found;
}

const decoder = new TextDecoder(); // what is no UTF-8 becomes a sign for that

/**
 * The lines that begin in a piece. One that goes on after it is finished from what
 * follows, and one that is too long is cut.
 * @param {boolean} fresh whether a line begins with the first byte
 * @param {Uint8Array} bytes
 * @param {Uint32Array} begins
 * @param {Uint8Array} after bytes that follow the piece
 * @returns {{text: string, cut: number}[]} cut is how many bytes are not shown, at least
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

/** Whether a piece is in the middle of a line. */
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

// A line that was written over itself, as progress is, shows what was written last.
function afterReturns(text) {
  const at = text.lastIndexOf('\r');
  return at < 0 ? text : text.slice(at + 1);
}

/**
 * Pieces and how many lines begin in each, as far as that is known. What is not
 * known is guessed from what is.
 */
export class Count {
  constructor() {
    /** @type {(number|undefined)[]} by piece, from the first that there is */
    this.known = [];
    this.pieces = 0;
    this.first = 0;
    this.sums = null;
    /** Pieces in the middle of a line, whose rows have no number. */
    this.middles = new Set();
  }

  /** @param {number} first the first piece that there is @param {number} pieces the number after the last */
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

  /** What is known of a piece, to be told. @param {number} piece @returns {[piece: number, lines: number, middle: boolean]} */
  tell(piece) { return [piece, this.known[piece], this.middles.has(piece)]; }

  /** How many rows and lines are before each piece, with where that begins to be a guess. */
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

  /** All rows. */
  get total() { return this.sum().total; }
  /** All lines. */
  get lines() { return this.sum().lines; }
  /** Whether all are known. */
  get exact() { return this.sum().sure >= this.pieces; }
  /** The number of a line, from 1, or 0 if it is not known. @param {number} piece @param {number} line */
  number(piece, line) {
    const { numbers, sure } = this.sum();
    return piece <= sure && !this.middles.has(piece) ? numbers[piece] + line + 1 : 0;
  }
  /** How many lines are before one, about. */
  before(piece, line) { return (this.sum().before[piece] ?? 0) + line; }

  /** The piece and line that so many lines are before, about. @param {number} lines */
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
