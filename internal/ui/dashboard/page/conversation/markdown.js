// A small Markdown: paragraphs, headings, lists, quotes, tables, code. The result is a
// tree of elements, never markup: the text comes from agents. Links are shown as text
// with their target. Pure functions.

/**
 * @typedef {{kind: 'text', text: string} | {kind: 'code', text: string} | {kind: 'strong'|'em'|'del', children: Inline[]} | {kind: 'link', children: Inline[], to: string}} Inline
 * @typedef {{kind: string, children?: any[], text?: string, language?: string, level?: number, ordered?: boolean, first?: number, items?: Node[][], head?: Inline[][], rows?: Inline[][][]}} Node
 */

const deepest = 6; // levels of lists and quotes
const widestInline = 20_000; // characters of a paragraph in which styles are looked for

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w.+#-]{0,30})/;
const heading = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const rule = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const quote = /^ {0,3}> ?/;
const bullet = /^( {0,12})([-*+]|\d{1,9}[.)])(\s+|$)/;
const divider = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** @param {string} text @returns {Node[]} */
export function parse(text) { return blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0); }

function blocks(lines, depth) {
  const out = [];
  let words = [];
  const flush = () => {
    if (words.length) out.push({ kind: 'p', children: inline(words.join('\n')) });
    words = [];
  };
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const opened = line.match(fence);
    if (!line.trim()) { flush(); i++; continue; }
    if (opened) {
      flush();
      const closing = new RegExp(`^ {0,3}${opened[1][0]}{${opened[1].length},}\\s*$`);
      let end = i + 1;
      while (end < lines.length && !closing.test(lines[end])) end++;
      out.push({ kind: 'pre', text: lines.slice(i + 1, end).join('\n'), language: opened[2].toLowerCase() });
      i = end + 1;
      continue;
    }
    const title = line.match(heading);
    if (title) { flush(); out.push({ kind: 'h', level: title[1].length, children: inline(title[2].trim()) }); i++; continue; }
    if (rule.test(line)) { flush(); out.push({ kind: 'hr' }); i++; continue; }
    if (quote.test(line) && depth < deepest) {
      flush();
      let end = i;
      while (end < lines.length && quote.test(lines[end])) end++;
      out.push({ kind: 'quote', children: blocks(lines.slice(i, end).map((l) => l.replace(quote, '')), depth + 1) });
      i = end;
      continue;
    }
    const item = line.match(bullet);
    if (item && depth < deepest && !(words.length && /^\d/.test(item[2]) && item[2] !== '1.')) {
      flush();
      const [node, end] = listAt(lines, i, depth);
      out.push(node);
      i = end;
      continue;
    }
    if (line.includes('|') && divider.test(lines[i + 1] ?? '') && lines[i + 1].includes('|')) {
      flush();
      let end = i + 2;
      while (end < lines.length && lines[end].includes('|') && lines[end].trim()) end++;
      out.push({ kind: 'table', head: cells(line), rows: lines.slice(i + 2, end).map(cells) });
      i = end;
      continue;
    }
    words.push(line.trimStart());
    i++;
  }
  flush();
  return out;
}

const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((c) => inline(c.trim()));

// listAt returns the list that starts at a line, and the line after it.
function listAt(lines, at, depth) {
  const [, indent, mark] = lines[at].match(bullet);
  const ordered = /\d/.test(mark);
  const items = [];
  let i = at;
  while (i < lines.length) {
    const m = lines[i].match(bullet);
    if (!m || m[1].length > indent.length + 1 || m[1].length < indent.length || /\d/.test(m[2]) !== ordered || rule.test(lines[i])) break;
    const inner = m[0].length;
    const own = [lines[i].slice(inner)];
    for (i++; i < lines.length; i++) {
      const deeper = lines[i].match(/^ */)[0].length > m[1].length;
      if (!lines[i].trim()) {
        const next = lines[i + 1] ?? '';
        if (next.trim() && next.match(/^ */)[0].length > m[1].length) { own.push(''); continue; }
        break;
      }
      if (!deeper && (bullet.test(lines[i]) || fence.test(lines[i]) || heading.test(lines[i]) || quote.test(lines[i]))) break;
      own.push(lines[i].slice(Math.min(inner, lines[i].match(/^ */)[0].length)));
    }
    items.push(blocks(own, depth + 1));
    while (i < lines.length && !lines[i].trim() && bullet.test(lines[i + 1] ?? '') && (lines[i + 1].match(bullet)[1].length >= indent.length)) i++;
  }
  return [{ kind: 'list', ordered, first: ordered ? Number.parseInt(mark, 10) : undefined, items }, i];
}

