// The changes of files that an agent's tool makes, as hunks that the review's diff draws.
// Pure functions.

/**
 * @typedef {{op: string, text: string}} HunkLine
 * @typedef {{old_first: number, old_lines: number, new_first: number, new_lines: number, lines: HunkLine[]}} Hunk
 * @typedef {{path: string, status: 'added'|'modified'|'deleted', numbered: boolean, added: number, removed: number, hunks: Hunk[]}} Edit
 * numbered: the line numbers are those of the file
 */

const context = 3; // unchanged lines around a change
const largest = 250_000; // compared pairs of lines; larger texts are shown as removed and added

/**
 * The edits of a call, or null if the tool does not edit files.
 * @param {import('./events.js').Event} call
 * @param {import('./events.js').Event} [result]
 * @returns {Edit[]|null}
 */
export function editsOf(call, result) {
  if (call.changes) return call.changes.map((c) => changed(c));
  const input = call.input;
  if (!input || typeof input !== 'object') return null;
  const path = word(input.file_path ?? input.filePath ?? input.notebook_path);
  if (typeof input.command === 'string' && input.command.includes('*** Begin Patch')) return fromPatch(input.command);
  if (typeof (input.patch ?? input.patchText) === 'string' && String(input.patch ?? input.patchText).includes('*** Begin Patch')) return fromPatch(input.patch ?? input.patchText);
  if (!path) return null;
  if (result?.patch?.length) return [edit(path, 'modified', result.patch.map(structured), true)];
  if (result?.diff) return [edit(path, 'modified', unified(result.diff), true)];
  const pairs = Array.isArray(input.edits) ? input.edits : [input];
  const replaced = pairs.filter((e) => (e?.old_string ?? e?.oldString) !== undefined && (e?.new_string ?? e?.newString) !== undefined);
  if (replaced.length) return [edit(path, 'modified', replaced.flatMap((e) => compare(lines(e.old_string ?? e.oldString), lines(e.new_string ?? e.newString))), false)];
  if (typeof input.content === 'string') return [edit(path, 'added', whole(lines(input.content), '+'), true)];
  return null;
}

// changed converts a file of Codex's file_change. Only the app server has the diff.
function changed(c) {
  const kind = word(c?.kind?.type ?? c?.kind);
  const status = kind === 'add' ? 'added' : kind === 'delete' ? 'deleted' : 'modified';
  const diff = typeof c?.diff === 'string' ? c.diff : '';
  const hunks = !diff ? [] : /^@@ /m.test(diff) ? unified(diff) : status === 'modified' ? [] : whole(lines(diff), status === 'added' ? '+' : '-');
  return edit(word(c?.path), status, hunks, true);
}

/** @returns {Edit} */
function edit(path, status, hunks, numbered) {
  if (!numbered) number(hunks);
  const count = (op) => hunks.reduce((n, h) => n + h.lines.reduce((m, l) => m + (l.op === op ? 1 : 0), 0), 0);
  return { path, status, numbered, hunks, added: count('+'), removed: count('-') };
}

// number gives the lines of hunks numbers, of which only the order has a meaning.
function number(hunks) {
  let [old, fresh] = [1, 1];
  for (const h of hunks) {
    [h.old_first, h.new_first] = [old, fresh];
    old += h.old_lines + 1; // a gap of one line
    fresh += h.new_lines + 1;
  }
}

const word = (v) => (v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));

function lines(text) {
  const all = word(text).split('\n');
  if (all.at(-1) === '') all.pop();
  return all;
}

const whole = (all, op) => (all.length ? [{ old_first: op === '-' ? 1 : 0, old_lines: op === '-' ? all.length : 0, new_first: op === '+' ? 1 : 0, new_lines: op === '+' ? all.length : 0, lines: all.map((text) => ({ op, text })) }] : []);

