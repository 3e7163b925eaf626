// The frame around every page: navigation, state of the connection, number of open
// questions, keys, settings. On a phone the navigation is at the bottom.
import { refused, send } from '../core/api.js';
import { useCommands } from '../core/commands.js';
import { watchEvents } from '../core/notifyevents.js';
import { agents, loaded, self } from '../core/fleet.js';
import { describedKeys, useKeys } from '../core/keys.js';
import { notifications, notify, toggleNotifications, whyNot } from '../core/notify.js';
import { hasPage, parentOf, places } from '../core/places.js';
import { sound, theme } from '../core/prefs.js';
import { catchUp, go, route, setQuery } from '../core/route.js';
import { again, connection } from '../core/stream.js';
import { clock, exact, tick } from '../core/time.js';
import { waiting } from '../core/title.js';
import { html, signal, useEffect } from '../core/view.js';
import { Announcements, announce } from './announce.js';
import { Dialogs, confirm } from './dialog.js';
import { Icon } from './icon.js';
import { Menu } from './menu.js';
import { openQuestions } from './question.js';
import { Toasts, toast } from './toast.js';

function Live() {
  const { state, since, began } = connection.value;
  tick.value;
  if (state === 'live') return html`<span class="live" role="status" title=${`Connected since ${exact(since)}`}><span class="sign" aria-hidden="true">●</span> <span class="word">live</span></span>`;
  if (began) return html`<span class="live lost" role="status">connecting…</span>`;
  return html`<span class="live lost" role="status" title="What you see may have changed since. It comes back by itself with the server. If that has ended: gaffer serve, then gaffer open."><span class="sign" aria-hidden="true">○</span> stale since ${clock(since)}<span class="word">, reconnecting…</span></span>`;
}

const mayStart = () => hasPage('new') && self.value.role !== 'viewer';

/** The settings of this browser, and what users seldom need. @returns {import('./menu.js').Item[]} */
function settings() {
  const colours = (value, title) => ({ title, checked: theme.value === value, run: () => { theme.value = value; } });
  return [
    colours('auto', 'Colours of the system'), colours('light', 'Light colours'), colours('dark', 'Dark colours'), null,
    { title: 'Sound when an agent asks', checked: sound.value === 'on', run: () => { sound.value = sound.value === 'on' ? 'off' : 'on'; } },
    { title: 'Notifications', checked: notifications.value === 'on' && !whyNot(), why: whyNot(), run: switchNotifications }, null,
    { title: 'Keys', hint: '?', run: help },
    ...(installation.value ? [{ title: 'Install as an app', run: install }] : []),
    { title: 'Log out', tip: self.value.name && `${self.value.name}, ${self.value.role}`, run: leave },
  ];
}

async function switchNotifications() {
  const on = await toggleNotifications();
  toast(on ? 'This browser notifies you when an agent asks or a run ends, while the dashboard is open.' : whyNot() ? 'The browser blocks notifications. Allow them in its settings for this page.' : 'This browser does not notify you any more.');
}

// The browser's offer to install the dashboard as an app.
const installation = signal(null);
addEventListener('beforeinstallprompt', (e) => { e.preventDefault(); installation.value = e; });
addEventListener('appinstalled', () => { installation.value = null; });

async function install() {
  await installation.value.prompt();
  installation.value = null;
}

async function leave() {
  if (await confirm({ title: 'Log this browser out?', text: 'To come back: gaffer open', action: 'Log out' }) === null) return;
  await send('/v1/logout').catch(() => {});
  location.reload();
}

