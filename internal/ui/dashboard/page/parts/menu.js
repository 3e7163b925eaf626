// A button that opens a list of actions.
import { html, useRef, useState } from '../core/view.js';

/**
 * checked: an option that is on or off. why: the reason why the action is not possible now.
 * @typedef {{title: string, hint?: string, run?: () => void, href?: string, checked?: boolean, danger?: boolean, why?: string, tip?: string}} Item
 */

let made = 0;

/**
 * @param {{label: string, items: (Item|null)[], children?: any, class?: string}} props null is a line between items;
 * label names the button for screen readers; children are what it shows, else the label
 */
export function Menu({ label, items, children, class: name = '' }) {
  const [id] = useState(() => `menu-${++made}`);
  const [open, setOpen] = useState(false);
  const button = useRef(null);
  const list = useRef(null);

  const toggle = (e) => {
    setOpen(e.newState === 'open');
    if (e.newState !== 'open') return;
    place(list.current, button.current);
    entries(list.current)[0]?.focus();
  };
  const key = (e) => {
    const all = entries(list.current);
    const at = all.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
    if (e.key === 'Tab') list.current.hidePopover();
    if (e.key === 'Escape') {
      e.preventDefault();
      list.current.hidePopover();
      button.current.focus();
    }
    if (to === undefined) return;
    e.preventDefault();
    all.at(to % all.length)?.focus();
  };
  const choose = (item) => () => {
    list.current.hidePopover();
    item.run?.();
  };
  const marks = items.some((item) => item?.checked !== undefined);
  const below = (e) => { if (e.key === 'ArrowDown' && !open) { e.preventDefault(); list.current.showPopover(); } };

  return html`<button ref=${button} type="button" class=${name} popovertarget=${id} aria-haspopup="menu" aria-expanded=${open} aria-label=${children ? label : undefined} title=${children ? label : undefined} onKeyDown=${below}>${children ?? label}</button>
    <div ref=${list} id=${id} class="menu" popover="auto" role="menu" aria-label=${label} onToggle=${toggle} onKeyDown=${key}>
      ${items.map((item, i) => (item ? html`<${Entry} key=${item.title} item=${item} marks=${marks} choose=${choose(item)} />` : html`<hr key=${i} />`))}
    </div>`;
}

function Entry({ item, marks, choose }) {
  const { title, hint, href, checked, danger, why, tip } = item;
  const said = html`${marks && html`<span class="mark" aria-hidden="true">${checked ? '✓' : ''}</span>`}<span>${title}</span>${(why || hint) && html`<span class="hint">${why || hint}</span>`}`;
  if (href && !why) return html`<a role="menuitem" tabindex="-1" href=${href} onClick=${choose}>${said}</a>`;
  const role = checked === undefined ? 'menuitem' : 'menuitemcheckbox';
  return html`<button type="button" role=${role} aria-checked=${checked} tabindex="-1" class=${danger ? 'danger' : ''} aria-disabled=${Boolean(why)} title=${tip} onClick=${why ? undefined : choose}>${said}</button>`;
}

const entries = (list) => [...list.querySelectorAll('[role^=menuitem]')];

// Places the list below the button, or above it if there is more room.
function place(list, button) {
  const at = button.getBoundingClientRect();
  const below = innerHeight - at.bottom > list.offsetHeight + 8 || at.top < innerHeight / 2;
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - list.offsetWidth - 8))}px`;
  list.style.top = below ? `${at.bottom + 4}px` : 'auto';
  list.style.bottom = below ? 'auto' : `${innerHeight - at.top + 4}px`;
}
