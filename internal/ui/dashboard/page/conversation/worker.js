// The worker for the conversation of a task. It reads the log, keeps an index of its blocks
// and sends the content of those that are shown. The end of the log comes first: its
// beginning may be a hundred megabytes away.
import { size } from '../task/lines.js';
import { Store } from '../task/store.js';
import { common, contentOf, textContent } from './content.js';
import { eventsOf } from './events.js';
import { Index } from './index.js';
import { Reader, textOf } from './reader.js';

const lineBytes = 4 << 20; // bytes of a line that are read
const textBytes = 64 << 10; // bytes of a block of unchanged text that are read
const mostMatches = 20_000;

class Conversation {
  /** @param {string} url @param {(news: any) => void} told */
  constructor(url, told) {
    this.told = told;
    this.store = new Store(url, (news) => this.heard(news));
    this.begin();
  }

  begin() {
    this.stopper?.abort();
    this.stopper = new AbortController();
    this.reader = null;
    this.sent = 0; // blocks that the page knows
    this.whole = false; // the index has all of the log
    this.query = null;
    this.busy = false;
    this.more = false;
  }

  heard(news) {
    if (news.kind === 'again') {
      this.begin();
      this.told({ kind: 'again' });
    }
    if (news.kind !== 'span') return;
    this.state = { state: news.state, error: news.error, from: news.from, to: news.to };
    this.catchUp();
  }

  /** The reader of the end of the log: it starts with the oldest piece that was loaded. */
  tail() {
    const { store } = this;
    if (store.to === store.from) return new Reader(store.from, 0, new Index());
    let p = store.last;
    while (p > store.first && store.pieces.has(p - 1)) p--;
    const piece = store.pieces.get(p);
    const begin = Math.max(p * size, store.from);
    if (!piece) return new Reader(store.to, NaN, new Index());
    const first = p === store.first && piece.fresh;
    const skipped = piece.fresh ? 0 : piece.begins.find((b) => b > 0) ?? piece.bytes.length;
    const reader = new Reader(begin + skipped, first ? 0 : NaN, new Index());
    const started = store.starts.findLast(([, at]) => at < reader.at);
    if (started) {
      reader.opened = started[0];
      reader.index.begin(started[0], started[1], 0, false);
    }
    return reader;
  }

  // catchUp reads what is new in the log.
  async catchUp() {
    this.more = true;
    if (this.busy) return;
    this.busy = true;
    const { signal } = this.stopper;
    try {
      while (this.more && !signal.aborted) {
        this.more = false;
        if (!this.reader) {
          this.reader = this.tail();
          if (Number.isNaN(this.reader.number)) this.readAll(signal);
          else this.whole = true;
        }
        await this.read(this.reader, signal);
        if (this.state.state === 'ended') this.reader.finish();
        if (!signal.aborted) this.tell();
      }
    } catch (e) {
      if (!signal.aborted) this.told({ kind: 'wrong', message: e.message });
    } finally {
      if (!signal.aborted) this.busy = false;
    }
  }

  async read(reader, signal) {
    const { store } = this;
    while (reader.at < store.to && !signal.aborted) {
      const p = Math.floor(reader.at / size);
      const { bytes } = await store.piece(p);
      const part = bytes.subarray(reader.at - Math.max(p * size, store.from));
      if (!part.length) return;
      reader.feed(part, store.starts);
    }
  }

  // readAll indexes the whole log, then uses that index instead of the one of the log's end.
  async readAll(signal) {
    try {
      const reader = await this.sweep(new Index(), signal);
      await this.read(reader, signal);
      if (signal.aborted) return;
      const before = this.reader.index;
      const after = reader.index;
      const ids = new Map(after.blocks.map((b) => [b.id, b.index]));
      const moved = before.blocks.map((b) => [b.index, ids.get(b.id) ?? -1]);
      if (this.state.state === 'ended') reader.finish();
      this.reader = reader;
      this.whole = true;
      this.sent = 0;
      this.told({ kind: 'moved', moved });
      this.tell();
      if (this.wanted) this.search(this.wanted);
    } catch (e) {
      if (!signal.aborted) this.told({ kind: 'wrong', message: e.message });
    }
  }

  async sweep(index, signal) {
    const { store } = this;
    let reader = null;
    let reached = 0;
    await store.sweep(signal, (p, piece, next, at) => {
      reader ??= new Reader(at, 0, index);
      reader.feed(piece.bytes, store.starts);
      if (Date.now() - reached < 150) return;
      reached = Date.now();
      this.told({ kind: 'reading', at: reader.at - store.from, of: store.to - store.from });
    });
    return reader ?? new Reader(store.from, 0, index);
  }

