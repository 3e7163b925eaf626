// The page's part of a conversation: the number of its blocks, the content of those that
// were shown last, and the result of a search. The log is read in a worker (worker.js).
import { signal, useEffect, useLayoutEffect, useMemo, useRef } from '../core/view.js';
import { Heights } from './heights.js';

const held = 600; // blocks whose content is kept
const patience = 2_000; // milliseconds before a failed request is repeated

export class Conversation {
  /** @param {string} url of the log */
  constructor(url) {
    /** The state of the log; count is the number of blocks, cut the number of those that were dropped at the beginning. */
    this.state = signal({ state: 'loading', error: '', from: 0, to: 0, starts: [], cut: 0, count: 0, whole: false, lines: 0, marks: [], todos: null });
    /** How much of the log was read, between 0 and 1. */
    this.progress = signal(0);
    /** Changes when the content of blocks has changed. */
    this.version = signal(0);
    /** The searched text, and the blocks that contain it. */
    this.found = signal({ text: '', matches: new Uint32Array(0), complete: true });
    /** The block of a line of the log that was asked for. */
    this.place = signal(null);
    /** Blocks that the user has unfolded or folded, by id. @type {Map<number, boolean>} */
    this.folds = new Map();
    /** Blocks of which all is shown, by id. @type {Set<number>} */
    this.full = new Set();
    this.url = url;
    this.clear();
    this.worker = new Worker('/assets/conversation/worker.js', { type: 'module', name: 'conversation' });
    this.worker.onmessage = ({ data }) => this.told[data.kind](data);
    this.ask({ do: 'open', url });
  }

  clear() {
    /** @type {Map<number, any>} */
    this.contents = new Map();
    /** Blocks whose content was asked for, or has changed since. */
    this.asked = new Set();
    this.stale = new Set();
    this.heights = new Heights();
    this.measured = new Set();
  }

  ask(what) { this.worker.postMessage(what); }
  follow() { this.ask({ do: 'follow' }); }
  pause() { this.ask({ do: 'pause' }); }
  end() { this.worker.terminate(); }

  search(text) {
    this.found.value = { text, matches: new Uint32Array(0), complete: !text };
    this.ask({ do: 'search', text });
  }

  /** Asks for the block of a line. @param {number} line */
  locate(line) { this.ask({ do: 'place', line }); }

  /** The content of a block, or undefined until it is loaded. @param {number} i */
  content(i) {
    const content = this.contents.get(i);
    if (content) {
      this.contents.delete(i);
      this.contents.set(i, content);
    }
    return content;
  }

  /** Loads the content of these blocks. @param {number[]} list */
  need(list) {
    const missing = list.filter((i) => !this.asked.has(i) && (!this.contents.has(i) || this.stale.has(i)));
    if (!missing.length) return;
    for (const i of missing) { this.asked.add(i); this.stale.delete(i); }
    this.ask({ do: 'contents', list: missing.map((i) => [i, this.full.has(this.contents.get(i)?.id)]) });
  }

  /** Shows all of a block. @param {any} content */
  whole(content) {
    this.full.add(content.id);
    this.stale.add(content.index);
    this.version.value++;
  }

  /** @param {any} content @param {boolean} open */
  fold(content, open) {
    this.folds.set(content.id, open);
    this.version.value++;
  }

  /** Whether a block is unfolded. @param {any} content @param {boolean} usual */
  open(content, usual) { return this.folds.get(content.id) ?? usual; }

  /** The handlers of the worker's messages, by kind. */
  get told() {
    return { news: (n) => this.news(n), contents: (n) => this.took(n), moved: (n) => this.moved(n), found: (n) => this.hit(n), reading: (n) => { this.progress.value = n.at / Math.max(1, n.of); }, place: (n) => { this.place.value = n; }, wrong: (n) => this.failed(n), again: () => this.again() };
  }

  news({ state, error, from, to, starts, cut, count, first, estimates, changed, marks, todos, whole, lines }) {
    if (this.heights.count < first) this.heights.append(new Uint16Array(first - this.heights.count)); // were dropped before they were seen
    this.heights.append(estimates);
    for (let i = this.state.value.cut; i < cut; i++) { this.heights.set(i, 0); this.contents.delete(i); }
    for (const i of changed) this.stale.add(i);
    this.state.value = { state, error, from, to, starts, cut, count, marks, todos, whole, lines };
    this.version.value++;
  }

  took({ shown }) {
    for (const [i, content] of shown) {
      this.asked.delete(i);
      this.contents.delete(i);
      if (content) this.contents.set(i, content);
    }
    for (const i of this.contents.keys()) {
      if (this.contents.size <= held) break;
      this.contents.delete(i);
    }
    this.version.value++;
  }

  // moved handles that the beginning of the log was read: blocks have other indexes now.
  moved({ moved }) {
    const { contents, heights, measured } = this;
    const places = new Map(moved);
    this.clear();
    this.carry = { places, heights: moved.filter(([before, now]) => now >= 0 && measured.has(before)).map(([before, now]) => [now, heights.own[before]]) };
    for (const [i, content] of contents) {
      const now = places.get(i) ?? -1;
      if (now < 0) continue;
      this.contents.set(now, { ...content, index: now });
      this.stale.add(now); // its line number is known now
    }
    this.state.value = { ...this.state.value, cut: 0, count: 0 };
  }

  hit({ text, matches, complete }) {
    if (text === this.found.value.text) this.found.value = { text, matches, complete };
  }

  failed({ about, message }) {
    if (about?.do === 'contents') setTimeout(() => { for (const [i] of about.list) this.asked.delete(i); this.version.value++; }, patience);
    this.state.value = { ...this.state.value, error: message };
  }

  // again starts over, because the log was replaced.
  again() {
    this.clear();
    this.folds.clear();
    this.full.clear();
    this.state.value = { ...this.state.value, state: 'loading', from: 0, to: 0, starts: [], cut: 0, count: 0, whole: false, marks: [], todos: null };
    this.version.value++;
  }
}

/**
 * Opens a conversation while it is shown, and follows it while the page is visible.
 * @param {string} url @param {any} task
 * @returns {Conversation}
 */
export function useConversation(url, task) {
  const conversation = useMemo(() => new Conversation(url), [url]);
  useLayoutEffect(() => { // a layout effect: the worker must end even if the page is left before it is painted
    const seen = () => (document.hidden ? conversation.pause() : conversation.follow());
    document.addEventListener('visibilitychange', seen);
    return () => { document.removeEventListener('visibilitychange', seen); conversation.end(); };
  }, [conversation]);
  const known = useRef(task.attempt?.id);
  useEffect(() => {
    if (known.current === task.attempt?.id) return;
    known.current = task.attempt?.id;
    conversation.follow();
  }, [task.attempt?.id]);
  return conversation;
}
