// The lines of a file's diff in one or two columns, with gaps that can be opened. Pure
// functions.

/**
 * @typedef {{kind: 'line', key: string, op: string, old: number, new: number, text: string, noEOL: boolean, hunk?: number, pair?: Line}} Line
 * old and new are line numbers, 0 on the side that does not have the line. hunk is set on
 * the first line of a hunk. pair is the line that replaces this one, or that it replaces.
 * @typedef {{kind: 'gap', key: string, index: number, old: number, new: number, count: number, section: string, edge: 'first'|'last'|''}} Gap
 * count is the number of hidden lines, or -1 if it is not known yet.
 * @typedef {{kind: 'pair', key: string, left: Line|null, right: Line|null, hunk?: number}} Pair
 */

const usualContext = 3; // lines around a hunk

/** Splits a file's text into lines. The last line may have no line end. @param {string} text */
export function linesOf(text) {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/**
 * Returns the lines of a diff and the gaps between its hunks.
 * @param {any} diff a fleet.FileChange
 * @param {string[]|null} text the lines of the new file, if it was loaded
 * @param {Record<number, {top: number, bottom: number}>} opened how many lines of each gap are shown at its top and bottom
 * @returns {(Line|Gap)[]}
 */
export function entries(diff, text, opened = {}) {
  const out = [];
  const whole = diff.status === 'added' || diff.status === 'deleted'; // the hunks contain every line
  let [old, fresh] = [1, 1]; // next line numbers to add to out
  const hidden = (index, count, section, edge) => {
    const { top = 0, bottom = 0 } = text ? opened[index] ?? {} : {};
    const show = (n) => {
      for (; n > 0; n--) out.push({ kind: 'line', key: `n${fresh}`, op: ' ', old: old++, new: fresh, text: text[fresh++ - 1] ?? '', noEOL: false });
    };
    if (count >= 0 && top + bottom >= count) return show(count);
    show(top);
    const left = count < 0 ? -1 : count - top - bottom;
    out.push({ kind: 'gap', key: `g${index}`, index, old, new: fresh, count: left, section, edge });
    if (left < 0) return undefined;
    old += left;
    fresh += left;
    return show(bottom);
  };
  (diff.hunks ?? []).forEach((hunk, i) => {
    const count = hunk.new_lines ? hunk.new_first - fresh : hunk.old_first - old;
    if (count > 0 && !whole) hidden(i, count, hunk.section ?? '', i ? '' : 'first');
    if (hunk.old_lines) old = hunk.old_first;
    if (hunk.new_lines) fresh = hunk.new_first;
    let [removed, added] = [[], []];
    const pairUp = () => {
      for (let k = 0; k < Math.min(removed.length, added.length); k++) {
        removed[k].pair = added[k];
        added[k].pair = removed[k];
      }
      [removed, added] = [[], []];
    };
    hunk.lines.forEach((l, k) => {
      const line = { kind: 'line', op: l.op, text: l.text.replace(/\n$/, ''), noEOL: Boolean(l.no_eol), old: l.op === '+' ? 0 : old++, new: l.op === '-' ? 0 : fresh++ };
      line.key = line.new ? `n${line.new}` : `o${line.old}`;
      if (k === 0) line.hunk = i;
      if (l.op === '-') {
        if (added.length) pairUp();
        removed.push(line);
      } else if (l.op === '+') added.push(line);
      else pairUp();
      out.push(line);
    });
    pairUp();
  });
  if (diff.hunks?.length && !whole) {
    const around = diff.hunks.at(-1).lines.slice(-usualContext).filter((l) => l.op === ' ').length;
    const rest = text ? text.length - fresh + 1 : around < usualContext ? 0 : -1; // fewer lines follow only at the end of the file
    if (rest > 0 || rest === -1) hidden(diff.hunks.length, rest, '', 'last');
  }
  return out;
}

/**
 * Puts lines into two columns: the old lines on the left, the new ones on the right.
 * @param {(Line|Gap)[]} list
 * @returns {(Pair|Gap)[]}
 */
export function columns(list) {
  const out = [];
  let [removed, added] = [[], []];
  const flush = () => {
    for (let k = 0; k < Math.max(removed.length, added.length); k++) {
      const [left, right] = [removed[k] ?? null, added[k] ?? null];
      out.push({ kind: 'pair', key: (right ?? left).key, left, right, hunk: left?.hunk ?? right?.hunk });
    }
    [removed, added] = [[], []];
  };
  for (const one of list) {
    if (one.op === '-') {
      if (added.length) flush();
      removed.push(one);
    } else if (one.op === '+') added.push(one);
    else {
      flush();
      out.push(one.kind === 'line' ? { kind: 'pair', key: one.key, left: one, right: one, hunk: one.hunk } : one);
    }
  }
  flush();
  return out;
}

/** Rebuilds the lines of the old file from those of the new file and the diff. @param {any} diff @param {string[]} text */
export function oldText(diff, text) {
  const out = [];
  let fresh = 1;
  for (const hunk of diff.hunks ?? []) {
    const until = hunk.new_lines ? hunk.new_first : fresh;
    while (fresh < until) out.push(text[fresh++ - 1] ?? '');
    for (const l of hunk.lines) {
      if (l.op !== '+') out.push(l.text.replace(/\n$/, ''));
      if (l.op !== '-') fresh++;
    }
  }
  while (fresh <= text.length) out.push(text[fresh++ - 1]);
  return out;
}

const widestCompared = 400; // tokens of a line
const tokens = /[\p{L}\p{N}_]+|\s+|[^]/gu;

/**
 * Returns the parts in which two lines differ, as [from, to] ranges of each. Lines that
 * have little in common return null.
 * @param {string} before @param {string} after
 * @returns {{before: [number, number][], after: [number, number][]}|null}
 */
export function wordDifferences(before, after) {
  const a = before.match(tokens) ?? [];
  const b = after.match(tokens) ?? [];
  if (a.length > widestCompared || b.length > widestCompared || !a.length || !b.length) return null;
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width); // length of the longest common subsequence of the remaining tokens
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  }
  const result = { before: [], after: [] };
  let [i, j, x, y, same] = [0, 0, 0, 0, 0];
  const mark = (list, from, length) => {
    if (list.at(-1)?.[1] === from) list.at(-1)[1] = from + length;
    else list.push([from, from + length]);
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      if (a[i].trim()) same += a[i].length;
      [x, y] = [x + a[i++].length, y + b[j++].length];
    } else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      mark(result.before, x, a[i].length);
      x += a[i++].length;
    } else {
      mark(result.after, y, b[j].length);
      y += b[j++].length;
    }
  }
  return same * 3 >= Math.max(before.trim().length, after.trim().length) ? result : null;
}

/**
 * Splits a line into pieces with one style each.
 * @param {string} text
 * @param {number[]|undefined} runs its syntax: alternating lengths and class indexes
 * @param {[number, number][]|undefined} marks
 * @param {string[]} names of the classes
 * @returns {{text: string, class: string, mark: boolean}[]}
 */
export function pieces(text, runs, marks, names) {
  const out = [];
  let at = 0;
  const cut = (to, kind) => {
    for (const [from, until] of marks ?? []) {
      if (until <= at || from >= to) continue;
      if (from > at) out.push({ text: text.slice(at, from), class: kind, mark: false });
      out.push({ text: text.slice(Math.max(at, from), Math.min(to, until)), class: kind, mark: true });
      at = Math.min(to, until);
    }
    if (at < to) out.push({ text: text.slice(at, to), class: kind, mark: false });
    at = to;
  };
  for (let i = 0, end = 0; i < (runs?.length ?? 0) && at < text.length; i += 2) {
    end += runs[i];
    cut(Math.min(end, text.length), names[runs[i + 1]] ?? '');
  }
  if (at < text.length) cut(text.length, '');
  return out;
}
