// The user's comments on the change, and the agent's answers.
import { newId } from '../core/api.js';
import { link } from '../core/route.js';
import { html, useEffect, useLayoutEffect, useRef, useState } from '../core/view.js';
import { quietly } from '../parts/dialog.js';
import { Ago, Status } from '../parts/status.js';
import { visible } from './visible.js';

/** "line 3", "lines 3 to 7", "old line 3". @param {{side?: string, first?: number, last?: number}} at */
export function lineWords({ side, first, last }) {
  if (!first) return '';
  return `${side === 'old' ? 'old ' : ''}${first === last || !last ? `line ${first}` : `lines ${first} to ${last}`}`;
}

/** A container that reports its height after it is drawn. @param {{tell: (height: number) => void, children: any}} props */
export function Tall({ tell, name, children }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const report = () => { if (ref.current) tell(ref.current.offsetHeight); };
    report();
    const seen = new ResizeObserver(report);
    seen.observe(ref.current);
    return () => seen.disconnect();
  }, []);
  return html`<div ref=${ref} class="tall" data-key=${name}>${children}</div>`;
}

/** The form for a new comment. @param {{desk: import('./pagestate.js').Desk, source: import('./source.js').Source, place: import('./pagestate.js').Place}} props */
export function Form({ desk, source, place }) {
  const key = useRef(''); // the same comment is sent again after a lost answer
  const save = async (text) => {
    const { path, side, first, last, tree, lines } = place;
    key.current ||= newId();
    const comment = { key: key.current, text, tree, ...(path && { path }), ...(first && { side, first, last, lines }) };
    await source.act({ action: 'comment', comment });
    desk.keep(place, '');
    desk.form.value = null;
    desk.marked.value = null;
  };
  const about = place.path ? lineWords(place) || 'the whole file' : 'the whole change';
  return html`<${Editor} label=${`Comment on ${about}`} text=${desk.unsaved(place)} action="Save draft" save=${save} keep=${(text) => { key.current = ''; desk.keep(place, text); }}
    leave=${() => { desk.form.value = null; desk.marked.value = null; }} />`;
}

function Editor({ label, text: given, action, save, leave, keep }) {
  const [text, setText] = useState(given);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const ref = useRef(null);
  useEffect(() => { ref.current.focus({ preventScroll: true }); ref.current.closest('.tall')?.scrollIntoView({ block: 'nearest' }); }, []);
  const submit = async (e) => {
    e?.preventDefault();
    if (!text.trim() || busy) return;
    setBusy(true);
    setProblem('');
    await save(text.trim()).catch((e) => setProblem(e.message));
    setBusy(false);
  };
  const key = (e) => {
    e.stopPropagation();
    if (e.key === 'Escape') leave();
    else if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) submit();
  };
  return html`<form class="comment editor" onSubmit=${submit} onKeyDown=${key}>
    <label><span class="faint">${label}</span>
      <textarea ref=${ref} rows="3" maxlength="16000" value=${text} placeholder="What should the agent change?" onInput=${(e) => { setText(e.currentTarget.value); keep?.(e.currentTarget.value); }}></textarea></label>
    <div class="row-actions"><button type="submit" class="primary" disabled=${busy || !text.trim()}>${action}</button><button type="button" onClick=${leave}>Close</button>${problem ? html`<span class="problem" role="alert">✗ Not saved: ${problem}</span>` : html`<span class="faint hint"><kbd>Ctrl</kbd> <kbd>Enter</kbd> saves, <kbd>Esc</kbd> closes</span>`}</div>
  </form>`;
}

/** @param {{source: import('./source.js').Source, comment: any, anchor: any, may: boolean}} props */
export function Comment({ source, comment: c, anchor, may }) {
  const [edited, setEdited] = useState(false);
  const act = (body) => quietly(() => source.act(body));
  const draft = !c.round;
  const moved = anchor.outdated || !anchor.first !== !c.first;
  if (edited) {
    return html`<${Editor} label="Change the comment" text=${c.text} action="Save draft" leave=${() => setEdited(false)}
      save=${async (text) => { await source.act({ action: 'edit', id: c.id, comment: { text } }); setEdited(false); }} />`;
  }
  return html`<article class=${`comment${c.resolved ? ' resolved' : ''}${draft ? ' draft' : ''}`} aria-label=${`Comment ${c.id}`} data-comment=${c.id}>
    <header><strong>${c.by || 'You'}</strong><span class="faint"><${Ago} time=${c.at} /></span>
      ${c.first > 0 && html`<span class="faint">${lineWords(moved ? c : anchor)}</span>`}
      <${State} c=${c} />${anchor.outdated && html`<span class="badge outdated" title="The lines were changed after the comment">outdated</span>`}
      <span class="space"></span>
      ${may && draft && html`<button class="quiet" onClick=${() => setEdited(true)}>Edit</button><button class="quiet danger" onClick=${() => act({ action: 'delete', id: c.id })}>Delete</button>`}
      ${may && !draft && html`<button class="quiet" onClick=${() => act({ action: 'resolve', id: c.id, resolved: !c.resolved })}>${c.resolved ? 'Open again' : 'Resolve'}</button>`}
    </header>
    ${moved && c.lines && html`<pre class="quoted" aria-label="The lines when the comment was written">${visible(c.lines)}</pre>`}
    <p class="said">${c.text}</p>
    ${c.answer && html`<div class="answer"><${Status} of=${c.answer.fixed ? 'complete' : 'waiting'} word=${c.answer.fixed ? 'agent: fixed' : 'agent: not fixed'} />
      <span class="said">${c.answer.text}</span> <a class="faint" href=${`${link('runs', source.run, 'tasks', source.task)}?tab=attempts`}><${Ago} time=${c.answer.at} /></a></div>`}
  </article>`;
}

function State({ c }) {
  if (!c.round) return html`<span class="badge draft">draft</span>`;
  if (c.resolved) return html`<span class="badge">resolved</span>`;
  return html`<span class="badge">${c.answer ? `answered, round ${c.round}` : `sent, round ${c.round}`}</span>`;
}