  /** Tells the page about new and changed blocks. */
  tell() {
    const { index, number } = this.reader;
    const from = Math.max(this.sent, index.cut);
    const fresh = index.blocks.slice(from - index.cut);
    const changed = [...index.changed].filter((i) => i < from && i >= index.cut);
    index.changed.clear();
    this.told({
      kind: 'news', ...this.state, starts: this.store.starts, cut: index.cut, count: index.count, first: from, estimates: Uint16Array.from(fresh, (b) => b.estimate), changed,
      marks: index.marks, todos: index.todos, whole: this.whole, lines: Number.isNaN(number) ? 0 : number,
    });
    this.sent = index.count;
    if (this.query?.grown) { this.query.grown = false; this.report(); }
  }

  /** The bytes of a part of the log. */
  async bytes(offset, length) {
    const { store } = this;
    const whole = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const at = offset + done;
      const p = Math.floor(at / size);
      const { bytes } = await store.piece(p);
      const begin = at - Math.max(p * size, store.from);
      const part = bytes.subarray(begin, begin + length - done);
      if (!part.length) break;
      whole.set(part, done);
      done += part.length;
    }
    return whole.subarray(0, done);
  }

  /** The content of a block. @param {number} i @param {boolean} full */
  async content(i, full) {
    const block = this.reader.index.at(i);
    if (!block) return null;
    if (block.kind === 'begin') return common(block);
    if (block.kind === 'text') {
      const [offset, length] = block.parts[0];
      const bytes = await this.bytes(offset, Math.min(length, textBytes));
      const lines = [];
      for (let from = 0; from < bytes.length;) {
        const end = bytes.indexOf(10, from);
        const to = end < 0 ? bytes.length : end + 1;
        lines.push(textOf(bytes.subarray(from, to)));
        from = to;
      }
      return textContent(block, lines, length - bytes.length);
    }
    const events = [];
    for (const [offset, length, n] of block.parts) events.push(eventsOf(textOf(await this.bytes(offset, Math.min(length, lineBytes))))?.[n]);
    if (!events[0]) return { ...common(block), kind: 'note', text: 'This part of the log is no longer on the server.', more: 0, count: 1 };
    return contentOf(block, events.filter(Boolean), full);
  }

  async contents(list) {
    const { index } = this.reader;
    const shown = await Promise.all(list.map(async ([i, full]) => [i, await this.content(i, full)]));
    if (this.reader?.index === index) this.told({ kind: 'contents', shown });
  }

  /** The block that a line of the log belongs to. */
  place(line) { this.told({ kind: 'place', line, index: this.whole ? this.reader.index.ofLine(line) : -1 }); }

  /** Finds the blocks that contain a text. It reads the whole log again. */
  async search(text) {
    this.query?.stopper.abort();
    this.wanted = text;
    this.query = null;
    const watched = this.reader?.index;
    if (watched) watched.seen = () => {};
    if (!text || !this.whole) return; // it starts when the whole log was read
    const wanted = text.toLowerCase();
    const query = this.query = { text, stopper: new AbortController(), matches: new Set(), complete: false, grown: false };
    const see = (block, e) => {
      if (query.matches.size < mostMatches && readable(e).toLowerCase().includes(wanted)) query.grown = Boolean(query.matches.add(block.index));
    };
    watched.seen = see;
    try {
      await this.sweep(new Index(see), query.stopper.signal);
      query.complete = true;
    } catch (e) {
      if (!query.stopper.signal.aborted) this.told({ kind: 'wrong', message: e.message });
    }
    if (this.query === query) this.report();
  }

  report() {
    const { text, matches, complete } = this.query;
    this.told({ kind: 'found', text, matches: Uint32Array.from([...matches].sort((a, b) => a - b)), complete });
  }
}

/** The shown text of an event. */
function readable(e) {
  const input = e.kind === 'call' && e.input ? JSON.stringify(e.input).replaceAll('\\n', '\n').replaceAll('\\"', '"') : '';
  return [e.tool, e.what, e.text, input].filter(Boolean).join('\n');
}

let conversation;

const tasks = {
  open({ url }) {
    conversation = new Conversation(url, (news) => postMessage(news));
    return conversation.store.open();
  },
  contents({ list }) { return conversation.contents(list); },
  place({ line }) { conversation.place(line); },
  search({ text }) { return conversation.search(text); },
  follow() { return conversation.store.follow(); },
  pause() { conversation.store.stop(); },
};

onmessage = async ({ data }) => {
  try {
    await tasks[data.do](data);
  } catch (e) {
    postMessage({ kind: 'wrong', about: data, message: e.message });
  }
};
