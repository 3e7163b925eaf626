// The bytes of a log, in a worker. It loads pieces on demand, keeps a limited number of
// them, and appends new output at the end.
import { Count, longest, size, starts, texts, within } from './lines.js';
import { search } from './search.js';

const held = 96; // maximum number of pieces that are kept
const tell = 100; // milliseconds between two messages about a growing log
const shortest = 1_000;
const patience = 10_000;

const number = (res, name) => Number(res.headers.get(`Gaffer-Log-${name}`)) || 0;

/** @typedef {{bytes: Uint8Array, begins: Uint32Array, fresh: boolean}} Piece fresh: a line starts with its first byte; begins: the offsets of its lines */

export class Store {
  /** @param {string} url @param {(news: any) => void} told */
  constructor(url, told) {
    Object.assign(this, { url, told, from: 0, to: 0, starts: [], count: new Count(), query: null });
    /** The loaded pieces, the least recently used first. @type {Map<number, Piece>} */
    this.pieces = new Map();
    this.loading = new Map();
    this.wait = shortest;
    this.more = false;
    this.following = null;
    /** How often the log was loaded anew. Answers to requests of an earlier round are dropped. */
    this.round = 0;
  }

  get first() { return Math.floor(this.from / size); }
  get last() { return Math.max(this.first, Math.ceil(this.to / size) - 1); }

  /** Loads the end of the log, then follows it. */
  async open() {
    const { round } = this;
    try {
      const res = await this.ask(`?tail=${2 * size + 1}`);
      const bytes = new Uint8Array(await res.arrayBuffer());
      if (round !== this.round) return undefined;
      this.note(res);
      this.takeEnd(number(res, 'From'), bytes);
      this.tellSpan('live');
      this.follow();
      return undefined;
    } catch (e) {
      if (round !== this.round) return undefined;
      if (e.status) return this.tellSpan('wrong', e.message);
      this.tellSpan('lost');
      this.timer = setTimeout(() => this.open(), shortest);
      return undefined;
    }
  }

  async ask(query, init) {
    const res = await fetch(this.url + query, { credentials: 'same-origin', cache: 'no-store', ...init });
    if (res.ok) return res;
    const body = await res.json().catch(() => ({}));
    throw Object.assign(new Error(body.error?.message ?? `The server answered ${res.status}.`), { status: res.status });
  }

  // note reads the log's range and the starts of attempts from a response's headers. If
  // an attempt still writes output after the next one has started, the next one's offsets
  // move. Then note throws an error and the log is loaded again.
  note(res) {
    const starts = (res.headers.get('Gaffer-Log-Starts') ?? '').split(',').filter(Boolean).map((s) => s.split('=').map(Number));
    const moved = this.starts.some(([n, at]) => starts.some((s) => s[0] === n && s[1] !== at));
    this.from = Math.max(this.from, number(res, 'Kept'));
    this.starts = starts;
    if (moved) throw Object.assign(new Error('The log was moved.'), { moved });
  }

  // takeEnd stores the complete pieces of the log's end.
  takeEnd(from, bytes) {
    this.to = from + bytes.length;
    for (let p = this.last; p >= this.first; p--) {
      const begin = Math.max(p * size, this.from);
      if (begin < from) return;
      const fresh = begin === this.from || begin > from && bytes[begin - from - 1] === 10;
      if (begin === from && !fresh) return;
      this.keep(p, bytes.slice(begin - from, (p + 1) * size - from), fresh);
    }
  }

  /** The starts of attempts, relative to the start of a piece. */
  cuts(p) { return this.starts.map(([, at]) => at - Math.max(p * size, this.from)); }

  /** The lines of a piece with which an attempt starts. @returns {[line: number, attempt: number][]} */
  marks(p, piece) {
    const cuts = this.cuts(p);
    return this.starts.map(([attempt], i) => [piece.begins.indexOf(cuts[i]), attempt]).filter(([line]) => line >= 0);
  }

