// The time span and the grouping of the cost page, and its data from the server.
import { get } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { query } from '../core/route.js';
import { now } from '../core/time.js';
import { signal, useEffect, useMemo } from '../core/view.js';

/** The groupings, with their headings. */
export const groupings = [['day', 'Day'], ['agent', 'Agent'], ['model', 'Model'], ['account', 'Account'], ['project', 'Project'], ['run', 'Run']];
/** The time spans. */
export const spans = [['today', 'Today'], ['7d', '7 days'], ['30d', '30 days'], ['all', 'All'], ['custom', 'Custom']];

/** The name of the browser's time zone. */
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const two = (n) => String(n).padStart(2, '0');
/** A day of the browser's time zone, such as 2026-11-18. @param {Date} d */
export const dayOf = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;

/** The day that is n days before today. @param {number} n */
export function daysAgo(n) {
  const d = new Date(now());
  d.setDate(d.getDate() - n);
  return dayOf(d);
}

const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** What the address asks for. */
export function asked() {
  const span = spans.some(([name]) => name === query('span')) ? query('span') : '30d';
  const by = groupings.some(([name]) => name === query('by')) ? query('by') : 'day';
  const from = { today: daysAgo(0), '7d': daysAgo(6), '30d': daysAgo(29), custom: isDay(query('from')) ? query('from') : '' }[span] ?? '';
  const to = span === 'custom' && isDay(query('to')) ? query('to') : '';
  const q = new URLSearchParams({ by, tz: zone });
  if (from) q.set('since', from);
  if (to) q.set('until', to);
  if (query('project')) q.set('project', query('project'));
  return { span, by, from, to, q: q.toString() };
}

const soon = 5_000; // milliseconds between a change and the next request
const often = 30_000; // the interval of requests while attempts are running

class Costs {
  constructor() {
    this.report = signal(null);
    this.error = signal('');
    this.busy = signal(false);
    this.query = '';
  }

  /** @param {string} query */
  async load(query) {
    this.stopper?.abort();
    const stopper = this.stopper = new AbortController();
    this.query = query;
    this.busy.value = true;
    try {
      this.report.value = { ...(await get(`/v1/cost?${query}`, stopper.signal)).cost, query };
      this.error.value = '';
    } catch (e) {
      if (e.name !== 'AbortError') this.error.value = e.message;
    }
    if (this.stopper === stopper) this.busy.value = false;
  }

  // Loads again after an attempt has started or ended, and from time to time while one is running.
  open() {
    const forget = onChange(({ type, change }) => {
      if ((type === 'tasks' && change.run) || type === 'attempts') this.later();
    });
    const timer = setInterval(() => { if (this.report.value?.total.running > 0 && !document.hidden) this.later(); }, often);
    return () => { forget(); clearInterval(timer); clearTimeout(this.timer); this.stopper?.abort(); };
  }

  later() {
    this.timer ||= setTimeout(() => { this.timer = 0; this.load(this.query); }, soon);
  }
}

/** @param {string} query @returns {Costs} */
export function useCosts(query) {
  const costs = useMemo(() => new Costs(), []);
  useEffect(() => costs.open(), []);
  useEffect(() => { costs.load(query); }, [query]);
  return costs;
}
