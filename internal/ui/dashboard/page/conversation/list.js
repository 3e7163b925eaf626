// The list of a conversation's blocks. Only the visible ones are in the DOM, each at its
// own position. It follows the end until the user scrolls up.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { link } from '../core/route.js';
import { many } from '../core/words.js';
import { Block, usual } from './blocks.js';

const spare = 500; // pixels that are drawn above and below the visible part
const near = 8; // pixels from the end that count as the end

/**
 * @param {{conversation: import('./source.js').Conversation, task: any, find: string, hit: number, colours: any, about: any, pinned: number, top: any, tail: any, control: {current: any}}} props
 * hit: the block of the shown match, or -1. pinned: a block that stays in the DOM, because
 * the user may be writing in it. top and tail: what is before the first and after the last block.
 */
export function BlockList({ conversation, task, find, hit, colours, about, pinned, top, tail, control }) {
  const ref = useRef(null);
  const [, draw] = useState(0);
  const again = () => draw((n) => n + 1);
  // The position: the end, or a block (index) with some of its pixels above the top (over). Then
  // what was measured last, and the blocks that are drawn, focused, or to be focused.
  const sight = useMemo(() => ({ end: true, index: 0, over: 0, top: 0, tail: 0, last: 0, stopped: 0, view: 0, width: 0, drawn: [0, 0], focused: -1, wanted: -1 }), [conversation]);
  conversation.version.value;
  const { count, cut, state } = conversation.state.value;
  carryOver(conversation, sight, count);
  const view = ref.current?.clientHeight || 600;
  if (ref.current) followUser(ref.current, conversation, sight); // the scroll event may not have arrived yet
  const [from, to] = sight.drawn = range(conversation, sight, view);
  const indexes = [];
  for (let i = from; i < to; i++) indexes.push(i);
  if (pinned >= cut && pinned < count && !indexes.includes(pinned)) indexes[pinned < from ? 'unshift' : 'push'](pinned);

  const show = (index, part = 1 / 3) => {
    leaveEnd(sight, count);
    Object.assign(sight, { index: Math.max(cut, Math.min(count - 1, index)), over: -view * part });
    again();
  };
  control.current = {
    show,
    focus(index) { sight.wanted = index; show(index); },
    toEnd() { sight.end = true; again(); },
    toBegin() { show(cut, 0); },
    /** The first visible block. */
    first: () => conversation.heights.at(Math.max(0, (ref.current?.scrollTop ?? 0) - sight.top)),
  };

  useLayoutEffect(() => {
    conversation.need(indexes.filter((i) => i >= cut && i < count));
    if (settle(ref.current, conversation, sight)) again();
    focusWanted(ref.current, sight);
  });
  useEffect(() => {
    const seen = new ResizeObserver(() => { if (ref.current && settle(ref.current, conversation, sight)) again(); });
    const watch = () => { for (const child of ref.current?.children ?? []) seen.observe(child); };
    const added = new MutationObserver(watch);
    watch();
    seen.observe(ref.current);
    added.observe(ref.current, { childList: true });
    return () => { seen.disconnect(); added.disconnect(); };
  }, [conversation]);
  useLayoutEffect(() => () => { control.current = null; }, []);

  const on = useMemo(() => ({
    toggle(content) {
      stay(content);
      conversation.fold(content, !conversation.open(content, usual(content) === 'open'));
    },
    whole(content) {
      stay(content);
      conversation.whole(content);
    },
  }), [conversation]);
  // stay keeps a block where it is while its height changes.
  const stay = (content) => {
    leaveEnd(sight, conversation.state.value.count);
    Object.assign(sight, { index: content.index, over: ref.current.scrollTop - sight.top - conversation.heights.before(content.index) });
  };
  const key = (e) => keyed(e, { el: ref.current, conversation, sight, toggle: on.toggle, show, task, again });
  const scrolled = () => { if (ref.current && followUser(ref.current, conversation, sight)) again(); };
  const fresh = sight.end ? 0 : count - sight.stopped;
  const here = Math.min(Math.max(sight.focused < 0 ? to - 1 : sight.focused, from), Math.max(from, to - 1));
  return html`<div class="talkbox">
    <div ref=${ref} class="dialogue" role="region" aria-label="Conversation" aria-busy=${state === 'loading'} onScroll=${scrolled} onScrollEnd=${scrolled} onKeyDown=${key}>
      <div class="room" key="room"></div>
      <div class="lead" key="lead">${top}</div>
      ${indexes.map((i) => {
        const c = conversation.content(i);
        const open = c ? conversation.open(c, usual(c) === 'open') : false;
        return html`<article key=${i} class=${`block b-${c?.kind ?? 'wait'}${c?.parent ? ' from-sub' : ''}${i === hit ? ' hit' : ''}`} data-index=${i} aria-posinset=${i + 1} aria-setsize=${state === 'live' ? -1 : count} aria-label=${c ? labels[c.kind] : 'Loading'} tabindex=${i === here ? 0 : -1} onFocus=${() => { sight.focused = i; }}
          style=${c ? undefined : { minHeight: `${conversation.heights.own[i]}px` }}>
          ${c && html`<${Block} c=${c} open=${open} find=${find} colours=${colours} on=${on} question=${about.question(i)} asked=${i === pinned ? about.asked : undefined} message=${about.message(i)} about=${c.kind === 'begin' ? about : undefined} root=${task.worktree} />`}
          ${c?.line > 0 && html`<a class="at" tabindex="-1" href=${lineLink(task, c.line)} title="Show this line in the log (o)">${c.line}</a>`}</article>`;
      })}
      <div class="tail" key="tail">${tail}</div>
    </div>
    ${!sight.end && count > 0 && html`<button class="toend" onClick=${() => control.current.toEnd()}>${fresh > 0 ? `${many(fresh, 'new message')} ↓` : state === 'live' ? 'Follow ↓' : 'To the end ↓'}</button>`}
  </div>`;
}