function help() {
  const { page, everywhere } = describedKeys();
  const list = (title, keys) => keys.length > 0 && html`<section><h3>${title}</h3><dl class="keys">${keys.map(([k, what]) => html`<dt key=${k}>${k.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd key=${what}>${what}</dd>`)}</dl></section>`;
  const found = [['Ctrl+K', 'find a run, a task, a project or an action'], ['↑ ↓ Enter', 'move in a list, open an item']];
  confirm({ title: 'Keys', text: html`<div class="keysets" tabindex="0">${list('On this page', page)}${list('Everywhere', [...found, ...everywhere])}</div>`, action: 'Close', only: true });
}

/** The keys that work on every page. @returns {import('../core/keys.js').Keys} */
function keys() {
  return {
    '?': [help, 'this help'],
    '/': [() => focus('main [data-filter]') || openPalette(), 'filter, or find'],
    q: [() => focus('.question button, .question input'), 'to the first question'],
    ...(mayStart() && { n: [() => go('#/new'), 'new run'] }),
    ...Object.fromEntries(places().map((p) => [`g ${p.key}`, [() => go(p.href), p.title.toLowerCase()]])),
    'g s': [() => go('#/search'), 'search'],
    Escape: [back, 'close, then go back'],
    ArrowDown: enterList, ArrowUp: enterList,
  };
}

function focus(selector) {
  const found = document.querySelector(selector);
  found?.focus();
  return Boolean(found);
}

// The first arrow key goes to the list of the page.
function enterList() {
  const at = document.activeElement;
  return (at === document.body || at?.id === 'main') && focus('main [data-list] [tabindex="0"], main .rows [tabindex="0"]');
}

// The names of queries that select a part of a page.
const filters = ['filter', 'status'];

// Escape: shows everything again if the page is filtered, else goes to the page above.
function back() {
  catchUp();
  const { path, query } = route.value;
  if (filters.some((name) => query.get(name))) return setQuery(Object.fromEntries(filters.map((name) => [name, ''])));
  const parent = parentOf(path);
  return parent ? go(parent) : false;
}

/** @returns {import('../core/commands.js').Command[]} */
function commands() {
  const set = (item) => ({ id: `set ${item.title}`, section: 'Settings', title: item.title, hint: item.checked === undefined ? undefined : item.checked ? 'is on' : 'is off', run: item.run });
  return [
    ...(mayStart() ? [{ id: 'new', section: 'Go to', title: 'New run', keys: 'n', run: () => go('#/new') }] : []),
    ...places().map((p) => ({ id: `go ${p.name}`, section: 'Go to', title: p.title, keys: `g ${p.key}`, run: () => go(p.href) })),
    { id: 'search', section: 'Go to', title: 'Search prompts and results', keys: 'g s', run: () => go('#/search') },
    ...settings().filter((item) => item && !item.why).map(set),
  ];
}

const Palette = signal(null);

async function openPalette() {
  try {
    const loadedModule = await import('./palette.js');
    Palette.value = loadedModule.Palette;
    loadedModule.toggle();
  } catch {
    toast('The list of commands could not be loaded from the server.', { mood: 'bad' });
  }
}

function onPalette(e) {
  if (e.key.toLowerCase() !== 'k' || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || e.defaultPrevented) return;
  if (document.querySelector('dialog[open]:not(.palette)')) return;
  e.preventDefault();
  openPalette();
}

let begun = false;

// Tells the user what happens, also one who looks elsewhere.
function begin() {
  if (begun) return;
  begun = true;
  watchEvents(openQuestions, (what) => {
    announce(`${what.title}. ${what.body}`);
    notify(what).catch(() => {}); // the page shows the event anyway
    if (what.kind === 'question' && sound.value === 'on') ring();
  });
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

const mac = /Mac|iPhone|iPad/.test(navigator.platform);

function Top({ here, asked }) {
  return html`<header class="top">
    <a class="brand" href="#/" aria-label="gaffer, the fleet"><img src="/assets/icon.svg" alt="" width="22" height="22" /> <span class="word">gaffer</span></a>
    <nav aria-label="Pages">${places().map((p) => html`<a key=${p.name} href=${p.href} aria-current=${here === p.at ? 'page' : undefined}>${p.title}</a>`)}</nav>
    <span class="space"></span>
    ${asked > 0 && html`<a class="asked" href="#/" title=${`${asked === 1 ? 'One agent waits' : `${asked} agents wait`} for you`}><span aria-hidden="true">?</span> ${asked} <span class="word">waiting</span></a>`}
    <${Live} />
    <button class="finder" onClick=${openPalette} title="Find a run, a task, a project or an action"><${Icon} of="search" /><span class="word">Find</span><kbd>${mac ? '⌘' : 'Ctrl'} K</kbd></button>
    ${mayStart() && html`<a class="button primary start" href="#/new" title="New run (n)"><${Icon} of="new" /><span class="word">New run</span></a>`}
    <${Menu} class="quiet more" label="Settings" items=${settings()}><${Icon} of="more" /><//>
  </header>`;
}

const inBottom = 4; // places in the bottom bar, besides "More" and "New run"

// The navigation of a phone.
function Bottom({ here }) {
  const all = places();
  const shown = all.length + (mayStart() ? 1 : 0) <= inBottom + 1 ? all : all.slice(0, inBottom - (mayStart() ? 1 : 0));
  const rest = all.slice(shown.length);
  const half = Math.ceil(shown.length / 2);
  const entry = (p) => html`<a key=${p.name} href=${p.href} aria-current=${here === p.at ? 'page' : undefined}><${Icon} of=${p.name} />${p.title}</a>`;
  return html`<nav class="bottom" aria-label="Pages">${shown.slice(0, half).map(entry)}
    ${mayStart() && html`<a key="new" href="#/new" aria-current=${here === 'new' ? 'page' : undefined}><${Icon} of="new" />New run</a>`}
    ${shown.slice(half).map(entry)}
    ${rest.length > 0 && html`<${Menu} class=${rest.some((p) => p.at === here) ? 'here' : ''} label="More pages" items=${rest.map((p) => ({ title: p.title, href: p.href }))}><${Icon} of="more" />More<//>`}</nav>`;
}

/** @param {{children: any}} props */
export function Shell({ children }) {
  useKeys(keys());
  useCommands(commands);
  useEffect(() => {
    begin();
    addEventListener('keydown', onPalette);
    return () => removeEventListener('keydown', onPalette);
  }, []);
  const asked = loaded.value ? openQuestions().length : 0;
  useEffect(() => { waiting.value = asked; }, [asked]);
  if (refused.value || connection.value.state === 'refused') return html`<${Stranger} />`;
  const here = route.value.path[0] ?? '';
  return html`<a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>To the content</a>
    <${Top} here=${here} asked=${asked} />
    <main id="main" tabindex="-1" aria-busy=${!loaded.value && agents.size === 0}>${children}</main>
    <${Bottom} here=${here} />
    ${Palette.value && html`<${Palette.value} />`}
    <${Dialogs} /><${Toasts} /><${Announcements} />`;
}
