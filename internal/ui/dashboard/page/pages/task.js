// The page of one task: its state, its candidates, its conversation, its log and its attempts.
import { html } from '../core/view.js';
import { useCommands } from '../core/commands.js';
import { go, link, query } from '../core/route.js';
import { useTitle } from '../core/title.js';
import { ConversationTab } from '../conversation/tab.js';
import { Lazy } from '../parts/lazy.js';
import { Empty, Wrong } from '../parts/status.js';
import { Unattended } from '../parts/unattended.js';
import { Attempts, Checks, Prompt } from '../task/attempts.js';
import { About, Head } from '../task/head.js';
import { LogTab } from '../task/logtab.js';
import { useTask } from '../task/source.js';

const always = [['conversation', 'Conversation'], ['log', 'Log'], ['attempts', 'Attempts'], ['prompt', 'Prompt'], ['checks', 'Checks']];
const terminal = () => import('../terminal/view.js');

/** @param {{run: string, task: string}} props */
export function Page({ run, task: id }) {
  const source = useTask(run, id);
  const task = source.detail.tasks.get(id);
  const tabs = task?.session ? [...always, ['terminal', 'Terminal']] : always; // session: the agent runs, or ran, in tmux
  useTitle([task?.name || id, source.detail.run.value?.name || run].join(' · '));
  const address = (tab) => `${link('runs', run, 'tasks', id)}${tab === tabs[0][0] ? '' : `?tab=${tab}`}`;
  useCommands(() => [
    ...tabs.map(([name, word]) => ({ id: `task-${name}`, title: `Show ${word.toLowerCase()}`, hint: id, run: () => go(address(name)) })),
    { id: 'task-run', title: 'Show the run of this task', hint: run, run: () => go(link('runs', run)) },
  ]);
  const problem = source.detail.error.value || source.error.value;
  if (!task && source.detail.run.value) return html`<${Empty} title=${`The run has no task ${id}.`}><a href=${link('runs', run)}>To the run</a><//>`;
  if (!task) return problem ? html`<${Wrong} message=${problem}><p><a href="#/runs">To the runs</a></p><//>` : html`<p class="starting">Loading…</p>`;
  const list = source.attempts.all().sort((a, b) => a.number - b.number);
  const here = tabs.some(([name]) => name === query('tab')) ? query('tab') : tabs[0][0];
  const checks = list.reduce((n, a) => n + (a.checks?.length ?? 0), 0);
  const counts = { attempts: list.length, checks };
  const about = html`<${About} source=${source} task=${task} />`;
  return html`<${Head} source=${source} task=${task} asks=${here !== 'conversation'} />
    <${Unattended} run=${source.detail.run.value} />
    ${problem && html`<${Wrong} message=${problem} />`}
    <nav class="tabs" aria-label="About the task">${tabs.map(([name, word]) => html`<a key=${name} href=${address(name)} aria-current=${here === name ? 'page' : undefined}>${word}${counts[name] > 0 && html` <span class="faint">${counts[name]}</span>`}</a>`)}</nav>
    ${here === 'conversation' && html`<${ConversationTab} source=${source} task=${task} attempts=${list} side=${about} />`}
    ${here === 'log' && html`<${LogTab} source=${source} task=${task} />`}
    ${here === 'attempts' && html`${about}<${Attempts} list=${list} task=${task} />`}
    ${here === 'prompt' && html`<${Prompt} text=${source.prompt.value} />`}
    ${here === 'checks' && html`<${Checks} list=${list} />`}
    ${here === 'terminal' && html`<${Lazy} load=${terminal} task=${task} />`}`;
}