  keep(p, bytes, fresh) {
    const piece = { bytes, fresh, begins: starts(bytes, fresh, this.cuts(p)) };
    this.pieces.delete(p);
    this.pieces.set(p, piece);
    this.count.span(this.first, this.last + 1);
    this.count.set(p, piece.begins.length, within(fresh, piece.begins));
    for (const old of this.pieces.keys()) {
      if (this.pieces.size <= held) break;
      if (old !== this.last && old !== p) this.pieces.delete(old);
    }
    return piece;
  }

  /** @param {number} p @returns {Promise<Piece>} */
  async piece(p) {
    const there = this.pieces.get(p);
    if (there) {
      this.pieces.delete(p);
      this.pieces.set(p, there);
      return there;
    }
    if (!this.loading.has(p)) this.loading.set(p, this.fetchPiece(p).finally(() => this.loading.delete(p)));
    return this.loading.get(p);
  }

  async fetchPiece(p) {
    const none = { bytes: new Uint8Array(0), begins: new Uint32Array(0), fresh: false };
    const { round } = this;
    const begin = Math.max(p * size, this.from);
    const end = this.pieceEnd(p);
    if (begin >= end) return none;
    const res = await this.ask('', { headers: { Range: `bytes=${Math.max(begin - 1, this.from)}-${end - 1}` } });
    const from = number(res, 'From');
    const bytes = new Uint8Array(await res.arrayBuffer());
    if (round !== this.round) return none;
    try { this.note(res); } catch (e) { this.again(); throw e; }
    if (this.pieceEnd(p) > end) return this.fetchPiece(p); // the log has grown since the request
    if (from < begin) return this.keep(p, bytes.subarray(1), bytes[0] === 10);
    if (from >= end) return none; // the server no longer has these bytes
    return this.keep(p, bytes, true);
  }

  pieceEnd(p) { return Math.min((p + 1) * size, this.to); }

  /** The lines that start in a piece, from the given index on. */
  async lines(p, from = 0) {
    const piece = await this.piece(p);
    const begins = from ? piece.begins.subarray(from) : piece.begins;
    return texts(piece.fresh || from > 0, piece.bytes, begins, await this.after(p, piece));
  }

  /** The lines of a piece as the message for the page. */
  async shown(p, from) {
    const piece = await this.piece(p);
    return { piece: p, from, lines: await this.lines(p, from), marks: this.marks(p, piece), held: this.pieces.size };
  }

  /** The bytes after a piece that complete its last line. */
  async after(p, piece) {
    if (!piece.begins.length || piece.bytes.at(-1) === 10) return new Uint8Array(0);
    const parts = [];
    let n = 0;
    for (let next = p + 1; next <= this.last && n < longest; next++) {
      const { bytes } = await this.piece(next);
      parts.push(bytes);
      n += bytes.length;
      if (bytes.includes(10)) break;
    }
    const whole = new Uint8Array(n);
    parts.reduce((at, b) => { whole.set(b, at); return at + b.length; }, 0);
    return whole;
  }

