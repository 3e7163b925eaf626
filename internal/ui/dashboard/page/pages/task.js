// The page of one task: its state, its candidates, its log and its attempts.
import { html } from '../core/view.js';
import { link, query } from '../core/route.js';
import { Empty, Wrong } from '../parts/status.js';
import { Unattended } from '../parts/unattended.js';
import { Attempts, Checks, Prompt } from '../task/attempts.js';
import { Head } from '../task/head.js';
import { LogTab } from '../task/logtab.js';
import { useTask } from '../task/source.js';
import { Talk } from '../task/messages.js';

const tabs = [['log', 'Log'], ['attempts', 'Attempts'], ['prompt', 'Prompt'], ['checks', 'Checks']];

/** @param {{run: string, task: string}} props */
export function Page({ run, task: id }) {
  const source = useTask(run, id);
  const task = source.detail.tasks.get(id);
  const problem = source.detail.error.value || source.error.value;
  if (!task && source.detail.run.value) return html`<${Empty} title=${`The run has no task ${id}.`}><a href=${link('runs', run)}>To the run</a><//>`;
  if (!task) return problem ? html`<${Wrong} message=${problem}><p><a href="#/runs">To the runs</a></p><//>` : html`<p class="starting">Loading…</p>`;
  const list = source.attempts.all().sort((a, b) => a.number - b.number);
  const here = tabs.some(([name]) => name === query('tab')) ? query('tab') : 'log';
  const checks = list.reduce((n, a) => n + (a.checks?.length ?? 0), 0);
  const counts = { attempts: list.length, checks };
  return html`<${Head} source=${source} task=${task} />
    <${Unattended} run=${source.detail.run.value} />
    ${problem && html`<${Wrong} message=${problem} />`}
    ${task.agent && !task.candidates?.length && html`<${Talk} task=${task} />`}
    <nav class="tabs" aria-label="About the task">${tabs.map(([name, word]) => html`<a key=${name} href=${`${link('runs', run, 'tasks', id)}${name === 'log' ? '' : `?tab=${name}`}`} aria-current=${here === name ? 'page' : undefined}>${word}${counts[name] > 0 && html` <span class="faint">${counts[name]}</span>`}</a>`)}</nav>
    ${here === 'log' && html`<${LogTab} source=${source} task=${task} />`}
    ${here === 'attempts' && html`<${Attempts} list=${list} task=${task} />`}
    ${here === 'prompt' && html`<${Prompt} text=${source.prompt.value} />`}
    ${here === 'checks' && html`<${Checks} list=${list} />`}`;
}
