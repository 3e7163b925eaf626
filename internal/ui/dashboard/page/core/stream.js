// A page's access to the browser's shared event stream.
import { Source, everything } from './source.js';
import { effect, signal, untracked } from './view.js';

/** The state of the connection to the server, and since when. */
export const connection = signal({ state: 'lost', since: Date.now(), began: true });

/**
 * Calls returned when the server answers, until the returned function is called.
 * @param {(again: boolean) => void} returned again: it has answered before, and was away since
 */
export function onReturn(returned) {
  let [live, again] = [false, false];
  return effect(() => {
    const before = live;
    live = connection.value.state === 'live';
    if (!before && live) untracked(() => returned(again));
    again ||= live;
  });
}

/**
 * Calls tell with every message of the stream while the page is open.
 * @param {(told: import('./source.js').Told) => void} tell
 */
export function follow(tell) {
  const hear = (told) => {
    if (told.kind === 'state') connection.value = { state: told.state, since: told.since, began: false };
    else tell(told);
  };
  if (typeof SharedWorker === 'undefined') {
    const source = new Source(everything.url, everything.names, hear);
    again = () => source.again(0);
    return;
  }
  const { port } = new SharedWorker('/assets/core/shared.js', { type: 'module', name: 'gaffer' });
  let taken = 0;
  port.onmessage = ({ data }) => {
    hear(data);
    if (++taken === 50) { port.postMessage(taken); taken = 0; }
  };
  addEventListener('pagehide', () => port.postMessage('bye'));
  addEventListener('pageshow', (e) => { if (e.persisted) location.reload(); });
  again = () => port.postMessage('again');
}

/** Reconnects after the server has refused the connection. */
export let again = () => {};
