// The log tab of a task: the log with its search and buttons.
import { link, query, setQuery } from '../core/route.js';
import { bytes, count } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { Wrong } from '../parts/status.js';
import { Log } from './log.js';
import { size } from './lines.js';
import { LogView } from './view.js';

const pause = 200; // milliseconds from the last key to the search

/** @param {{source: import('./source.js').Source, task: any}} props */
export function LogTab({ source, task }) {
  const log = useLog(`${source.url}/log`, task);
  const control = useRef(null);
  const raw = query('raw') === '1';
  const wrap = query('wrap') === '1';
  const find = query('find').toLowerCase();
  useSearch(log, find, raw, control);
  useAttempt(log, query('attempt'), control);
  const [line, choose] = useLine(log, control);
  log.version.value;
  const { state, error, from, to } = log.span.value;
  const toggle = (name, on, word, title) => html`<button class="counter" aria-pressed=${on} title=${title} onClick=${() => setQuery({ [name]: on ? '' : '1' })}>${word}</button>`;
  return html`<section class="logtab" aria-label="Log of the task">
    <div class="tools">
      <${Search} log=${log} control=${control} />
      <span class="counters">${toggle('raw', raw, 'Raw', 'Lines of agents as they wrote them')}${toggle('wrap', wrap, 'Wrap', 'Break long lines')}</span>
      <${Jumps} log=${log} control=${control} />
      <span class="space"></span>
      ${line > 0 && html`<a href=${`${link('runs', task.run, 'tasks', task.id)}?line=${line}`}>Line ${exactly(line)} in the conversation</a>`}
      <span class="faint size">${state === 'loading' ? 'Loading…' : html`<${Size} log=${log} />`}</span>
      <a href=${`${source.url}/log`} download=${`${task.run}-${task.id}.log`}>Download</a>
    </div>
    ${error && html`<${Wrong} message=${`The log could not be read: ${error}`} />`}
    ${from > 0 && html`<p class="faint forgotten">The server has forgotten the first ${bytes(from)}${task.attempt?.log && html`; the whole is in <code>${task.attempt.log}</code>${task.attempt.worker && ` of ${task.attempt.worker}`}`}.</p>`}
    ${state !== 'loading' && to === from && !error ? html`<p class="empty">${task.status === 'queued' ? 'It has not begun.' : task.status === 'running' ? 'It has written nothing yet.' : 'It wrote nothing.'}</p>`
    : html`<${LogView} log=${log} raw=${raw} wrap=${wrap} find=${find} line=${line} choose=${choose} control=${control} />`}
  </section>`;
}

// useLog opens the log while it is shown, and follows it while the page is visible. It
// uses a layout effect, because the log must be closed even if the page is left before it
// is painted.
function useLog(url, task) {
  const log = useMemo(() => new Log(url), [url]);
  useLayoutEffect(() => {
    const seen = () => (document.hidden ? log.pause() : log.follow());
    document.addEventListener('visibilitychange', seen);
    return () => { document.removeEventListener('visibilitychange', seen); log.end(); };
  }, [log]);
  const known = useRef(task.attempt?.id);
  useEffect(() => {
    if (known.current === task.attempt?.id) return;
    known.current = task.attempt?.id;
    log.follow();
  }, [task.attempt?.id]);
  return log;
}

function useSearch(log, find, raw, control) {
  const first = useRef(true);
  const loading = log.span.value.state === 'loading'; // a search before the log is loaded would find nothing
  useEffect(() => {
    if (loading || (!find && first.current)) return undefined;
    const timer = setTimeout(() => {
      log.search(find, raw);
      if (find) log.find(control.current?.edge(-1) ?? { piece: log.span.value.last, line: Infinity }, -1, true);
    }, first.current ? 0 : pause);
    first.current = false;
    return () => clearTimeout(timer);
  }, [log, find, raw, loading]);
}

// useAttempt scrolls to the start of an attempt.
function useAttempt(log, wanted, control) {
  const begin = log.span.value.starts.find(([n]) => String(n) === wanted)?.[1];
  const due = useRef(undefined);
  useEffect(() => { due.current = begin; }, [begin, wanted]);
  useEffect(() => { // after every drawing, because the lines may not be loaded yet
    const there = due.current !== undefined && log.lines(pieceOf(log, due.current));
    if (!there || !control.current) return;
    control.current.show({ piece: pieceOf(log, due.current), line: there.marks.find(([, n]) => String(n) === wanted)?.[0] ?? 0 });
    due.current = undefined;
  });
}

