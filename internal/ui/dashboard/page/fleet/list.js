// The list of agents, as rows or as cards. Only the visible part is in the page.
import { go } from '../core/route.js';
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../core/view.js';
import { openQuestions, Question } from '../parts/question.js';
import { AgentCard, AgentRow, Columns } from './agent.js';
import { GroupHead } from './grouphead.js';
import { layout, step } from './layout.js';

const spare = 400; // pixels above and below the window that are drawn too

/** The agent whose page was opened last, to return to it. */
let opened = '';

/**
 * @param {{groups: any[], cards: boolean}} props groups as order.js returns them
 */
export function AgentList({ groups, cards }) {
  const ref = useRef(null);
  const [sight, setSight] = useState({ from: 0, to: 1200, width: 1200 });
  const [at, setAt] = useState(opened); // the id of the agent that Tab focuses
  const [folded, setFolded] = useState(() => new Set());
  const [answering, setAnswering] = useState(() => new Set());
  const [heights, setHeights] = useState(() => new Map());
  const wanted = useRef(null); // the selector of what gets the focus when it is drawn

  useLayoutEffect(() => {
    const look = () => {
      const { top, width } = ref.current.getBoundingClientRect();
      const from = Math.floor((-top - spare) / 200) * 200; // in steps, so that not every pixel of a scroll draws the list
      const to = Math.ceil((innerHeight - top + spare) / 200) * 200;
      setSight((s) => (s.from === from && s.to === to && s.width === width ? s : { from, to, width }));
    };
    look();
    const resized = new ResizeObserver(look); // what is above the list may grow, too
    resized.observe(document.body);
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => { resized.disconnect(); removeEventListener('scroll', look); removeEventListener('resize', look); };
  }, []);

  const { boxes, height, shown } = useMemo(() => layout({ groups, cards, width: sight.width, folded, answering, heights }), [groups, cards, sight.width, folded, answering, heights]);

  const bringInSight = (box) => {
    const top = ref.current.getBoundingClientRect().top + scrollY + box.top;
    if (top < scrollY + 100) scrollTo(0, top - 100);
    else if (top + box.height > scrollY + innerHeight) scrollTo(0, top + box.height - innerHeight + 12);
  };
  useEffect(() => {
    const found = wanted.current && ref.current.querySelector(wanted.current);
    if (!found) return; // it is focused when it is drawn
    wanted.current = null;
    found.focus({ preventScroll: true });
  });
  useEffect(() => { // after the user returns from an agent's page
    const box = opened && shown.find((b) => b.key === opened);
    opened = '';
    if (!box) return undefined;
    const timer = setTimeout(() => { wanted.current = selectorOf(box.key); bringInSight(box); setAt((id) => id); setSight((s) => ({ ...s })); }, 50);
    return () => clearTimeout(timer);
  }, []);

  const flip = (set, of, key) => { const next = new Set(of); next.has(key) ? next.delete(key) : next.add(key); set(next); };
  const open = (row) => { if (!row.href) return; opened = row.id; go(row.href); };
  const latest = useRef(null);
  latest.current = (row) => {
    if (!answering.has(row.id)) wanted.current = `[data-answer="${CSS.escape(row.id)}"] :is(button, input)`;
    flip(setAnswering, answering, row.id);
  };
  const answer = useMemo(() => (row) => latest.current(row), []); // the same function always, so that unchanged rows are not drawn again
  const key = (e) => {
    const id = e.target.dataset.agent;
    const from = id === undefined ? -1 : shown.findIndex((b) => b.key === id);
    if (from < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
    const { row } = shown[from];
    if (e.key === 'Enter') return open(row);
    if (e.key === 'a' && row.question) {
      e.preventDefault();
      return answer(row);
    }
    const to = step(shown, from, e.key);
    if (to < 0) return;
    e.preventDefault();
    wanted.current = selectorOf(shown[to].key);
    bringInSight(shown[to]);
    setAt(shown[to].key);
  };

  const first = shown.some((b) => b.key === at) ? at : shown[0]?.key;
  const visible = boxes.filter((b) => b.top + b.height > sight.from && b.top < sight.to);
  const place = (b) => ({ top: `${b.top}px`, height: b.kind === 'answer' ? 'auto' : `${b.height}px`, left: `${b.left * 100}%`, width: `${b.width * 100}%` });
  const draw = (b) => {
    if (b.kind === 'head') return html`<div key=${b.key} role="listitem" class="at" style=${place(b)}><${GroupHead} group=${b.group} folded=${folded.has(b.group.key)} fold=${() => flip(setFolded, folded, b.group.key)} /></div>`;
    if (b.kind === 'answer') return html`<${Answer} key=${b.key} row=${b.row} style=${place(b)} tall=${(h) => { if (heights.get(b.row.id) !== h) setHeights(new Map(heights).set(b.row.id, h)); }} />`;
    const Shape = cards ? AgentCard : AgentRow;
    return html`<div key=${b.key} role="listitem" class="at agent" data-agent=${b.key} tabindex=${b.key === first ? 0 : -1} style=${place(b)} aria-label=${`${b.row.name}, ${b.row.state}`}
      onFocus=${(e) => { if (e.target === e.currentTarget) setAt(b.key); }} onClick=${(e) => { if (!e.target.closest('a,button,input')) open(b.row); }}>
      <${Shape} row=${b.row} answering=${answering.has(b.key)} answer=${answer} inGroup=${b.group.kind} /></div>`;
  };
  const noRun = groups.every((g) => g.rows.every((a) => !a.branch && !a.dir && (!a.run || g.kind === 'run')));
  return html`<div class=${`agents ${cards ? 'as-cards' : 'as-rows'} ${noRun ? 'no-run' : ''}`}>
    ${!cards && html`<${Columns} />`}
    <div ref=${ref} role="list" aria-label="Agents" class="boxes" data-list="" style=${{ height: `${height}px` }} onKeyDown=${key} onClick=${(e) => noteLink(e)}>${visible.map(draw)}</div>
  </div>`;
}

const selectorOf = (id) => `[data-agent="${CSS.escape(id)}"]`;

function noteLink(e) {
  if (e.target.closest('a')) opened = e.target.closest('[data-agent]')?.dataset.agent ?? '';
}

// The form to answer an agent's question, below its row. Its height depends on the question.
function Answer({ row, style, tall }) {
  const ref = useRef(null);
  const latest = useRef(tall);
  latest.current = tall;
  useLayoutEffect(() => {
    const measured = new ResizeObserver(() => latest.current(ref.current.offsetHeight));
    measured.observe(ref.current);
    return () => measured.disconnect();
  }, []);
  const q = openQuestions().find((one) => one.id === row.question?.id);
  return html`<div ref=${ref} role="listitem" class="at answer" style=${style} data-answer=${row.id}>${q && html`<${Question} q=${q} near />`}</div>`;
}
