// The change of a task and its review, as the page shows them. The diff of a file is
// loaded when the file becomes visible.
import { ask, get, path, send } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { onReturn } from '../core/stream.js';
import { batch, signal, useLayoutEffect, useMemo } from '../core/view.js';
import { linesOf, oldText } from './diff.js';
import { Highlighter } from './highlight.js';
import { treeOrder } from './order.js';

const atOnce = 4; // parallel requests for files
const slowAfter = 3_000; // milliseconds
const askAgain = 1_000; // milliseconds
const restAfter = 150; // milliseconds without scrolling before files are highlighted
export const largest = 4_000; // a file with more changed lines is shown only after a click

/** One file of the change. */
export class File {
  constructor(file) {
    /** A fleet.ChangeFile. */
    this.file = file;
    this.path = file.path;
    /** 'unread', 'loading', 'ready' or 'failed'. */
    this.state = 'unread';
    this.error = '';
    /** A fleet.FileChange. */
    this.diff = null;
    /** The lines of the new file. @type {string[]|null} */
    this.text = null;
    /** The number of shown lines of each gap. */
    this.opened = {};
    /** Syntax of the lines: {old, new}. */
    this.runs = null;
    /** The user's choice to show or hide the lines. @type {boolean|null} */
    this.shown = null;
    this.coloured = false; // its syntax was requested
    this.accepted = false; // the user has chosen to show it although it is large
    this.version = signal(0);
  }
  touch() { this.version.value++; }
}

export class Source {
  /** @param {string} run @param {string} task @param {string} scope '', 'since' or 'attempt-N' */
  constructor(run, task, scope) {
    Object.assign(this, { run, task, scope, url: path`/v1/runs/${run}/tasks/${task}` });
    /** 'loading', 'slow', 'ready', 'failed', or 'none' for a task without a change. */
    this.state = signal('loading');
    this.error = signal('');
    this.change = signal(null);
    this.review = signal(null);
    this.anchors = signal([]);
    this.messages = signal([]);
    this.checks = signal([]);
    /** The server's answer with a newer change than the shown one, or null. */
    this.newer = signal(null);
    /** @type {import('../core/view.js').Signal<File[]>} */
    this.files = signal([]);
    this.from = ''; // the tree that the change is compared with, if that is not its base
    this.wanted = []; // visible files, the most important first
    this.loading = 0;
    this.highlighter = new Highlighter();
    this.over = new AbortController();
  }

  open() {
    this.forget = onChange(({ type, change: c }) => {
      if (c.run !== this.run || (c.task ?? c.id) !== this.task) return;
      if (type === 'reviews' || type === 'messages' || (type === 'tasks' && c.status !== this.status)) this.look();
      if (type === 'tasks') this.status = c.status;
    });
    const unfollow = onReturn((again) => { if (again || this.state.value === 'failed') this.returned(); });
    this.load();
    return () => { this.forget(); unfollow(); this.over.abort(); this.highlighter.end(); clearTimeout(this.timer); };
  }

  async request() {
    let query = '';
    if (this.scope === 'since') {
      // An approval sets 'seen' to the current tree. The page keeps comparing with the earlier tree.
      this.from ||= (await get(`${this.url}/change`, this.over.signal)).review?.seen ?? '';
      if (this.from) query = `?since=${encodeURIComponent(this.from)}`;
    } else if (this.scope) query = `?attempt=${encodeURIComponent(this.scope.replace('attempt-', ''))}`;
    return get(`${this.url}/change${query}`, this.over.signal);
  }

  /** Loads the change and shows it. */
  async load() {
    if (this.state.value !== 'ready') this.state.value = 'loading';
    const slow = setTimeout(() => { if (this.state.value === 'loading') this.state.value = 'slow'; }, slowAfter);
    try {
      this.show(await this.request());
    } catch (e) {
      if (e.name === 'AbortError') return;
      batch(() => { this.error.value = e.message; this.state.value = e.code === 'no_change' ? 'none' : 'failed'; });
    } finally {
      clearTimeout(slow);
    }
  }

  /** Shows an answer of the server. Files with an unchanged diff keep their loaded data. */
  show(answer) {
    const before = new Map(this.files.value.map((f) => [f.path, f]));
    batch(() => {
      this.change.value = answer.change;
      this.files.value = (answer.change.files ?? []).map((file) => {
        const known = before.get(file.path);
        if (known?.file.digest === file.digest) {
          known.file = file;
          return known;
        }
        return new File(file);
      }).sort((a, b) => treeOrder(a.path, b.path));
      this.newer.value = null;
      this.anchors.value = answer.anchors ?? [];
      this.about(answer);
      this.error.value = '';
      this.state.value = 'ready';
    });
    this.fetch();
  }

  about(answer) {
    this.review.value = answer.review;
    this.messages.value = answer.messages ?? [];
    this.checks.value = answer.checks ?? [];
  }

  /** Checks for a newer change. It is only announced, so that the diff does not move while the user reads. */
  async look() {
    if (this.state.value === 'failed' || this.state.value === 'none') return this.load();
    if (this.state.value !== 'ready') return undefined;
    if (this.asking) {
      this.again = true;
      return undefined;
    }
    this.asking = true;
    try {
      const answer = await this.request();
      if (answer.change.tree === this.change.value.tree) this.show(answer);
      else batch(() => { this.about(answer); this.newer.value = answer; });
    } catch { /* keep the shown change; the top bar shows whether the server answers */ } finally {
      this.asking = false;
    }
    if (!this.again) return undefined;
    this.again = false;
    return this.look();
  }

