// The terminal of a task's agent, as it runs in tmux. The page only watches until the user
// takes the keyboard.
import { useCommands } from '../core/commands.js';
import { self } from '../core/fleet.js';
import { useKeys } from '../core/keys.js';
import { theme } from '../core/prefs.js';
import { link } from '../core/route.js';
import { path } from '../core/api.js';
import { html, useEffect, useRef, useSignalEffect, useState } from '../core/view.js';
import { announce } from '../parts/announce.js';
import { say } from '../parts/dialog.js';
import { Status, Wrong } from '../parts/status.js';
import { Screen } from './screen.js';
import { Socket } from './socket.js';

/** The name of a user. A browser has a token of its own, which is named after the user's. */
const person = (typist) => typist?.replace(/^browser of /, '');

const may = () => self.value.role === 'operator' || self.value.role === 'admin';

/** Whether the key gives the keyboard back. @param {KeyboardEvent} e */
const returns = (e) => e.key === 'Escape' && e.ctrlKey && e.shiftKey;

/** @param {{task: any}} props */
export function Part({ task }) {
  const host = useRef(null);
  const [parts, setParts] = useState(null);
  useEffect(() => styled(() => setParts(connect(host.current, path`/v1/runs/${task.run}/tasks/${task.id}/terminal`))), [task.run, task.id]);
  useEffect(() => parts?.end, [parts]);
  useSignalEffect(() => { theme.value; parts?.screen.repaint(); });
  const state = parts?.socket.state.value;
  const connection = parts?.socket.connection.value ?? 'connecting';
  const mine = !!state?.mine && connection === 'open';
  const ready = may() && connection === 'open' && state?.phase === 'live';
  const take = () => { if (!ready || mine) return false; parts.socket.keyboard(true); return true; };
  const release = () => parts.socket.keyboard(false);
  useKeys(may() ? { k: [take, 'take the keyboard of the terminal'] } : {});
  useCommands(() => (!ready ? [] : [mine
    ? { id: 'terminal-release', title: 'Give the keyboard of the terminal back', keys: 'Ctrl Shift Esc', run: release }
    : { id: 'terminal-take', title: 'Take the keyboard of the terminal', keys: 'k', run: take }]));
  const empty = !state || state.blank ? connection === 'failed' || state?.phase === 'ended' : false;
  return html`<section class="terminal" aria-label="Terminal">
    <header><${Keyboard} state=${state} connection=${connection} />
      <span class=${`hint faint ${mine ? '' : 'watching'}`}>${mine ? html`Every key goes to the terminal, Esc as well. <kbd>Ctrl</kbd> <kbd>Shift</kbd> <kbd>Esc</kbd> gives the keyboard back.` : ready && html`<kbd>k</kbd> takes the keyboard.`}</span>
      <span class="space"></span>
      ${mine ? html`<button onClick=${release}>Give the keyboard back</button>`
        : may() && state?.phase !== 'ended' && connection !== 'failed' && html`<button class="primary" disabled=${!ready} onClick=${take}>${state?.typist ? `Take the keyboard from ${person(state.typist)}` : 'Take the keyboard'}</button>`}
    </header>
    <${Phase} task=${task} state=${state} connection=${connection} socket=${parts?.socket} />
    <div class=${`screen ${mine ? 'typing' : ''} ${state?.phase === 'live' || !state ? '' : 'over'}`} ref=${host} hidden=${empty} onKeyDown=${(e) => { if (mine) e.stopPropagation(); }}></div>
  </section>`;
}

/** Who types: a sign and words. */
function Keyboard({ state, connection }) {
  const is = (name, sign, words) => html`<span class=${`keyboard ${name}`}><span class="sign" aria-hidden="true">${sign}</span>${words}</span>`;
  if (connection === 'lost') return is('lost', '↻', 'connection lost, connecting again');
  if (!state) return is('', '○', connection === 'failed' ? 'no terminal' : 'connecting');
  if (state.phase !== 'live') return is('', '■', state.phase === 'waiting' ? 'no terminal yet' : 'closed');
  if (state.mine) return is('mine', '⌨', 'you type');
  if (state.typist) return is('theirs', '⌨', `${person(state.typist)} types`);
  return is('', '◉', 'watching');
}

