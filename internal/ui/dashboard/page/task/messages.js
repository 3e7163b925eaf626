// Messages of the user to the agent of a task: the input, and those that wait.
import { get, newId, path, send } from '../core/api.js';
import { useCommands } from '../core/commands.js';
import { onChange, self } from '../core/fleet.js';
import { final } from '../core/words.js';
import { html, useEffect, useRef, useState } from '../core/view.js';
import { attempt, confirm, quietly } from '../parts/dialog.js';
import { Ago } from '../parts/status.js';

/**
 * The messages to the agent of a task.
 * @param {any} task @param {boolean} talks whether it has an agent
 */
export function useMessages(task, talks) {
  const url = path`/v1/runs/${task.run}/tasks/${task.id}`;
  const [list, setList] = useState([]);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    if (!talks) return undefined;
    let over = false;
    let last = 0; // an earlier answer that arrives late is ignored
    const load = () => {
      const mine = ++last;
      get(`${url}/messages`).then(
        ({ messages }) => { if (!over && mine === last) { setList(messages ?? []); setProblem(''); } },
        (e) => { if (!over && mine === last) setProblem(e.message); });
    };
    load();
    const forget = onChange(({ type, change: c }) => { if (type === 'messages' && c.run === task.run && c.task === task.id) load(); });
    return () => { over = true; forget(); };
  }, [url, talks]);
  const may = self.value.role !== 'viewer' && self.value.role !== 'worker';
  const add = (m) => setList((before) => (m ? [...before.filter((x) => x.id !== m.id), m] : before));
  const withdraw = (m) => quietly(async () => {
    await send(`${url}/messages/${encodeURIComponent(m.id)}`, {}, 'DELETE');
    setList((before) => before.map((x) => (x.id === m.id ? { ...x, withdrawn: true } : x)));
  });
  return { list, problem, may, add, withdraw };
}

/** The messages that the agent has not got yet. @param {{messages: ReturnType<typeof useMessages>, task: any}} props */
export function Pending({ messages, task }) {
  const { list, problem, may, withdraw } = messages;
  const some = list.filter((m) => !m.delivered && !m.withdrawn);
  return html`${problem && html`<p class="faint">The messages could not be loaded: ${problem}</p>`}
    ${some.length > 0 && html`<ol class="letters" aria-label="Messages that wait">${some.map((m) => html`<li key=${m.id} class="letterbox"><p class="said">${String(m.text)}</p>
      <p class="faint">${m.by && html`<bdi>${m.by}</bdi>, `}sent <${Ago} time=${m.sent} />; ${task.status === 'running' ? 'waits until the agent takes it' : 'waits for the next attempt'}
        ${may && html` <button class="quiet" onClick=${() => withdraw(m)}>Withdraw</button>`}</p></li>`)}</ol>`}`;
}

/** The input for a message. @param {{url: string, task: any, add: (m: any) => void}} props */
export function Writer({ url, task, add }) {
  const [text, setText] = useState('');
  const [now, setNow] = useState(false);
  const [busy, setBusy] = useState(false);
  const id = useRef(''); // a retry after a lost answer uses the same id, so that the message is sent once
  const write = (value) => { setText(value); id.current = ''; };
  const submit = async (e) => {
    e?.preventDefault();
    if (!text.trim() || busy) return;
    setBusy(true);
    id.current ||= newId();
    const sent = await quietly(async () => add((await send(`${url}/messages`, { id: id.current, text: text.trim(), now: now || undefined })).message));
    setBusy(false);
    if (sent) write('');
  };
  const interrupt = async () => {
    const what = html`<p>The agent of <code>${task.run}/${task.id}</code> stops what it does now. Its conversation is kept: a message continues it.</p>`;
    if (await confirm({ title: 'Interrupt the agent?', text: what, action: 'Interrupt', danger: true }) === null) return;
    attempt(`Interrupted: ${task.id}`, () => send(`${url}/interrupt`, {}));
  };
  const running = task.status === 'running';
  useCommands(() => (running ? [{ id: 'task-interrupt', title: 'Interrupt the agent…', hint: task.id, run: interrupt }] : []));
  const label = running ? 'Message to the agent' : final(task.status) ? 'Message to the agent: its conversation continues' : 'Message to the agent: it gets it when it starts';
  const key = (e) => { if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) submit(e); };
  return html`<form class="writer" onSubmit=${submit}>
    <textarea rows="1" maxlength="50000" aria-label=${label} placeholder=${label} value=${text} onInput=${(e) => write(e.currentTarget.value)} onKeyDown=${key}></textarea>
    <button type="submit" class="primary" disabled=${busy || !text.trim()}>Send</button>
    ${running && html`<label class="now"><input type="checkbox" checked=${now} onChange=${(e) => setNow(e.currentTarget.checked)} /> at once</label><button type="button" class="danger" onClick=${interrupt}>Interrupt…</button>`}
  </form>`;
}
