// The conversation tab of a task: its blocks, the agent's list, the input for messages.
import { get, path } from '../core/api.js';
import { agents, onChange } from '../core/fleet.js';
import { useKeys } from '../core/keys.js';
import { link, query, setQuery } from '../core/route.js';
import { at } from '../core/time.js';
import { bytes, count, final, many } from '../core/words.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { announce } from '../parts/announce.js';
import { Question } from '../parts/question.js';
import { Ago, Status, Wrong } from '../parts/status.js';
import { Highlighter } from '../review/highlight.js';
import { Pending, Writer, useMessages } from '../task/messages.js';
import { AttemptEnd } from './blocks.js';
import { BlockList } from './list.js';
import { matchMessages, matchQuestions } from './match.js';
import { useConversation } from './source.js';
import { Todos } from './todos.js';

const pause = 200; // milliseconds from the last key to the search

/** @param {{source: import('../task/source.js').Source, task: any, attempts: any[], side: any}} props side is shown beside the conversation */
export function ConversationTab({ source, task, attempts, side }) {
  const conversation = useConversation(`${source.url}/log`, task);
  const colours = useMemo(() => new Highlighter(), []);
  useLayoutEffect(() => () => colours.end(), [colours]);
  const control = useRef(null);
  const talks = Boolean(task.agent) && task.agent !== 'command' && !task.candidates?.length;
  const messages = useMessages(task, talks);
  const [find, setFind] = useState(query('find'));
  const search = useSearch(conversation, find, setFind, control);
  useLine(conversation, control);
  useAttempt(conversation, control);
  const { error, marks, todos, starts, count: blocks, state } = conversation.state.value;
  const questions = useQuestions(task, marks);
  const about = useAbout({ task, attempts, prompt: source.prompt.value, marks, starts, questions, messages: messages.list });
  const box = useHeight();
  useKeys({ Escape: () => (find ? setFind('') : false), c: [() => focus('.writer textarea'), 'write a message to the agent'], o: [() => { location.hash = `${link('runs', task.run, 'tasks', task.id)}?tab=log`; }, 'the log, at the line of a message'] });
  useAnnounced(task);
  const nothing = state !== 'loading' && !blocks && !error;
  return html`<div class="talkpage">
    <section class="talkmain" aria-label="Conversation of the task" ref=${box}>
      <div class="tools"><${Find} find=${find} setFind=${setFind} search=${search} /><span class="space"></span><${Extent} conversation=${conversation} task=${task} control=${control} /></div>
      ${error && html`<${Wrong} message=${`The log could not be read: ${error}`} />`}
      <${BlockList} conversation=${conversation} task=${task} find=${find.toLowerCase()} hit=${search.hit} colours=${colours} about=${about} pinned=${about.pinned} control=${control}
        top=${html`<${Top} conversation=${conversation} task=${task} />`} tail=${html`<${Tail} task=${task} about=${about} nothing=${nothing} started=${starts.length > 0} />`} />
      ${talks && html`<div class="composer"><${Pending} messages=${messages} task=${task} />${messages.may && html`<${Writer} url=${source.url} task=${task} add=${messages.add} />`}</div>`}
    </section>
    <aside class="talkside" aria-label="About the task">${todos?.items.length > 0 && html`<${Todos} items=${todos.items} show=${() => control.current?.show(todos.index)} />`}${side}</aside>
  </div>`;
}

const focus = (selector) => { const found = document.querySelector(selector); found?.focus(); return Boolean(found); };

// useQuestions loads the questions of the task, with their answers, if there are any.
function useQuestions(task, marks) {
  const [list, setList] = useState([]);
  const asked = marks.reduce((n, m) => n + (m.kind === 'ask' ? 1 : 0), 0);
  const load = useRef(() => {});
  const last = useRef(0); // an earlier answer that arrives late is ignored
  load.current = () => {
    const mine = ++last.current;
    get(path`/v1/runs/${task.run}/questions`).then(
      ({ questions }) => { if (mine === last.current) setList((questions ?? []).filter((q) => q.task === task.id).sort((a, b) => at(a.asked) - at(b.asked))); },
      () => {}); // the blocks then show what the log has
  };
  useEffect(() => { load.current(); }, [asked, task.question?.id]);
  useEffect(() => onChange(({ type, change: c }) => { if (type === 'questions' && c.run === task.run && c.task === task.id) load.current(); }), [task.run, task.id]);
  return list;
}

