// Converts the numbers of a report for charts. Pure functions.

/** The value if it is a number, else 0. */
export const num = (v) => (Number.isFinite(v) ? v : 0);

/** The outcomes, in the order in which bars stack them. */
export const outcomes = [['success', 'done', 'complete'], ['failed', 'failed', 'failed'], ['timeout', 'timed out', 'timeout'], ['running', 'running', 'running'], ['other', 'other', 'other']];

/** The number of a group's runs by outcome. @param {any} g @returns {{kind: string, word: string, n: number}[]} */
export function parts(g) {
  const total = num(g.count ?? g.total_runs);
  const told = outcomes.slice(0, 4).reduce((sum, [key]) => sum + num(g[key]), 0);
  return outcomes.map(([key, word, kind]) => ({ kind, word, n: key === 'other' ? Math.max(0, total - told) : num(g[key]) })).filter((p) => p.n > 0);
}

/** The number of a group's ended runs. @param {any} g */
export const ended = (g) => num(g.success) + num(g.failed) + num(g.timeout);

/** The success rate such as 87.5%, or a dash if no run has ended. @param {any} g */
export const rate = (g) => (ended(g) ? `${num(g.success_rate).toFixed(1)}%` : '–');

/** The smallest round number that is not below n. @param {number} n */
export function nice(n) {
  if (!(n > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(n));
  return unit * ([1, 2, 4, 5, 6, 8].find((m) => m * unit >= n) ?? 10);
}

/** A bound of a bucket in seconds, as 42s, 5m or 2h. @param {number} s */
const short = (s) => (s % 3600 === 0 && s ? `${s / 3600}h` : s % 60 === 0 && s ? `${s / 60}m` : `${s}s`);

/** @param {{from: number, to: number|null}} b */
export function bucket(b) {
  if (b.to === null || b.to === undefined) return `over ${short(num(b.from))}`;
  return num(b.from) === 0 ? `under ${short(b.to)}` : `${short(b.from)} – ${short(b.to)}`;
}

/** Buckets without the empty ones at both ends. @param {any[]} all */
export function used(all) {
  const full = (b) => num(b.count) > 0;
  const first = all.findIndex(full);
  return first < 0 ? [] : all.slice(first, all.findLastIndex(full) + 1);
}

/** The weeks, with one null for each gap of weeks without runs. @param {any[]} weeks */
export function withGaps(weeks) {
  const list = [];
  weeks.forEach((w, i) => {
    if (i && Date.parse(w.start) - Date.parse(weeks[i - 1].start) > 8 * 86_400_000) list.push(null);
    list.push(w);
  });
  return list;
}
