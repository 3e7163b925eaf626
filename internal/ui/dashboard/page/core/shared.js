// A worker that all pages of a browser share. Browsers limit the number of connections
// to one server, so not every page can have its own stream.
import { Source, everything } from './source.js';

/** The number of messages that each page has not confirmed yet. @type {Map<MessagePort, number>} */
const pages = new Map();
const most = 5_000; // a suspended page gets no more unconfirmed messages; it reloads everything when it continues

const source = new Source(everything.url, everything.names, (told) => {
  for (const [port, waiting] of pages) {
    if (waiting > most) continue;
    pages.set(port, waiting + 1);
    port.postMessage(told);
  }
});

self.onconnect = (e) => {
  const port = e.ports[0];
  pages.set(port, 0);
  port.onmessage = ({ data }) => {
    if (data === 'bye') return pages.delete(port);
    if (data === 'again') return source.state === 'refused' && source.again(0);
    const waiting = pages.get(port) ?? 0;
    pages.set(port, Math.max(0, waiting - data));
    if (waiting > most && waiting - data <= most) port.postMessage({ kind: 'hello', id: source.last, gap: true, data: '{}' });
  };
  port.postMessage({ kind: 'state', state: source.state, since: source.since });
  if (source.state === 'live') port.postMessage({ kind: 'hello', id: source.last, gap: false, data: '{}' });
};
