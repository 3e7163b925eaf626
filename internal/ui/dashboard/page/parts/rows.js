// A virtual list: only the visible rows are in the DOM, so that thousands of rows cost
// no more than one screen of them.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../core/view.js';

const spare = 8; // extra rows above and below the visible ones

/**
 * @param {{rows: any[], height: number, draw: (row: any, index: number) => any, id: (row: any) => string, open?: (row: any) => void, label: string}} props
 * All rows have one height. Arrow keys, Home and End move; Enter opens.
 */
export function Rows({ rows, height, draw, id, open, label }) {
  const ref = useRef(null);
  const [sight, setSight] = useState({ from: 0, to: 40 });
  const [at, setAt] = useState(0);
  const moved = useRef(false);
  const where = useRef(0); // the latest value of at, even before the list is drawn again

  useLayoutEffect(() => {
    const look = () => {
      const top = ref.current.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(-top / height) - spare);
      const to = Math.ceil((innerHeight - top) / height) + spare;
      setSight((s) => (s.from === from && s.to === to ? s : { from, to }));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => { removeEventListener('scroll', look); removeEventListener('resize', look); };
  }, [height, rows.length]);

  useEffect(() => {
    const row = moved.current && ref.current.querySelector(`[data-index="${where.current}"]`);
    if (!row) return; // it is focused when it becomes visible
    moved.current = false;
    row.focus();
  }, [at, sight]);

  const key = (e) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };
    if (e.target.dataset.index === undefined) return;
    if (e.key === 'Enter' && open) return open(rows[where.current]);
    if (!(e.key in steps)) return;
    e.preventDefault();
    const next = Math.min(rows.length - 1, Math.max(0, where.current + steps[e.key]));
    where.current = next;
    const top = ref.current.getBoundingClientRect().top + scrollY + next * height;
    if (top < scrollY + 80) scrollTo(0, top - 80);
    else if (top + height > scrollY + innerHeight) scrollTo(0, top + height - innerHeight + 8);
    moved.current = true;
    setAt(next);
  };

  const shown = [];
  for (let i = sight.from; i < Math.min(rows.length, sight.to); i++) {
    shown.push(html`<div key=${id(rows[i])} role="listitem" class="row" data-index=${i} tabindex=${i === Math.min(at, rows.length - 1) ? 0 : -1}
      aria-posinset=${i + 1} aria-setsize=${rows.length} style=${{ top: `${i * height}px`, height: `${height}px` }}
      onFocus=${() => { where.current = i; setAt(i); }} onClick=${(e) => { if (open && !e.target.closest('a,button,input')) open(rows[i]); }}>${draw(rows[i], i)}</div>`);
  }
  return html`<div ref=${ref} role="list" aria-label=${label} class="rows" style=${{ height: `${rows.length * height}px` }} onKeyDown=${key}>${shown}</div>`;
}
