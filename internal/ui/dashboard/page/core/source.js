// An event stream of the server that reconnects by itself. It runs in a page or in the
// shared worker, so it must not use the page's DOM.

const silence = 40_000; // milliseconds without a message before it reconnects; the server sends one every 15 seconds
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
   * @param {string[]} names of the messages to pass on, besides hello
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

  // The id of hello is the change after which the stream continues. If it is not the
  // last change that we have, changes were missed.
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

  // again reconnects. The browser's own reconnection is not enough: it stops for good
  // after an error status, which a starting server may answer.
  again(after) {
    this.stream.close();
    clearTimeout(this.watch);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.admitted(), after);
  }

  // admitted checks the login before it reconnects: a broken stream does not report its
  // status.
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