// useLine scrolls to the line that the address names. It returns that line, and a function
// that chooses another one.
function useLine(log, control) {
  const line = Math.max(0, Math.floor(Number(query('line')))) || 0;
  const shown = useRef(0);
  const counting = useRef(false);
  useEffect(() => { // after every drawing, because the lines may not be counted yet
    if (!line || shown.current === line || !control.current || log.span.value.state === 'loading') return;
    const place = log.count.place(line);
    if (place) {
      shown.current = line;
      control.current.show(place);
    } else if (!log.count.exact && !counting.current) {
      counting.current = true;
      log.number();
    }
  });
  return [line, (n) => { shown.current = n; setQuery({ line: String(n) }); }];
}

const pieceOf = (log, offset) => Math.floor(Math.max(offset, log.span.value.from) / size);

function Search({ log, control }) {
  const found = log.found.value;
  const [text, setText] = useState(query('find'));
  const timer = useRef(0);
  const typing = useRef(false);
  useEffect(() => { if (!typing.current) setText(query('find')); }, [query('find')]); // the user has navigated to another address
  useLayoutEffect(() => () => clearTimeout(timer.current), []); // must not change the address of the next page
  const write = (value) => {
    setText(value);
    clearTimeout(timer.current);
    typing.current = true;
    timer.current = setTimeout(() => { typing.current = false; setQuery({ find: value }); }, pause);
  };
  const step = (by) => log.find(found.place ?? control.current?.edge(by) ?? { piece: log.span.value.last, line: Infinity }, by, !found.place);
  const key = (e) => {
    if (e.key === 'Escape') { write(''); e.currentTarget.blur(); }
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (text !== query('find')) { clearTimeout(timer.current); typing.current = false; setQuery({ find: text }); } else step(e.shiftKey ? -1 : 1);
  };
  return html`<search class="find"><input type="search" data-filter placeholder="Search the log  /" aria-label="Search the log" value=${text} onInput=${(e) => write(e.currentTarget.value)} onKeyDown=${key} />
    ${found.text && html`<span class="matches" role="status">${summary(found, log)}</span>
    <button class="quiet" aria-label="Previous match" title="Shift+Enter" disabled=${!found.lines} onClick=${() => step(-1)}>↑</button><button class="quiet" aria-label="Next match" title="Enter" disabled=${!found.lines} onClick=${() => step(1)}>↓</button>`}</search>`;
}

function summary(found, log) {
  const { from, to } = log.span.value;
  const part = found.complete ? '' : `, ${Math.min(99, Math.floor(100 * (found.reached - from) / Math.max(1, to - from)))}% searched`;
  if (!found.lines) return found.complete ? 'nothing found' : `searching${part}`;
  return `${found.index ? `${count(found.index)} of ` : ''}${exactly(found.lines)} line${found.lines === 1 ? '' : 's'}${part}`;
}

const exactly = (n) => n.toLocaleString('en');

function Jumps({ log, control }) {
  const { starts } = log.span.value;
  const choose = (e) => { setQuery({ attempt: e.currentTarget.value }); };
  return html`<span class="jumps"><button class="quiet" onClick=${() => control.current?.begin()} title="To the beginning">⤒ Beginning</button>
    ${starts.length > 1 && html`<select aria-label="Go to an attempt" value=${query('attempt')} onChange=${choose}><option value="">Attempt…</option>${starts.map(([n]) => html`<option key=${n} value=${n}>Attempt ${n}</option>`)}</select>`}</span>`;
}

function Size({ log }) {
  log.version.value;
  const { from, to, state } = log.span.value;
  const { count: c } = log;
  const numbered = c.exact ? `${exactly(c.lines)} ${c.lines === 1 ? 'line' : 'lines'}, ` : '';
  return html`<span>${numbered}${bytes(to - from)}</span>${!c.exact && html` <button class="quiet" onClick=${() => log.number()} title="Reads the whole log once">Number the lines</button>`} ${state === 'live' && html`<span class="live">● live</span>`}${state === 'lost' && html`<span class="live lost">○ reconnecting…</span>`}`;
}
