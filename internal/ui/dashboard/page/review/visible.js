// Replaces characters that hide or reorder text by their code. Otherwise a change could
// look different from what it contains.
import { html } from '../core/view.js';

const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

const names = { '\r': 'CR', '\u001b': 'ESC', '\u0000': 'NUL', '\ufeff': 'BOM' };

/** @param {string} text @returns {any} the text, or its parts */
export function visible(text) {
  if (!/[^\t\n -~]/.test(text)) return text;
  const out = [];
  let at = 0;
  for (const found of text.matchAll(hidden)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    const number = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    out.push(html`<span class="ctl" title=${number}>${names[found[0]] ?? number}</span>`);
    at = found.index + found[0].length;
  }
  if (!out.length) return text;
  if (at < text.length) out.push(text.slice(at));
  return out;
}
