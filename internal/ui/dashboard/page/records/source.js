// Loads the report from the server when the filters change, and again a few seconds
// after an attempt has ended.
import { get } from '../core/api.js';
import { onChange } from '../core/fleet.js';
import { final } from '../core/words.js';
import { signal, useEffect, useMemo } from '../core/view.js';

const soon = 5_000;
const rows = 1_000;

class Reports {
  constructor() {
    this.report = signal(null);
    this.names = signal({ agents: [], models: [], templates: [] });
    this.error = signal('');
    this.busy = signal(false);
    this.query = '';
  }

  /** @param {string} query */
  async fetch(query) {
    this.stopper?.abort();
    const stopper = this.stopper = new AbortController();
    this.query = query;
    this.busy.value = true;
    try {
      const [shown, all] = await Promise.all([get(`/v1/report?rows=${rows}${query && `&${query}`}`, stopper.signal), query ? get('/v1/report', stopper.signal) : null]);
      this.report.value = shown.report;
      this.names.value = namesOf((all ?? shown).report.statistics ?? {});
      this.error.value = '';
    } catch (e) {
      if (e.name !== 'AbortError') this.error.value = e.message;
    }
    if (this.stopper === stopper) this.busy.value = false;
  }

  open() {
    const forget = onChange(({ type, change }) => {
      if (type !== 'tasks' || !change.run || !final(change.status) || this.timer) return;
      this.timer = setTimeout(() => { this.timer = 0; this.fetch(this.query); }, soon);
    });
    return () => { forget(); clearTimeout(this.timer); this.stopper?.abort(); };
  }
}

const namesOf = (s) => ({
  agents: (s.by_agent ?? []).map((g) => g.agent), models: (s.by_model ?? []).map((g) => g.model), templates: (s.by_template ?? []).map((g) => g.template),
});

/** @param {string} query @returns {Reports} */
export function useReport(query) {
  const reports = useMemo(() => new Reports(), []);
  useEffect(() => reports.open(), []);
  useEffect(() => { reports.fetch(query); }, [query]);
  return reports;
}
