// The change of a task and its review, as the page shows them. The diff of a file is
// requested when the file comes into sight.
import { ask, get, path, send } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { batch, signal, useLayoutEffect, useMemo } from '../core/view.js';
import { linesOf, oldText } from './diff.js';
import { Highlighter } from './highlight.js';
import { treeOrder } from './order.js';

const atOnce = 4; // requests for files
const slowAfter = 3_000; // milliseconds
const restAfter = 150; // milliseconds without scrolling before files are highlighted
export const largest = 4_000; // changed lines of a file that is shown without a click

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
    /** How many lines of each gap are shown. */
    this.opened = {};
    /** Syntax of the lines: {old, new}. */
    this.runs = null;
    /** The user's choice to show or hide the lines. @type {boolean|null} */
    this.shown = null;
    this.coloured = false; // its syntax was requested
    this.accepted = false; // the user wants to see it although it is large
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
    /** The change is newer than what is shown. */
    this.newer = signal(null);
    /** @type {import('../core/view.js').Signal<File[]>} */
    this.files = signal([]);
    this.from = ''; // the tree that the change is compared with, if that is not its base
    this.wanted = []; // files in sight, the most important first
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
    this.load();
    return () => { this.forget(); this.over.abort(); this.highlighter.end(); clearTimeout(this.timer); };
  }

  async request() {
    let query = '';
    if (this.scope === 'since') {
      // An approval makes the current tree the one that was seen last. The page still compares with the one before.
      this.from ||= (await get(`${this.url}/change`, this.over.signal)).review?.seen ?? '';
      if (this.from) query = `?since=${encodeURIComponent(this.from)}`;
    } else if (this.scope) query = `?attempt=${encodeURIComponent(this.scope.replace('attempt-', ''))}`;
    return get(`${this.url}/change${query}`, this.over.signal);
  }

  /** Loads the change anew and shows it. */
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

  /** Shows an answer of the server. Files whose diff is the same keep what was loaded. */
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

  /** Asks what is new. A newer change is only announced: the diff does not move while it is read. */
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
    } catch { /* what is shown stays; the top bar says whether the server answers */ } finally {
      this.asking = false;
    }
    if (!this.again) return undefined;
    this.again = false;
    return this.look();
  }

  /** Says which files are in sight. @param {File[]} files */
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

  /** Reports whether a file is loaded as soon as it is in sight. @param {File} file */
  automatic(file) {
    return !file.file.binary && this.isShown(file) && (file.accepted || file.file.added + file.file.removed <= largest);
  }

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

  /** Finds the syntax of a file that was loaded. @param {File} file */
  async colour(file) {
    const { diff } = file;
    if (!diff?.hunks?.length || file.runs || file.coloured) return;
    file.coloured = true;
    let text;
    try { text = await this.textOf(file); } catch { return; } // the file stays plain
    if (diff.status !== 'added' && diff.status !== 'deleted' && !file.text) {
      file.text = text; // now it is known how many lines follow the last hunk
      file.touch();
    }
    const sides = [diff.status === 'added' ? [] : oldText(diff, text), text];
    const wanted = () => (file.coloured = this.wanted.includes(file)); // or else it is tried again
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
    batch(() => { review.value = { ...before, viewed }; file.shown = null; }); // at once
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
  useLayoutEffect(() => undo, [undo]); // also if the page is left before its first picture
  return source;
}