  // follow appends new output until the server ends the response. If it is already
  // following, it continues with the next attempt when the current output is complete.
  async follow() {
    if (this.following) { this.more = true; return; }
    this.stop();
    const stopper = this.following = new AbortController();
    try {
      const res = await this.ask(`?offset=${this.to}&follow=1`, { signal: stopper.signal });
      this.note(res);
      this.wait = shortest;
      this.tellSpan('live');
      const reader = res.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.append(value);
      }
      this.flush();
      this.following = null;
      await this.ended();
    } catch (e) {
      if (stopper.signal.aborted) return;
      this.stop();
      this.torn(e);
    }
  }

  // ended continues if there is more output, such as another attempt's.
  async ended() {
    const res = await this.ask('?tail=1', { method: 'HEAD' });
    this.note(res);
    const { more } = this;
    this.more = false;
    if (more || number(res, 'To') > this.to) return this.follow();
    return this.tellSpan('ended');
  }

  // torn handles a broken connection: it continues at the last position. If the log has
  // become shorter, it was replaced and is loaded again.
  torn(e) {
    if (e.status === 416 || e.moved) return this.again();
    if (e.status >= 400 && e.status < 500) return this.tellSpan('wrong', e.message);
    this.tellSpan('lost');
    this.timer = setTimeout(() => this.follow(), this.wait);
    this.wait = Math.min(patience, 2 * this.wait);
  }

  again() {
    this.round++;
    this.stop();
    this.query?.end();
    this.query = null;
    this.pieces.clear();
    this.loading.clear();
    this.count = new Count();
    Object.assign(this, { from: 0, to: 0, starts: [] });
    this.told({ kind: 'again' });
    return this.open();
  }

  // stop first sends the pending message, because the log may be closed or replaced
  // afterwards.
  stop() {
    if (this.flushing) this.flush();
    clearTimeout(this.timer);
    this.following?.abort();
    this.following = null;
  }

  /** @param {Uint8Array} bytes */
  append(bytes) {
    for (let at = 0; at < bytes.length;) {
      const p = Math.floor(this.to / size);
      const old = this.pieces.get(p);
      const room = (p + 1) * size - this.to;
      const part = bytes.subarray(at, at + room);
      at += part.length;
      this.to += part.length;
      this.grow(p, old, part, this.to - part.length);
    }
    this.flushing ??= setTimeout(() => this.flush(), tell);
  }

  // grow adds new output to the last piece. If the piece is not loaded, or not to its end, it is
  // dropped, and loaded as a whole when it is needed.
  grow(p, old, part, at) {
    const begin = Math.max(p * size, this.from);
    if (begin + (old?.bytes.length ?? 0) !== at) { this.pieces.delete(p); return; }
    if (!old) { this.keep(p, part.slice(), p === this.first || this.pieces.get(p - 1)?.bytes.at(-1) === 10); return; }
    const whole = new Uint8Array(old.bytes.length + part.length);
    whole.set(old.bytes);
    whole.set(part, old.bytes.length);
    this.keep(p, whole, old.fresh);
  }

  flush() {
    clearTimeout(this.flushing);
    this.flushing = null;
    this.tellSpan('live');
    this.query?.grew(this.last);
  }

  tellSpan(state, error = '') {
    this.count.span(this.first, this.last + 1);
    this.told({ kind: 'span', state, error, from: this.from, to: this.to, starts: this.starts, first: this.first, last: this.last, known: this.known() });
  }

  /** The number of lines of each loaded piece, for the page. */
  known() {
    const list = [];
    for (const p of this.pieces.keys()) list.push(this.count.tell(p));
    return list;
  }

  /**
   * Reads the whole log once without storing it, and calls visit for each piece.
   * @param {AbortSignal} signal
   * @param {(p: number, piece: Piece, next: Uint8Array, at: number) => void} visit at is the offset of the piece's first byte
   */
  async sweep(signal, visit) {
    const res = await this.ask(`?offset=${this.from}`, { signal });
    let at = number(res, 'From');
    let bytes = new Uint8Array(0);
    let fresh = true;
    let before = null; // the previous piece, which visit gets together with the next bytes
    const done = (whole) => {
      const p = Math.floor(at / size);
      const piece = { bytes: whole, fresh, begins: starts(whole, fresh, this.cuts(p)) };
      if (before) visit(before.p, before.piece, whole, before.at);
      before = { p, piece, at };
      fresh = whole.at(-1) === 10;
      at += whole.length;
    };
    for (const reader = res.body.getReader(); ;) {
      const { done: ended, value } = await reader.read();
      if (ended) break;
      bytes = joined(bytes, value);
      for (let need = size - at % size; bytes.length >= need; need = size - at % size) {
        const whole = bytes.slice(0, need);
        bytes = bytes.subarray(need);
        done(whole);
      }
    }
    if (bytes.length) done(bytes.slice());
    if (before) visit(before.p, before.piece, new Uint8Array(0), before.at);
  }

  /** Searches for a text. If it is empty, only counts lines. */
  search(text, raw) {
    this.query?.end();
    this.query = search(this, text, raw);
    this.query.begin();
  }
}

function joined(a, b) {
  if (!a.length) return b;
  const whole = new Uint8Array(a.length + b.length);
  whole.set(a);
  whole.set(b, a.length);
  return whole;
}