/** What the page knows about attempts, messages and questions, for the blocks. */
function useAbout({ task, attempts, prompt, marks, starts, questions, messages }) {
  return useMemo(() => {
    const open = task.question && !task.candidates?.length ? { ...task.question, where: task.question.name } : undefined;
    const known = questions.some((q) => q.id === open?.id) || !open ? questions : [...questions, open];
    const asked = matchQuestions(marks, known);
    const said = matchMessages(marks, messages, attempts);
    const pinned = open ? [...asked.by].find(([, q]) => q.id === open.id)?.[0] ?? -1 : -1;
    const during = (a, time) => time >= at(a.started) && (!a.ended || time <= at(a.ended));
    const numbers = starts.map(([n]) => n);
    return {
      attempts, pinned, asked: open, several: attempts.length > 1,
      /** The open question, if it has no block. */
      loose: open && pinned < 0 ? open : undefined,
      question: (i) => asked.by.get(i),
      message: (i) => said.by.get(i),
      /** The name of the worker; empty for a run without workers, whose own process does the work. */
      worker: (a) => (a.worker === task.run ? '' : agents.get(a.worker)?.name ?? a.worker),
      /** The attempts that ended before this one started, since the one before it in the log. */
      ended: (n) => { const before = numbers.filter((one) => one < n).at(-1) ?? (n > 1 && numbers[0] === n ? 0 : n); return attempts.filter((a) => a.ended && a.number >= before && a.number < n); },
      /** The attempts that ended after the last one in the log started. */
      last: () => attempts.filter((a) => a.ended && a.number >= (numbers.at(-1) ?? 0)),
      /** The prompt, if the program does not repeat it in the log. */
      prompts: (n) => (n === 1 && prompt && !marks.some((m) => m.attempt === n && m.first) ? prompt : ''),
      /** The delivered messages of an attempt that are not in the log. */
      messages: (n) => said.left.filter((m) => attempts.find((a) => a.id === m.attempt)?.number === n),
      /** The answered questions of an attempt that are not in the log. */
      questions: (a) => asked.left.filter((q) => q.closed && during(a, at(q.asked))),
      /** Whether the log ends with the attempt's summary. */
      said: (a) => a.class === '' || a.class === 'interrupted',
    };
  }, [task.question, task.candidates, attempts, prompt, marks, starts, questions, messages]);
}

// useAnnounced says to screen readers that the agent asks, or that the task has ended.
function useAnnounced(task) {
  const before = useRef({ question: task.question?.id, status: task.status });
  useEffect(() => {
    if (task.question && task.question.id !== before.current.question) announce(`The agent asks: ${task.question.text}`);
    if (task.status !== before.current.status && final(task.status)) announce(`The task is ${task.status}`);
    before.current = { question: task.question?.id, status: task.status };
  }, [task.question?.id, task.status]);
}

// useHeight lets the conversation end at the bottom of the window, or at the navigation there.
function useHeight() {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const fit = () => {
      const talk = ref.current?.querySelector('.talkbox');
      if (!talk) return;
      const below = ref.current.getBoundingClientRect().bottom - talk.getBoundingClientRect().bottom;
      const navigation = Number.parseFloat(getComputedStyle(document.body).paddingBottom) || 0;
      const used = `${Math.round(talk.getBoundingClientRect().top + scrollY + below + 16 + navigation)}px`;
      if (ref.current.style.getPropertyValue('--used') !== used) ref.current.style.setProperty('--used', used);
    };
    fit();
    const seen = new ResizeObserver(fit);
    seen.observe(document.querySelector('main') ?? ref.current);
    return () => seen.disconnect();
  }, []);
  return ref;
}

// useLine shows the block of the line that the address names.
function useLine(conversation, control) {
  const line = Number(query('line'));
  const { whole } = conversation.state.value;
  useEffect(() => { if (line > 0 && whole) conversation.locate(line); }, [line, whole]);
  const place = conversation.place.value;
  useEffect(() => { if (place && place.line === line && place.index >= 0) control.current?.focus(place.index); }, [place]);
}

// useAttempt shows the start of the attempt that the address names.
function useAttempt(conversation, control) {
  const wanted = query('attempt');
  const { marks, whole } = conversation.state.value;
  const place = whole && wanted ? marks.find((m) => m.kind === 'begin' && String(m.attempt) === wanted)?.index : undefined;
  useEffect(() => { if (place !== undefined) control.current?.show(place, 0); }, [place]);
}

