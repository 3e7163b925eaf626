// Searches a whole log for a text. The matching lines are counted once, from the first to
// the last. The next match is searched from the user's position.
import { plain } from './ansi.js';
import { size, texts, within } from './lines.js';
import { read } from './agentoutput.js';

/** The displayed text of a line, in lower case. @param {string} text @param {boolean} raw */
export const shown = (text, raw) => plain((!raw && read(text)?.text) || text).toLowerCase();

/** The indexes of the lines that contain a text. @param {{text: string}[]} lines @returns {number[]} */
export function matching(lines, text, raw) {
  const found = [];
  for (let i = 0; i < lines.length; i++) if (shown(lines[i].text, raw).includes(text)) found.push(i);
  return found;
}

const small = new TextDecoder();

/**
 * Whether a piece may contain a text; a fast check without splitting it into lines. The
 * displayed text of agents' JSON and of coloured lines differs from the bytes, so such
 * pieces may always contain it.
 */
function may(bytes, next, text, raw) {
  if (bytes.includes(27) || (!raw && (bytes[0] === 123 || objects(bytes)))) return true;
  return (small.decode(bytes) + small.decode(next.subarray(0, 1 << 15))).toLowerCase().includes(text);
}

/** Whether a line starts like a JSON object. */
function objects(bytes) {
  for (let at = bytes.indexOf(123); at >= 0; at = bytes.indexOf(123, at + 1)) if (bytes[at - 1] === 10) return true;
  return false;
}

const near = 8; // pieces that are searched before waiting for the count

/** @param {import('./store.js').Store} store @param {string} text @param {boolean} raw */
export function search(store, text, raw) {
  const wanted = text.toLowerCase();
  const stopper = new AbortController();
  /** The number of matching lines by piece. @type {number[]} */
  const counts = [];
  let complete = false;
  let swept = Promise.resolve();
  let reached = store.from;
  let heard = 0;
  let hit = null; // the last found line, and its rank among the matches of its piece

  const report = (now = false) => {
    if (!now && Date.now() - heard < 150) return;
    heard = Date.now();
    const known = [];
    for (let p = store.first; p <= store.last; p++) if (store.count.known[p] !== undefined) known.push(store.count.tell(p));
    store.told({ kind: 'counted', text, raw, known, complete, reached, index: index(), lines: counts.reduce((a, b) => a + (b ?? 0), 0) });
  };

  const visit = (p, piece, next) => {
    store.count.set(p, piece.begins.length, within(piece.fresh, piece.begins));
    if (wanted) counts[p] = may(piece.bytes, next, wanted, raw) ? matching(texts(piece.fresh, piece.bytes, piece.begins, next), wanted, raw).length : 0;
    reached = p * size + piece.bytes.length;
    report();
  };

  const scan = async (p) => {
    const found = matching(await store.lines(p), wanted, raw);
    counts[p] = found.length;
    return found;
  };

  // index returns the rank of the last found line among all matches, or 0 until all pieces before it are counted.
  const index = () => {
    let n = hit ? hit.rank + 1 : 0;
    for (let i = store.first; hit && i < hit.piece; i++) {
      if (counts[i] === undefined) return 0;
      n += counts[i];
    }
    return n;
  };

  // from searches in one direction. It includes the line at itself only if too is set.
  const from = async (at, step, too) => {
    let looked = 0;
    for (let p = at.piece; p >= store.first && p <= store.last && !stopper.signal.aborted; p += step) {
      if (counts[p] === undefined && ++looked > near) await swept;
      if (counts[p] === 0 && p !== store.last) continue;
      const found = await scan(p);
      const fits = p !== at.piece ? found : found.filter((l) => (too && l === at.line) || (step > 0 ? l > at.line : l < at.line));
      if (fits.length) return { piece: p, line: step > 0 ? fits[0] : fits.at(-1), found };
    }
    return null;
  };

  return {
    text, raw,
    async begin() {
      swept = store.sweep(stopper.signal, visit).then(() => { complete = true; }, () => {}); // on an error, the counted pieces are all that is known
      await swept;
      if (!stopper.signal.aborted) report(true);
    },
    end() { stopper.abort(); },
    /** Searches new output in the last piece. */
    async grew(p) {
      if (!wanted || !complete) return;
      await scan(p).catch(() => []);
      if (p > store.first && counts[p - 1] === undefined) await scan(p - 1).catch(() => []);
      if (!stopper.signal.aborted) report(true);
    },
    /** Finds the next or previous match, and wraps around at the ends. */
    async find(at, step, too) {
      const around = step > 0 ? { piece: store.first, line: -1 } : { piece: store.last, line: Infinity };
      const got = await from(at, step, too) ?? await from(around, step, false);
      if (stopper.signal.aborted) return;
      hit = got && { piece: got.piece, line: got.line, rank: got.found.indexOf(got.line) };
      store.told({ kind: 'found', text, raw, place: hit });
      report(true);
    },
  };
}