// structured converts a hunk of Claude Code's result.
function structured(h) {
  const all = (Array.isArray(h?.lines) ? h.lines : []).map(word).filter((l) => l[0] !== '\\');
  return { old_first: Number(h?.oldStart) || 0, old_lines: Number(h?.oldLines) || 0, new_first: Number(h?.newStart) || 0, new_lines: Number(h?.newLines) || 0, lines: all.map((l) => ({ op: '+- '.includes(l[0]) ? l[0] : ' ', text: l.slice(1) })) };
}

/** The hunks of a unified diff. @param {string} diff @returns {Hunk[]} */
function unified(diff) {
  const hunks = [];
  for (const line of diff.split('\n')) {
    const head = line.match(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/);
    if (head) hunks.push({ old_first: Number(head[1]), old_lines: Number(head[2] ?? 1), new_first: Number(head[3]), new_lines: Number(head[4] ?? 1), lines: [] });
    else if (hunks.length && line && '+- '.includes(line[0])) hunks.at(-1).lines.push({ op: line[0], text: line.slice(1) });
  }
  return hunks;
}

/** The edits of a patch in the format of Codex's apply_patch. @param {string} text @returns {Edit[]} */
function fromPatch(text) {
  const files = [];
  let file = null;
  for (const line of text.slice(text.indexOf('*** Begin Patch')).split('\n')) {
    const head = line.match(/^\*\*\* (Add|Update|Delete) File: (.*)$/);
    if (line.startsWith('*** End Patch')) break;
    if (head) files.push(file = { path: head[2].trim(), status: { Add: 'added', Update: 'modified', Delete: 'deleted' }[head[1]], hunks: [] });
    else if (file && line.startsWith('@@')) file.hunks.push([]);
    else if (file && line && '+- '.includes(line[0])) {
      if (!file.hunks.length) file.hunks.push([]);
      file.hunks.at(-1).push({ op: line[0], text: line.slice(1) });
    }
  }
  return files.map((f) => edit(f.path, f.status, f.hunks.filter((h) => h.length).map(unplaced), f.status === 'added'));
}

// unplaced returns a hunk whose place in the file is not known.
const unplaced = (all) => ({ old_first: 1, old_lines: all.filter((l) => l.op !== '+').length, new_first: 1, new_lines: all.filter((l) => l.op !== '-').length, lines: all });

/**
 * Compares two texts line by line.
 * @param {string[]} before @param {string[]} after
 * @returns {Hunk[]}
 */
export function compare(before, after) {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const a = before.slice(head, before.length - tail);
  const b = after.slice(head, after.length - tail);
  const same = (text) => ({ op: ' ', text });
  return hunksOf([...before.slice(0, head).map(same), ...middle(a, b), ...before.slice(before.length - tail).map(same)]);
}

function middle(a, b) {
  const out = [];
  const put = (op, text) => out.push({ op, text });
  if (a.length * b.length > largest) return [...a.map((text) => ({ op: '-', text })), ...b.map((text) => ({ op: '+', text }))];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width); // length of the longest common subsequence of the remaining lines
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  }
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { put(' ', a[i++]); j++; }
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) put('-', a[i++]);
    else put('+', b[j++]);
  }
  return out;
}

// hunksOf leaves out unchanged lines that are far from a change.
function hunksOf(all) {
  const hunks = [];
  let last = -Infinity; // index of the last shown line
  let [old, fresh] = [1, 1];
  all.forEach((line, i) => {
    const near = all.slice(Math.max(0, i - context), i + context + 1).some((l) => l.op !== ' ');
    if (near) {
      if (last !== i - 1 || !hunks.length) hunks.push({ old_first: old, old_lines: 0, new_first: fresh, new_lines: 0, lines: [] });
      const hunk = hunks.at(-1);
      hunk.lines.push(line);
      if (line.op !== '+') hunk.old_lines++;
      if (line.op !== '-') hunk.new_lines++;
      last = i;
    }
    if (line.op !== '+') old++;
    if (line.op !== '-') fresh++;
  });
  return hunks;
}
