// The frame around every page: navigation, state of the connection, number of open
// questions.
import { html, useEffect, useRef } from '../core/view.js';
import { refused, send } from '../core/api.js';
import { agents, loaded, self } from '../core/fleet.js';
import { describedKeys, useKeys } from '../core/keys.js';
import { sound, theme } from '../core/prefs.js';
import { go, route } from '../core/route.js';
import { again, connection } from '../core/stream.js';
import { clock, exact, tick } from '../core/time.js';
import { waiting } from '../core/title.js';
import { Announcements } from './announce.js';
import { Dialogs, confirm } from './dialog.js';
import { openQuestions } from './question.js';
import { Toasts } from './toast.js';

const places = [['Fleet', '#/', ''], ['Runs', '#/runs', 'runs'], ['Projects', '#/projects', 'projects'], ['Records', '#/records', 'records']];

function Live() {
  const { state, since, began } = connection.value;
  tick.value;
  if (state === 'live') return html`<span class="live" role="status" title=${`Connected since ${exact(since)}`}><span class="sign" aria-hidden="true">●</span> live</span>`;
  if (began) return html`<span class="live lost" role="status">connecting…</span>`;
  return html`<span class="live lost" role="status" title="What you see may have changed since. It comes back by itself with the server. If that has ended: gaffer serve, then gaffer open."><span class="sign" aria-hidden="true">○</span> stale since ${clock(since)}, reconnecting…</span>`;
}

const themes = { auto: ['dark', '◐', 'as the system'], dark: ['light', '●', 'dark'], light: ['auto', '○', 'light'] };

function Choices() {
  const [next, mark, word] = themes[theme.value] ?? themes.auto;
  return html`<div class="choices">
    <button class="quiet" onClick=${() => { theme.value = next; }} aria-label=${`Colours: ${word}. Change to ${next}.`} title=${`Colours: ${word}`}>${mark}</button>
    <button class="quiet" aria-pressed=${sound.value === 'on'} onClick=${() => { sound.value = sound.value === 'on' ? 'off' : 'on'; }} aria-label=${`♪ ${sound.value}: sound when an agent asks`} title=${`Sound when an agent asks: ${sound.value}`}>♪ ${sound.value}</button>
    <button class="quiet" onClick=${help} aria-label="Keys" title="Keys (?)">?</button>
    <button class="quiet" onClick=${leave} title=${self.value.name && `${self.value.name}, ${self.value.role}`}>Log out</button>
  </div>`;
}

async function leave() {
  if (await confirm({ title: 'Log this browser out?', text: 'To come back: gaffer open', action: 'Log out' }) === null) return;
  await send('/v1/logout').catch(() => {});
  location.reload();
}

function help() {
  const keys = [...describedKeys(), ['↑ ↓ Enter', 'move in a list, open an item'], ['Esc', 'close, then go back']];
  confirm({ title: 'Keys', text: html`<dl class="keys">${keys.map(([k, what]) => html`<dt>${k.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>`, action: 'Good' });
}

const keys = {
  '?': [help, 'this help'],
  '/': [() => focus('[data-filter]'), 'filter'],
  q: [() => focus('.question button, .question input'), 'to the first question'],
  'g f': [() => go('#/'), 'fleet'],
  'g r': [() => go('#/runs'), 'runs'],
  'g p': [() => go('#/projects'), 'projects'],
  'g e': [() => go('#/records'), 'records'],
};

function focus(selector) {
  const found = document.querySelector(selector);
  found?.focus();
  return Boolean(found);
}

// Shows the number of open questions in the title, and rings when it grows.
function useBadge(n) {
  const known = useRef(false);
  useEffect(() => {
    if (known.current && n > waiting.value && sound.value === 'on') ring();
    known.current = loaded.value;
    waiting.value = n;
  }, [n, loaded.value]);
}

function ring() {
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  const loud = audio.createGain();
  loud.gain.setValueAtTime(0.08, audio.currentTime);
  loud.gain.exponentialRampToValueAtTime(0.0001, audio.currentTime + 0.5);
  tone.frequency.value = 660;
  tone.connect(loud).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.5);
  tone.onended = () => audio.close();
}

function Stranger() {
  return html`<main class="stranger"><h1>gaffer</h1>
    <p>${refused.value || 'This browser is not logged in.'}</p>
    <p>On a machine that has a token, this opens the page with a link that works once:</p>
    <pre>gaffer open</pre>
    <p class="faint">“gaffer serve” prints such a link when it starts in a terminal.</p>
    <button onClick=${() => { refused.value = ''; again(); location.reload(); }}>Try again</button></main>`;
}

/** @param {{children: any}} props */
export function Shell({ children }) {
  useKeys(keys);
  const asked = loaded.value ? openQuestions().length : 0;
  useBadge(asked);
  if (refused.value || connection.value.state === 'refused') return html`<${Stranger} />`;
  const here = route.value.path[0] ?? '';
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>To the content</a>
    <header class="top">
      <a class="brand" href="#/" aria-label="gaffer, the fleet"><img src="/assets/icon.svg" alt="" width="22" height="22" /> gaffer</a>
      <nav aria-label="Pages">${places.map(([name, href, at]) => html`<a href=${href} aria-current=${here === at ? 'page' : undefined}>${name}</a>`)}</nav>
      ${asked > 0 && html`<a class="asked" href="#/"><span aria-hidden="true">?</span> ${asked} waiting</a>`}
      <span class="space"></span>
      <${Live} /><${Choices} />
    </header>
    <main id="main" tabindex="-1" aria-busy=${!loaded.value && agents.size === 0}>${children}</main>
    <${Dialogs} /><${Toasts} /><${Announcements} />`;
}
