// A component whose module is loaded when it is first shown.
import { html, useEffect, useState } from '../core/view.js';
import { Wrong } from './status.js';

/** @param {{load: () => Promise<{Part: any}>}} props load imports the module; the other props are those of its Part */
export function Lazy({ load, ...props }) {
  const [{ Part, failed }, set] = useState({});
  useEffect(() => {
    let over = false;
    load().then((m) => { if (!over) set({ Part: m.Part }); }, () => { if (!over) set({ failed: true }); });
    return () => { over = true; };
  }, [load]);
  if (failed) return html`<${Wrong} message="This part of the page could not be loaded from the server."><p><button onClick=${() => location.reload()}>Reload the page</button></p><//>`;
  return Part ? html`<${Part} ...${props} />` : html`<p class="starting">Loading…</p>`;
}
