// The tooltip beside the element under the pointer.
import { html, useLayoutEffect, useRef } from '../core/view.js';

/** @param {{by: DOMRect|null, children: any}} props */
export function Tip({ by, children }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const tip = ref.current;
    if (!tip || !by) return;
    const { width, height } = tip.getBoundingClientRect();
    const below = by.bottom + height + 12 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(innerWidth - width - 8, by.left))}px`;
    tip.style.top = `${below ? by.bottom + 6 : Math.max(8, by.top - height - 6)}px`;
  });
  return by && html`<div ref=${ref} class="g-tip" role="tooltip">${children}</div>`;
}
