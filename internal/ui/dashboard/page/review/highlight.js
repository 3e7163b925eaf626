// Syntax highlighting of files, one at a time, in a worker that is terminated if it takes
// too long. Such a file stays plain text.

/** The CSS classes, named after the scopes of highlight.js. The first one is plain text. */
export const names = ['', 'keyword', 'string', 'comment', 'number', 'title', 'type', 'built_in', 'literal', 'attr', 'attribute', 'variable', 'meta', 'tag', 'name', 'symbol', 'regexp', 'section', 'bullet', 'code', 'link', 'quote', 'selector-tag', 'selector-class', 'selector-id', 'property', 'params', 'addition', 'deletion', 'doctag', 'template-variable'];

const limit = 2_000; // milliseconds for one file
const startLimit = 15_000; // for the start of the worker
const largest = 400_000; // characters

const byName = { makefile: 'makefile', gnumakefile: 'makefile', dockerfile: 'bash', 'go.mod': 'go', '.bashrc': 'bash', '.profile': 'bash', gemfile: 'ruby', rakefile: 'ruby' };

/** The name of a file's language, or nothing. @param {string} path */
export function languageOf(path) {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (Object.hasOwn(byName, name)) return byName[name];
  const dot = name.lastIndexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}

export class Highlighter {
  constructor() {
    /** Waiting jobs. The newest is last and runs first: the user looks at that file. */
    this.queue = [];
    this.busy = null;
    this.next = 0;
  }

  /**
   * Calls done with the runs of each line of each text, unless that is not possible.
   * @param {string} path @param {string[]} texts @param {() => boolean} wanted whether the file is still visible
   * @param {(lines: any[][]) => void} done
   */
  add(path, texts, wanted, done) {
    const language = languageOf(path);
    if (!language || texts.reduce((n, t) => n + t.length, 0) > largest) return;
    this.queue.push({ id: ++this.next, language, texts, wanted, done });
    this.begin();
  }

  begin() {
    if (this.busy) return;
    do this.busy = this.queue.pop() ?? null; while (this.busy && !this.busy.wanted());
    if (!this.busy) return;
    if (!this.worker) {
      this.worker = new Worker('/assets/review/highlight-worker.js', { type: 'module', name: names.join(' ') });
      this.worker.onmessage = ({ data }) => {
        if (data.ready) this.post();
        if (data.id !== this.busy?.id) return;
        const { done } = this.busy;
        this.settle();
        if (data.lines) done(data.lines);
      };
      this.worker.onerror = (e) => { e.preventDefault(); this.giveUp(); };
      this.timer = setTimeout(() => this.giveUp(), startLimit);
    } else this.post();
  }

  post() {
    const { id, language, texts } = this.busy;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(), limit);
    this.worker.postMessage({ id, language, texts });
  }

  settle() {
    clearTimeout(this.timer);
    this.busy = null;
    this.begin();
  }

  giveUp() {
    this.worker?.terminate();
    this.worker = null;
    this.settle();
  }

  end() {
    this.queue = [];
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = null;
    this.busy = { wanted: () => true }; // looks busy, so that no job starts any more
  }
}
