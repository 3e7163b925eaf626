// Converts the terminal colours in a text to runs of text with CSS classes. All other
// escape sequences are removed. Pure functions.

/**
 * @typedef {{text: string, class?: string, fg?: string, bg?: string}} Run text with
 * one style: class names, and colours without a class as #rrggbb
 */

// Matches a sequence that sets colours, any other control sequence, a string for the
// terminal such as its title, a short escape sequence, or a control character.
const escape = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g;

/** Whether a line contains control characters. @param {string} line */
const decorated = (line) => /[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(line);

/** A line without escape sequences and control characters. @param {string} line */
export const plain = (line) => (decorated(line) ? line.replace(escape, '') : line);

const none = { bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false, fg: '', bg: '' };

/**
 * Splits a line into runs of one style. Every line starts without a style.
 * @param {string} line
 * @returns {Run[]}
 */
export function runs(line) {
  if (!decorated(line)) return [{ text: line }];
  const list = [];
  let look = none;
  let from = 0;
  const put = (to) => {
    if (to <= from) return;
    const run = dressed(line.slice(from, to), look);
    const last = list.at(-1);
    if (last && last.class === run.class && last.fg === run.fg && last.bg === run.bg) last.text += run.text;
    else list.push(run);
  };
  for (const found of line.matchAll(escape)) {
    put(found.index);
    from = found.index + found[0].length;
    if (found[1] !== undefined) look = turned(look, found[1]);
  }
  put(line.length);
  return list.length ? list : [{ text: '' }];
}

/** @returns {Run} */
function dressed(text, look) {
  let { fg, bg } = look;
  if (look.inverse) [fg, bg] = [bg || 'ground', fg || 'ink'];
  const names = ['bold', 'dim', 'italic', 'underline', 'strike'].filter((n) => look[n]).map((n) => `a-${n}`);
  if (fg && fg[0] !== '#') names.push(`a-${fg}`);
  if (bg && bg[0] !== '#') names.push(`a-on-${bg}`);
  const run = { text };
  if (names.length) run.class = names.join(' ');
  if (fg[0] === '#') run.fg = fg;
  if (bg[0] === '#') run.bg = bg;
  return run;
}

/** The style after an escape sequence. @param {typeof none} look @param {string} codes */
function turned(look, codes) {
  const next = { ...look };
  const list = codes.split(/[;:]/).map((c) => (c === '' ? 0 : Number(c)));
  for (let i = 0; i < list.length; i++) {
    const code = list[i];
    if (code === 38 || code === 48) {
      const [colour, used] = extended(list, i + 1, codes.includes(':'));
      if (colour) next[code === 38 ? 'fg' : 'bg'] = colour;
      i += used;
    } else simple(next, code);
  }
  return next;
}

const on = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline', 7: 'inverse', 9: 'strike', 21: 'underline' };
const off = { 22: ['bold', 'dim'], 23: ['italic'], 24: ['underline'], 27: ['inverse'], 29: ['strike'] };

function simple(look, code) {
  if (code === 0) Object.assign(look, none);
  else if (on[code]) look[on[code]] = true;
  else if (off[code]) for (const name of off[code]) look[name] = false;
  else if (code === 39) look.fg = '';
  else if (code === 49) look.bg = '';
  else if (code >= 30 && code <= 37) look.fg = String(code - 30);
  else if (code >= 40 && code <= 47) look.bg = String(code - 40);
  else if (code >= 90 && code <= 97) look.fg = String(code - 82);
  else if (code >= 100 && code <= 107) look.bg = String(code - 92);
}

/** A colour by its index of 256 or as RGB, and the number of codes that it used. */
function extended(list, at, colons) {
  if (list[at] === 5) return [indexed(list[at + 1]), 2];
  if (list[at] !== 2) return ['', 1];
  const from = colons && list.length - at > 4 ? at + 2 : at + 1; // the form with colons may contain a colour space
  return [hex(list.slice(from, from + 3)), from - at + 3];
}

/** @param {number} n */
function indexed(n) {
  if (!(n >= 0 && n <= 255)) return '';
  if (n < 16) return String(n);
  if (n > 231) return hex(Array(3).fill(8 + (n - 232) * 10));
  const level = (v) => (v ? 55 + v * 40 : 0);
  const cube = n - 16;
  return hex([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

const hex = (parts) => `#${[0, 1, 2].map((i) => Math.min(255, Math.max(0, parts[i] || 0)).toString(16).padStart(2, '0')).join('')}`;