/** The address of a line in the log. @param {any} task @param {number} line */
export const lineLink = (task, line) => `${link('runs', task.run, 'tasks', task.id)}?tab=log&line=${line}`;

const labels = { say: 'Agent', think: 'Thought', user: 'User', tool: 'Tool', result: 'Result', ask: 'Question', note: 'Note', end: 'End of a turn', text: 'Output', begin: 'Attempt' };

// carryOver keeps the position when the beginning of the log was read.
function carryOver(conversation, sight, count) {
  const { carry } = conversation;
  if (!carry || !count) return;
  conversation.carry = undefined;
  for (const [i, height] of carry.heights) { conversation.heights.set(i, height); conversation.measured.add(i); }
  const moved = (i) => {
    for (let k = i; carry.places.has(k); k++) if (carry.places.get(k) >= 0) return carry.places.get(k);
    return count - 1;
  };
  sight.index = moved(sight.index);
  if (sight.focused >= 0) sight.focused = moved(sight.focused);
  sight.stopped = count;
}

/** The position of the visible part. */
function position(conversation, sight, view) {
  const { heights } = conversation;
  const whole = sight.top + heights.total + sight.tail;
  return sight.end ? Math.max(0, whole - view) : Math.max(0, Math.min(sight.top + heights.before(sight.index) + sight.over, Math.max(0, whole - view)));
}

// range returns the indexes of the blocks to draw: from the first to the one before the second.
function range(conversation, sight, view) {
  const { count, cut } = conversation.state.value;
  const y = position(conversation, sight, view) - sight.top;
  const from = Math.max(cut, conversation.heights.at(Math.max(0, y - spare)));
  return [from, Math.max(from, Math.min(count, conversation.heights.at(Math.max(0, y + view + spare)) + 1))];
}

