// The connection to an agent's terminal. Binary messages have output in one direction and
// keys in the other; text messages are JSON.
import { signal } from '../core/view.js';

const shortest = 1_000;
const longest = 10_000;
const confirmed = 16 << 10; // bytes of output after which the page tells the server what it has shown
const largest = 4 << 10; // bytes of one message with keys

/**
 * The state of a terminal, as the server reports it.
 * blank: no screen was shown so far.
 * @typedef {{phase: 'waiting'|'live'|'closed'|'ended', screen: string, blank: boolean, columns: number, rows: number, typist?: string, mine?: boolean,
 *   attempt?: number, status?: string, class?: string, exit?: number, summary?: string}} State
 */

export class Socket {
  /**
   * @param {string} url path of the terminal
   * @param {{columns: number, rows: number}} size
   * @param {{output: (data: Uint8Array, shown: () => void) => void, state: (now: State, before: State|null) => void, refused: (message: string) => void}} told
   */
  constructor(url, size, told) {
    Object.assign(this, { url, size, told, wait: shortest, over: false, number: 0, elsewhere: false });
    /** connecting, open, lost, failed or ended. */
    this.connection = signal('connecting');
    /** Why the terminal cannot be shown, or empty. elsewhere: there is none, or it is on another machine. */
    this.problem = signal('');
    /** @type {import('@preact/signals').Signal<State|null>} */
    this.state = signal(null);
    this.connect();
  }

  connect() {
    const url = new URL(this.url, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    url.search = new URLSearchParams({ columns: this.size.columns, rows: this.size.rows });
    const socket = this.socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.shown = 0;
    this.pending = 0;
    this.number++;
    socket.onmessage = ({ data }) => { if (this.socket === socket) typeof data === 'string' ? this.message(JSON.parse(data)) : this.output(socket, new Uint8Array(data)); };
    socket.onclose = (e) => { if (this.socket === socket && !this.over) this.closed(e); };
  }

  message(m) {
    if (m.type === 'state') {
      const before = this.state.value;
      // The screens of another connection have other numbers.
      const now = { ...m, screen: `${this.number}.${m.screen}`, blank: m.screen === 0 };
      this.connection.value = 'open';
      this.problem.value = '';
      this.wait = shortest;
      this.state.value = now;
      this.told.state(now, before);
    } else if (m.type === 'error') {
      if (this.connection.value === 'open' && m.error.code === 'forbidden') this.told.refused(m.error.message);
      else {
        this.elsewhere = m.error.code === 'no_terminal';
        this.problem.value = m.error.message;
      }
    }
  }

  // The server sends only a part of the output ahead of what was shown.
  output(socket, data) {
    this.pending++;
    this.told.output(data, () => {
      if (this.socket !== socket) return;
      this.pending--;
      this.shown += data.length;
      if (this.shown < confirmed && this.pending > 0) return;
      this.send({ type: 'shown', bytes: this.shown });
      this.shown = 0;
    });
  }

  closed({ code, reason }) {
    const last = this.state.value;
    if (last) this.state.value = { ...last, mine: false, typist: '' };
    if (code === 1000) this.connection.value = 'ended';
    else if (this.problem.value) this.connection.value = 'failed';
    else if (code === 1008) {
      this.problem.value = `The server has closed the terminal: ${reason}.`;
      this.connection.value = 'failed';
    } else {
      this.connection.value = 'lost';
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(longest, this.wait * 2);
    }
  }

  /** Connects again after a failure. */
  again() {
    this.elsewhere = false;
    this.problem.value = '';
    this.connection.value = 'connecting';
    this.connect();
  }

  send(message) { if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message)); }

  /** @param {{columns: number, rows: number}} size */
  resize(size) {
    this.size = size;
    this.send({ type: 'resize', ...size });
  }

  /** @param {boolean} take */
  keyboard(take) { this.send({ type: 'keyboard', take }); }

  /** @param {Uint8Array} keys */
  type(keys) {
    if (!this.state.value?.mine || this.socket.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < keys.length; at += largest) this.socket.send(keys.subarray(at, at + largest));
  }

  close() {
    this.over = true;
    clearTimeout(this.timer);
    this.socket.close();
  }
}