  /** Called when the server answers again. The review may have changed, and failed files are loaded again. */
  returned() {
    this.wake?.();
    this.look();
    for (const file of this.files.value) {
      if (file.state !== 'failed') continue;
      file.state = 'unread';
      file.touch();
    }
    this.fetch();
  }

  /** Waits until the server answers, and returns the review. */
  async answered() {
    for (;;) {
      try {
        return (await this.request()).review;
      } catch (e) {
        if (e.code !== 'away') throw e;
      }
      await new Promise((done) => { this.wake = done; setTimeout(done, askAgain); });
    }
  }

  /** Sets which files are visible. @param {File[]} files */
  want(files) {
    this.wanted = files;
    this.fetch();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { for (const file of this.wanted) this.colour(file); }, restAfter);
  }

  fetch() {
    for (const file of this.wanted) {
      if (this.loading >= atOnce) return;
      if (file.state === 'unread' && this.automatic(file)) this.read(file);
    }
  }

  /** Whether a file is loaded as soon as it is visible. @param {File} file */
  automatic(file) {
    return !file.file.binary && this.isShown(file) && (file.accepted || file.file.added + file.file.removed <= largest);
  }

  /** Whether a visible file has not been loaded yet, but will be. @param {File} file */
  isAwaited(file) { return file.state === 'loading' || (file.state === 'unread' && this.automatic(file)); }

  /** 'no', 'yes' or 'changed': whether the user has marked a file as viewed. @param {any} file */
  viewed(file) {
    const digest = this.review.value?.viewed?.[file.path];
    return !digest ? 'no' : digest === file.digest ? 'yes' : 'changed';
  }

  /** @param {File} file */
  isShown(file) { return file.shown ?? this.viewed(file.file) !== 'yes'; }

  /** Loads the diff of a file. @param {File} file */
  async read(file) {
    this.loading++;
    file.state = 'loading';
    file.touch();
    try {
      const q = new URLSearchParams({ path: file.path, tree: this.change.value.tree });
      if (this.from) q.set('from', this.from);
      const { file: diff } = await get(`${this.url}/change/file?${q}`, this.over.signal);
      file.diff = diff;
      file.state = 'ready';
    } catch (e) {
      if (e.name === 'AbortError') return;
      file.state = 'failed';
      file.error = e.message;
    } finally {
      this.loading--;
    }
    file.touch();
    this.fetch();
  }

  /** Loads the text of the new file. @param {File} file @returns {Promise<string[]>} */
  textOf(file) {
    const { status, new_blob: blob } = file.file;
    if (status === 'deleted' || !blob) return Promise.resolve([]);
    if (status === 'added') return Promise.resolve((file.diff.hunks ?? []).flatMap((h) => h.lines.map((l) => l.text.replace(/\n$/, ''))));
    return file.reading ??= ask(`${this.url}/change/blob?blob=${encodeURIComponent(blob)}`, { signal: this.over.signal })
      .then((res) => res.text()).then(linesOf)
      .catch((e) => { file.reading = null; throw e; });
  }

  /** Requests the syntax of a loaded file. @param {File} file */
  async colour(file) {
    const { diff } = file;
    if (!diff?.hunks?.length || file.runs || file.coloured) return;
    file.coloured = true;
    let text;
    try { text = await this.textOf(file); } catch { return; } // the file stays plain
    if (diff.status !== 'added' && diff.status !== 'deleted' && !file.text) {
      file.text = text; // so the number of lines after the last hunk is known
      file.touch();
    }
    const sides = [diff.status === 'added' ? [] : oldText(diff, text), text];
    const wanted = () => (file.coloured = this.wanted.includes(file)); // if it is no longer visible, try again later
    this.highlighter.add(file.path, sides.map((lines) => lines.join('\n')), wanted, ([old, fresh]) => {
      if (file.diff !== diff) return;
      file.runs = { old, new: fresh };
      file.touch();
    });
  }

  /** Shows more lines of a gap. @param {File} file @param {number} gap @param {'top'|'bottom'|'all'} where */
  async expand(file, gap, where) {
    file.text = await this.textOf(file);
    const { top = 0, bottom = 0 } = file.opened[gap] ?? {};
    const more = { top: [20, 0], bottom: [0, 20], all: [1e9, 0] }[where];
    file.opened = { ...file.opened, [gap]: { top: top + more[0], bottom: bottom + more[1] } };
    file.touch();
  }

  /** Changes the review. @param {any} body */
  async act(body) {
    const answer = await send(`${this.url}/review`, body);
    if (answer.review) this.review.value = answer.review;
    else await this.look();
    return answer;
  }

  /** @param {File} file @param {boolean} on */
  async view(file, on) {
    const { review } = this;
    const before = review.value;
    const viewed = { ...before?.viewed };
    if (on) viewed[file.path] = file.file.digest;
    else delete viewed[file.path];
    batch(() => { review.value = { ...before, viewed }; file.shown = null; }); // before the server answers
    file.touch();
    try {
      const answer = await send(`${this.url}/review`, { action: 'view', path: file.path, digest: on ? file.file.digest : '' });
      if (answer.review) review.value = answer.review;
    } catch (e) {
      review.value = before;
      throw e;
    }
  }
}

/** @param {string} run @param {string} task @param {string} scope @returns {Source} */
export function useReview(run, task, scope) {
  const source = useMemo(() => new Source(run, task, scope), [run, task, scope]);
  const undo = useMemo(() => source.open(), [source]);
  useLayoutEffect(() => undo, [undo]); // a layout effect, because it is also needed if the page is left before it is painted
  return source;
}