/** The search: its matches, and the shown one. */
function useSearch(conversation, find, setFind, control) {
  const [hit, setHit] = useState(-1);
  const { whole } = conversation.state.value;
  const named = query('find');
  const known = useRef(named);
  useEffect(() => { // the user has navigated to another address
    if (known.current !== named) setFind(named);
    known.current = named;
  }, [named]);
  useEffect(() => {
    setHit(-1);
    if (!find && !conversation.found.value.text) return undefined;
    const timer = setTimeout(() => {
      conversation.search(find);
      known.current = find;
      setQuery({ find });
    }, pause);
    return () => clearTimeout(timer);
  }, [conversation, find]);
  const { text, matches, complete } = conversation.found.value;
  const show = (i) => { setHit(i); control.current?.show(i); };
  useEffect(() => { // the first match that is shown is the last one before the visible part's end
    if (!text || !matches.length || hit >= 0) return;
    const first = control.current?.first() ?? 0;
    show(matches.find((m) => m >= first) ?? matches.at(-1));
  }, [matches]);
  const step = (by) => {
    if (!matches.length) return;
    const i = matches.indexOf(hit);
    show(matches.at((i + by + matches.length) % matches.length));
  };
  return { text, matches, complete: complete && whole, hit, step };
}

function Find({ find, setFind, search }) {
  const key = (e) => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    search.step(e.shiftKey ? -1 : 1);
  };
  const { matches, hit, complete, text } = search;
  const said = !matches.length ? (complete ? 'nothing found' : 'searching…') : `${hit >= 0 ? `${count(matches.indexOf(hit) + 1)} of ` : ''}${many(matches.length, 'message')}`;
  return html`<search class="find"><input type="search" data-filter placeholder="Search the conversation  /" aria-label="Search the conversation" value=${find} onInput=${(e) => setFind(e.currentTarget.value)} onKeyDown=${key} />
    ${text && html`<span class="matches" role="status">${said}</span>
    <button class="quiet" aria-label="Previous match" title="Shift+Enter" disabled=${!matches.length} onClick=${() => search.step(-1)}>↑</button><button class="quiet" aria-label="Next match" title="Enter" disabled=${!matches.length} onClick=${() => search.step(1)}>↓</button>`}</search>`;
}

function Extent({ conversation, task, control }) {
  const { state, from, to, lines, marks } = conversation.state.value;
  const begins = marks.filter((m) => m.kind === 'begin');
  const choose = (e) => { if (e.currentTarget.value) control.current?.show(Number(e.currentTarget.value), 0); };
  if (state === 'loading') return html`<span class="faint size">Loading…</span>`;
  return html`<span class="faint size">${lines > 0 && `${lines.toLocaleString('en')} ${lines === 1 ? 'line' : 'lines'}, `}${bytes(to - from)} ${state === 'live' && html`<span class="live">● live</span>`}${state === 'lost' && html`<span class="live lost">○ reconnecting…</span>`}</span>
    <button class="quiet" title="To the beginning" onClick=${() => control.current?.toBegin()}>⤒ Beginning</button>
    ${begins.length > 1 && html`<select aria-label="Go to an attempt" onChange=${choose}><option value="">Attempt…</option>${begins.map((m) => html`<option key=${m.index} value=${m.index}>Attempt ${m.attempt}</option>`)}</select>`}<a href=${`${link('runs', task.run, 'tasks', task.id)}?tab=log`}>Raw log</a>`;
}

// Top says what is missing before the first block.
function Top({ conversation, task }) {
  const { state, whole, cut, from } = conversation.state.value;
  if (state === 'loading') return html`<p class="faint edge">Loading…</p>`;
  if (!whole) return html`<p class="faint edge" role="status">Loading the beginning… ${Math.floor(100 * conversation.progress.value)}%</p>`;
  const log = html`<a href=${`${link('runs', task.run, 'tasks', task.id)}?tab=log`}>in the log</a>`;
  if (cut > 0) return html`<p class="faint edge">The first ${cut.toLocaleString('en')} messages are only ${log}.</p>`;
  if (from > 0) return html`<p class="faint edge">The server has forgotten the first ${bytes(from)}${task.attempt?.log && html`; the whole is in <code>${task.attempt.log}</code>`}.</p>`;
  return null;
}

// Tail is what follows the last block: how the attempt ended, or what the agent does now.
function Tail({ task, about, nothing, started }) {
  const a = task.attempt;
  return html`${nothing && !about.loose && html`<p class="empty">${task.status === 'queued' ? 'It has not begun.' : task.status === 'running' ? 'It has written nothing yet.' : 'It wrote nothing.'}</p>`}
    ${nothing && !started && about.prompts(1) && html`<details class="mine early"><summary>Prompt</summary><pre>${about.prompts(1)}</pre></details>`}
    ${about.last().map((e) => html`<${AttemptEnd} key=${e.id} a=${e} about=${about} />`)}
    ${about.loose && html`<${Question} key=${about.loose.id} q=${about.loose} near=${html`<span>${about.loose.where} asks</span>`} />`}
    ${task.status === 'running' && !task.question && html`<p class="working"><${Status} of=${a?.state || 'running'} /> ${a?.said && html`<span class="faint">last sign <${Ago} time=${a.said} /></span>`}</p>`}`;
}