const linked = /!?\[([^[\]\n]{1,300})\]\(<?([^()<>\s]{1,1000})>?(?: "[^"\n]{0,200}")?\)/y;
const marks = [['**', 'strong'], ['__', 'strong'], ['~~', 'del'], ['*', 'em'], ['_', 'em']];
const letter = /[\p{L}\p{N}]/u;

/** @param {string} text @returns {Inline[]} */
export function inline(text, depth = 0) {
  if (text.length > widestInline || depth > deepest) return [{ kind: 'text', text }];
  const out = [];
  const missing = new Set(); // marks without an end: they are not looked for again
  let plain = 0;
  const put = (to, node, next) => {
    if (to > plain) out.push({ kind: 'text', text: text.slice(plain, to) });
    if (node) out.push(node);
    plain = next;
  };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    if (c === '\\' && /[\\`*_{}[\]()#+.!~|>-]/.test(text[i + 1] ?? '')) { put(i, null, i + 1); i += 2; continue; }
    if (c === '`') {
      let n = 1;
      while (text[i + n] === '`') n++;
      const end = missing.has(n) ? -1 : closing(text, i + n, n);
      if (end < 0) { missing.add(n); i += n; continue; }
      const inner = text.slice(i + n, end).replace(/\n/g, ' ');
      put(i, { kind: 'code', text: /^ .* $/.test(inner) && inner.trim() ? inner.slice(1, -1) : inner }, end + n);
      i = end + n;
      continue;
    }
    if (c === '[' || (c === '!' && text[i + 1] === '[')) {
      linked.lastIndex = i;
      const m = linked.exec(text);
      if (m) { put(i, { kind: 'link', children: inline(m[1], depth + 1), to: m[2] }, i + m[0].length); i += m[0].length; continue; }
    }
    const style = (c === '*' || c === '_' || c === '~') && marks.find(([m]) => text.startsWith(m, i));
    if (style) {
      const [m, kind] = style;
      const starts = /\S/.test(text[i + m.length] ?? ' ') && !(m[0] === '_' && letter.test(text[i - 1] ?? ' '));
      const end = starts && !missing.has(m) ? endOf(text, i + m.length, m) : -1;
      if (end > 0) { put(i, { kind, children: inline(text.slice(i + m.length, end), depth + 1) }, end + m.length); i = end + m.length; continue; }
      if (starts) missing.add(m);
      i += m.length;
      continue;
    }
    i++;
  }
  put(text.length, null, text.length);
  return out;
}

// closing finds a run of exactly n backticks.
function closing(text, from, n) {
  for (let at = text.indexOf('`', from); at >= 0; at = text.indexOf('`', at)) {
    let length = 1;
    while (text[at + length] === '`') length++;
    if (length === n) return at;
    at += length;
  }
  return -1;
}

// endOf finds the end of a styled part.
function endOf(text, from, mark) {
  for (let at = text.indexOf(mark, from + 1); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (/\s/.test(text[at - 1]) || text[at - 1] === '\\') continue;
    if (mark.length === 1 && (text[at + 1] === mark || text[at - 1] === mark)) continue;
    if (mark[0] === '_' && letter.test(text[at + mark.length] ?? ' ')) continue;
    return at;
  }
  return -1;
}