/** What the user should know about a terminal that is not live. */
function Phase({ task, state, connection, socket }) {
  const log = html`<a href=${`${link('runs', task.run, 'tasks', task.id)}?tab=log`}>The log</a> has all of its output.`;
  if (connection === 'failed' && socket.elsewhere) return html`<div class="phase" role="status"><p>${socket.problem.value}</p><p>${log}</p></div>`;
  if (connection === 'failed') return html`<${Wrong} message=${socket.problem.value}><p>${log} <button onClick=${() => socket.again()}>Try again</button></p><//>`;
  if (!state || state.phase === 'live') return null;
  const ended = state.class || state.phase === 'ended';
  const how = ended && state.attempt > 0 && html`<${Status} of=${state.status === 'queued' ? 'failed' : state.status} word=${`attempt ${state.attempt} ${state.class ? state.class.replaceAll('_', ' ') : state.status}`} />
    ${state.exit ? html`<span class="faint">exit ${state.exit}</span>` : ''}${state.summary && html`<span class="words">${state.summary}</span>`}`;
  return html`<div class="phase" role="status">
    ${state.phase === 'ended' && html`${how || html`<${Status} of=${state.status} />`}<p>The agent has ended, and its terminal with it. ${log}</p>`}
    ${state.phase === 'closed' && html`<p>The terminal has closed, and the attempt goes on${task.attempt?.doing ? `: ${task.attempt.doing}` : ''}. ${log}</p>`}
    ${state.phase === 'waiting' && html`${how}<p>${how ? 'The terminal of the next attempt appears here.' : 'The agent has not started. Its terminal appears here.'}</p>`}
  </div>`;
}

// connect opens the terminal in an element. end closes it.
function connect(host, url) {
  let socket;
  const screen = new Screen(host, {
    keys: (keys) => socket.type(keys),
    chord: (e) => {
      if (e.type !== 'keydown') return false;
      if (screen.typing && returns(e)) { socket.keyboard(false); e.preventDefault(); return true; }
      if (!screen.typing && e.key === 'k' && !e.ctrlKey && !e.metaKey && !e.altKey && may()) { socket.keyboard(true); e.preventDefault(); return true; }
      return false;
    },
  });
  let wanted = screen.fitting();
  socket = new Socket(url, wanted, {
    output: (data, shown) => screen.write(data, shown),
    refused: (message) => say(message, 'bad'),
    state: (now, before) => {
      if (now.screen !== before?.screen) screen.reset();
      screen.resize(now);
      screen.type(!!now.mine);
      if (now.mine && !before?.mine) host.scrollIntoView({ block: 'nearest' });
      if (now.phase !== 'live') screen.freeze();
      tell(now, before);
    },
  });
  const lost = () => { if (socket.connection.value !== 'open') screen.type(false); };
  const forget = socket.connection.subscribe(lost);
  const fit = new ResizeObserver(() => {
    const size = screen.fitting();
    if (size.columns !== wanted.columns || size.rows !== wanted.rows) socket.resize(wanted = size);
    if (socket.state.value) screen.resize(socket.state.value);
  });
  fit.observe(host);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const repaint = () => screen.repaint();
  dark.addEventListener('change', repaint);
  return { socket, screen, end: () => { fit.disconnect(); dark.removeEventListener('change', repaint); forget(); socket.close(); screen.end(); } };
}

// tell says to screen readers who types, and that the agent has ended.
function tell(now, before) {
  if (now.mine && !before?.mine) announce('You type in the terminal. Control Shift Escape gives the keyboard back.');
  else if (before?.mine && !now.mine) announce(now.typist ? `${person(now.typist)} has taken the keyboard.` : 'The keyboard is given back.');
  if (now.phase === 'ended' && before?.phase !== 'ended') announce(`The agent has ended: ${now.status}.`);
}

// styled calls then when the styles of xterm.js are loaded.
function styled(then) {
  let over = false;
  const done = () => { if (!over) then(); };
  const id = 'xterm-style';
  let sheet = document.getElementById(id);
  if (!sheet) {
    sheet = Object.assign(document.createElement('link'), { id, rel: 'stylesheet', href: '/assets/lib/xterm.css' });
    document.head.append(sheet);
  }
  if (sheet.sheet) done();
  else sheet.addEventListener('load', done);
  return () => { over = true; sheet.removeEventListener('load', done); };
}
