// The positions of all files and rows of the diff, so that only the visible ones are drawn.
import { columns, entries } from './diff.js';

export const row = 20; // pixels of a line that is not wrapped
const head = 42;
const gapHeight = 30;
const guessed = 110; // pixels of a comment that was not drawn yet
const foot = 14; // pixels between two files
export const widest = 2_000; // maximum number of shown characters of a line

/** How many columns a text takes. @param {string} text */
export function width(text) {
  if (!/[^ -~]/.test(text)) return text.length;
  let n = 0;
  for (const c of text) n += c === '\t' ? 4 - (n % 4) : c.codePointAt(0) >= 0x1100 ? 2 : 1;
  return n;
}

/** The rows of one file and their positions. */
class Block {
  /** @param {import('./source.js').File} file */
  constructor(file) {
    this.file = file;
    /** Measured heights by the row's key. @type {Map<string, number>} */
    this.measured = new Map();
    /** Keys of the lines whose computed height was compared with the drawn one. @type {Set<string>} */
    this.checked = new Set();
    this.top = 0;
    this.height = 0;
    this.rows = [];
    this.tops = [0]; // the top of each row, relative to the head's bottom; the last value is the end of all rows
  }
}

export class Sheet {
  constructor() {
    /** @type {Block[]} */
    this.blocks = [];
    this.split = false;
    this.columns = 80; // characters in a line
    this.height = 0;
  }

  /** @param {import('./source.js').File[]} files */
  fill(files) {
    const before = new Map(this.blocks.map((b) => [b.file, b]));
    this.blocks = files.map((f) => before.get(f) ?? new Block(f));
  }

  /** @param {boolean} split @param {number} columns @returns whether the layout has changed */
  shape(split, columns) {
    if (split === this.split && columns === this.columns) return false;
    Object.assign(this, { split, columns });
    for (const b of this.blocks) {
      b.measured.clear();
      b.checked.clear();
      b.made = '';
    }
    return true;
  }

  /**
   * Computes the rows of a file.
   * @param {Block} block @param {import('./source.js').Source} source
   * @param {{comment: any, anchor: any}[]} comments of this file @param {any} form the open form, if it is in this file
   */
  make(block, source, comments, form) {
    const { file } = block;
    const rows = [];
    const shown = source.isShown(file);
    const put = (kind, key, more) => rows.push({ kind, key, ...more });
    const waiting = new Set(comments);
    const at = (test) => {
      for (const c of waiting) {
        if (!test(c.anchor)) continue;
        waiting.delete(c);
        put('comment', `c-${c.comment.id}`, c);
      }
    };
    if (shown) {
      at((a) => !a.first);
      if (form && !form.first) put('form', 'form', { form });
      if (file.file.binary) put('note', 'note', { what: 'binary' });
      else if (file.state === 'ready' && file.diff.too_large) put('note', 'note', { what: 'large' });
      else if (file.state === 'ready' && !file.diff.hunks?.length) put('note', 'note', { what: 'same' });
      else if (file.state === 'ready') this.lines(file, rows, at, form);
      else if (file.state === 'failed') put('note', 'note', { what: 'failed' });
      else if (!source.automatic(file)) put('note', 'note', { what: 'many' });
      else put('wait', 'wait', { lines: Math.min(400, file.file.added + file.file.removed + 6) });
      at(() => true); // the comments' line is not shown
    }
    block.rows = rows;
    this.place(block);
  }

  lines(file, rows, at, form) {
    const list = entries(file.diff, file.text, file.opened);
    for (const one of this.split ? columns(list) : list) {
      rows.push(one);
      const [old, fresh] = one.kind === 'pair' ? [one.left?.old ?? 0, one.right?.new ?? 0] : one.kind === 'line' ? [one.old, one.new] : [0, 0];
      if (one.kind === 'gap') at((a) => (a.side === 'old' ? a.last >= one.old && (one.count < 0 || a.last < one.old + one.count) : a.last >= one.new && (one.count < 0 || a.last < one.new + one.count)));
      else at((a) => (a.side === 'old' ? a.last === old : a.last === fresh));
      if (form?.first && (form.side === 'old' ? old : fresh) === form.last) rows.push({ kind: 'form', key: 'form', form });
    }
  }

  /** @param {Block} block */
  place(block) {
    const tops = [0];
    let at = 0;
    for (const r of block.rows) tops.push(at += block.measured.get(r.key) ?? this.guess(r));
    block.tops = tops;
    block.height = head + at + foot;
  }

  guess(r) {
    if (r.kind === 'line') return this.wrapped(r) * row;
    if (r.kind === 'pair') return Math.max(r.left ? this.wrapped(r.left) : 1, r.right ? this.wrapped(r.right) : 1) * row;
    if (r.kind === 'gap') return gapHeight;
    if (r.kind === 'wait') return r.lines * row;
    return r.kind === 'note' ? 64 : guessed;
  }

  /** The number of rows that a line takes. Sets line.short for lines that need no wrapping, which browsers lay out faster. */
  wrapped(line) {
    const wide = Math.min(width(line.text), widest);
    line.short = wide <= this.columns && !/[^\t -~]/.test(line.text);
    return Math.max(1, Math.ceil(wide / this.columns));
  }

  /** Sets the position of each file below the one before. */
  stack() {
    let at = 0;
    for (const b of this.blocks) {
      b.top = at;
      at += b.height;
    }
    this.height = at;
  }

  /** The index of the first file that ends below a position. @param {number} y */
  at(y) {
    let [low, high] = [0, this.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].top + this.blocks[middle].height <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * The files between two positions, each with the range of its rows.
   * @param {number} from @param {number} to
   */
  sight(from, to) {
    const out = [];
    for (let i = this.at(from); i < this.blocks.length && this.blocks[i].top < to; i++) {
      const b = this.blocks[i];
      const [first, last] = [rowAt(b, from - b.top - head), rowAt(b, to - b.top - head)];
      out.push({ block: b, first, last: Math.min(b.rows.length, last + 1) });
    }
    return out;
  }

  /** The row at a position, to keep it there when the rows above it change. @param {number} y */
  hold(y) {
    const block = this.blocks[this.at(y)];
    if (!block) return null;
    const i = rowAt(block, y - block.top - head);
    const key = y < block.top + head ? '' : block.rows[i]?.key ?? '';
    return { block, key, over: y - this.topOf(block, key) };
  }

  /** @param {Block} block @param {string} key of a row, or empty for the file's head */
  topOf(block, key) {
    if (!key) return block.top;
    return block.top + head + block.tops[Math.max(0, block.rows.findIndex((r) => r.key === key))];
  }
}

/** The index of a block's row at a position below its head. */
function rowAt(block, y) {
  let [low, high] = [0, block.rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (block.tops[middle + 1] <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

export { head };