// settle measures the drawn blocks and puts each at its position, before they are painted. It
// returns whether other blocks must be drawn.
function settle(el, conversation, sight) {
  const { heights, measured } = conversation;
  const [room, top, ...rest] = el.children;
  const tail = rest.pop();
  sight.top = top.offsetHeight;
  sight.tail = tail.offsetHeight;
  for (const node of rest) {
    const i = Number(node.dataset.index);
    if (node.classList.contains('b-wait') || i >= heights.count) continue;
    heights.set(i, node.offsetHeight);
    measured.add(i);
  }
  const put = (node, y) => { node.style.transform = `translateY(${y}px)`; };
  put(top, 0);
  for (const node of rest) put(node, sight.top + heights.before(Number(node.dataset.index)));
  const view = el.clientHeight;
  const whole = sight.top + heights.total + sight.tail;
  put(tail, sight.top + heights.total);
  room.style.height = `${whole}px`;
  const y = position(conversation, sight, view);
  if (Math.abs(el.scrollTop - y) >= 1) el.scrollTop = y;
  Object.assign(sight, { last: el.scrollTop, view, width: el.clientWidth });
  const arrived = !sight.end && whole - view - el.scrollTop < 2; // for example because a block was folded
  sight.end ||= arrived;
  const [from, to] = range(conversation, sight, view);
  return arrived || from < sight.drawn[0] || to > sight.drawn[1];
}

// followUser finds the position after the user has scrolled. It returns whether that was so.
function followUser(el, conversation, sight) {
  const by = el.scrollTop - sight.last;
  if (Math.abs(by) < 1) return false;
  sight.last = el.scrollTop;
  if (el.clientHeight !== sight.view || el.clientWidth !== sight.width) return false; // the browser has scrolled, because the size has changed
  if (by > 0 && el.scrollTop + el.clientHeight >= el.scrollHeight - near) {
    sight.end = true;
    return true;
  }
  leaveEnd(sight, conversation.state.value.count);
  const y = Math.max(0, el.scrollTop - sight.top);
  const index = conversation.heights.at(y);
  Object.assign(sight, { index, over: el.scrollTop - sight.top - conversation.heights.before(index) });
  return true;
}

// leaveEnd stops following the end. Blocks that come later are new.
function leaveEnd(sight, count) {
  if (sight.end) sight.stopped = count;
  sight.end = false;
}

function focusWanted(el, sight) {
  const node = sight.wanted >= 0 && el.querySelector(`[data-index="${sight.wanted}"]`);
  if (!node) return;
  sight.wanted = -1;
  node.focus({ preventScroll: true });
}

const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

// keyed handles the keys of a focused block.
function keyed(e, { el, conversation, sight, toggle, show, task, again }) {
  const node = e.target.closest('article');
  if (!node || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input,textarea,select')) return;
  const index = Number(node.dataset.index);
  const content = conversation.content(index);
  if (e.key === 'Enter' && e.target === node && content && usual(content)) {
    e.preventDefault();
    return toggle(content);
  }
  if (e.key === 'o' && content?.line > 0) {
    e.preventDefault();
    location.hash = lineLink(task, content.line);
    return;
  }
  if (!(e.key in steps)) return;
  e.preventDefault();
  const { count, cut } = conversation.state.value;
  const [above, below] = [el.scrollTop - sight.top, el.scrollTop - sight.top + el.clientHeight];
  const [begin, end] = [conversation.heights.before(index), conversation.heights.before(index + 1)];
  // A block that is longer than the view is scrolled first.
  if (e.key === 'ArrowDown' && end > below + 4 && begin <= above + 40) { el.scrollTop += Math.min(end - below + 8, el.clientHeight * 0.8); return; }
  if (e.key === 'ArrowUp' && begin < above - 4 && end >= below - 40) { el.scrollTop -= Math.min(above - begin + 8, el.clientHeight * 0.8); return; }
  const next = Math.max(cut, Math.min(count - 1, index + steps[e.key]));
  sight.wanted = next;
  sight.focused = next;
  const [from, to] = [conversation.heights.before(next), conversation.heights.before(next + 1)];
  if (e.key === 'End') { sight.end = true; again(); } else if (from < above) show(next, 0.02);
  else if (to > below) show(next, Math.max(0.02, (el.clientHeight - (to - from) - 12) / el.clientHeight));
  else again();
}
