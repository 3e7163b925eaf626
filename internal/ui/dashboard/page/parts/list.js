// Keys for lists and tables whose items are all in the DOM. Long lists use rows.js.
import { useLayoutEffect, useRef, useState } from '../core/view.js';

/** The item that was focused last, by the name of its list. @type {Map<string, number>} */
const last = new Map();

/**
 * Arrow keys, Home and End move between the items; Enter opens one. One item is in the
 * order of Tab. In a grid, the arrows move by rows and columns.
 *
 *   const { list, item } = useList({ count: runs.length, open: (i) => go(…), key: 'runs' });
 *   html`<tbody ...${list}>${runs.map((r, i) => html`<tr ...${item(i)}>…</tr>`)}</tbody>`
 *
 * @param {{count: number, open?: (index: number) => void, key?: string}} of open is not
 * needed if the items are links; with a key, the item is focused again when the user returns
 */
export function useList({ count, open, key }) {
  const ref = useRef(null);
  const [at, setAt] = useState(() => (key && last.get(key)) || 0);
  const here = Math.min(at, count - 1);

  useLayoutEffect(() => {
    if (!key || !last.has(key)) return undefined;
    const frame = requestAnimationFrame(() => { // after the page has scrolled to its top
      if (document.activeElement === document.body) itemsOf(ref.current)[here]?.focus();
    });
    return () => cancelAnimationFrame(frame);
  }, []);

  const onKeyDown = (e) => {
    if (e.target.dataset.item === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    const items = itemsOf(ref.current);
    const from = items.indexOf(e.target);
    if (e.key === 'Enter' && open && !e.target.matches('a,button')) {
      e.preventDefault();
      open(from);
      return;
    }
    const to = step(items, from, e.key);
    if (to === undefined) return;
    e.preventDefault();
    items[Math.min(items.length - 1, Math.max(0, to))]?.focus();
  };

  const item = (index) => ({
    'data-item': index, tabindex: index === here ? 0 : -1,
    onFocus: () => { setAt(index); if (key) last.set(key, index); },
    ...(open && { onClick: (e) => { if (!e.target.closest('a,button,input,label,summary') && getSelection().isCollapsed) open(index); } }),
  });
  return { list: { ref, onKeyDown, 'data-list': '' }, item };
}

const itemsOf = (list) => [...list?.querySelectorAll('[data-item]') ?? []];

// step returns the index that a key moves to. Items at the same height are the columns of a grid.
function step(items, from, key) {
  if (key === 'Home') return 0;
  if (key === 'End') return items.length - 1;
  const top = (i) => items[i]?.offsetTop;
  let columns = 1;
  while (columns < items.length && top(columns) === top(0)) columns++;
  if (key === 'ArrowDown') return from + columns < items.length || columns === 1 ? from + columns : items.length - 1;
  if (key === 'ArrowUp') return from >= columns ? from - columns : from;
  if (columns > 1 && key === 'ArrowRight') return from + 1;
  if (columns > 1 && key === 'ArrowLeft') return from - 1;
  return undefined;
}
