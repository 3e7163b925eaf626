// A stream of the server that comes back by itself. It runs in the page or in a
// worker that all pages of a browser share, so it uses nothing of a page.

const silence = 40_000; // the server says something every 15 seconds
const shortest = 1_000;
const longest = 10_000;

/**
 * @typedef {{kind: 'state', state: 'live'|'lost'|'refused', since: number}
 *   | {kind: 'hello', id: string, gap: boolean, data: string}
 *   | {kind: 'message', name: string, id: string, data: string}} Told
 */

export class Source {
  /**
   * @param {string} url
   * @param {string[]} names of the messages that are wanted, beside hello
   * @param {(told: Told) => void} tell
   */
  constructor(url, names, tell) {
    Object.assign(this, { url, names, tell, last: '', wait: shortest, state: 'lost', since: Date.now() });
    this.connect();
  }

  connect() {
    const url = new URL(this.url, location.origin);
    if (this.last) url.searchParams.set('last_event_id', this.last);
    const stream = this.stream = new EventSource(url);
    stream.addEventListener('hello', (e) => this.hello(e));
    for (const name of this.names) stream.addEventListener(name, (e) => this.message(name, e));
    for (const name of ['bye', 'behind']) stream.addEventListener(name, () => this.again(0));
    stream.onerror = () => { if (this.stream === stream) this.torn(); };
    this.heard();
  }

  // hello says after which change the stream goes on: after another one than we
  // know, something is missing.
  hello(e) {
    this.heard();
    const gap = this.last !== '' && e.lastEventId !== this.last;
    this.last = e.lastEventId;
    this.wait = shortest;
    this.turn('live');
    this.tell({ kind: 'hello', id: this.last, gap, data: e.data });
  }

  message(name, e) {
    this.heard();
    if (e.lastEventId) this.last = e.lastEventId;
    this.tell({ kind: 'message', name, id: e.lastEventId, data: e.data });
  }

  heard() {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => this.again(0), silence);
  }

  torn() {
    this.turn('lost');
    this.again(this.wait);
    this.wait = Math.min(longest, this.wait * 2);
  }

  // again does not leave it to the browser, which gives up for good when a server
  // that starts answers with an error.
  again(after) {
    this.stream.close();
    clearTimeout(this.watch);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.admitted(), after);
  }

  // admitted asks whether we may still look, which a torn stream does not tell.
  async admitted() {
    try {
      const res = await fetch('/v1/self', { credentials: 'same-origin', cache: 'no-store' });
      if (res.status === 401) return this.turn('refused');
      if (!res.ok) return this.torn();
    } catch {
      return this.torn();
    }
    this.connect();
  }

  turn(state) {
    if (this.state === state) return;
    this.state = state;
    this.since = Date.now();
    this.tell({ kind: 'state', state, since: this.since });
  }

  close() {
    this.stream.close();
    clearTimeout(this.watch);
    clearTimeout(this.timer);
  }
}

/** The stream of everything in the store. */
export const everything = { url: '/v1/stream?seen=1', names: ['update', 'seen'] };
