// Converts the JSON lines that agents write, one per event, to readable text. Other lines
// stay unchanged. Pure functions, used by the page and by the worker that searches.
import { own } from '../core/words.js';
import { read as events } from '../conversation/events.js';

/** @typedef {{kind: string, text: string}} Said kind is the line's marker: say, tool, done, bad, note, think */

const longest = 8_000; // maximum number of shown characters of one event

/**
 * The readable text of a line, or null if it is not an agent's JSON.
 * @param {string} line
 * @returns {Said|null}
 */
export function read(line) {
  if (line[0] !== '{' || line.length > 4_000_000) return null;
  try {
    return told(JSON.parse(line));
  } catch { // not JSON, or JSON of an unexpected form
    return null;
  }
}

function told(v) {
  if (typeof v.type !== 'string') return served(v);
  const said = own(known, v.type)?.(v) ?? item(v);
  return said && { kind: said[0], text: cut(said[1]) };
}

// served converts a line of Codex's app server.
function served(v) {
  const list = typeof v.method === 'string' || v.id !== undefined ? events(v) : null;
  if (!list) return null;
  if (!list.length) return { kind: 'note', text: word(v.method ?? 'is answered').replaceAll('/', ' ') };
  const parts = list.map((e) => [kinds[e.kind] ?? 'note', e.kind === 'call' ? `${e.tool} ${e.what}` : e.kind === 'ask' ? `asks: ${e.text}` : e.kind === 'todos' ? `plan: ${e.items.map((t) => `${t.text} (${t.status.replace('_', ' ')})`).join(', ')}` : e.text || word(v.method)]);
  return { kind: list.some((e) => e.bad) ? 'bad' : parts[0][0], text: cut(parts.map(([, t]) => t).join('\n')) };
}

const kinds = { say: 'say', think: 'think', call: 'tool', end: 'done' };

const known = {
  // Claude Code and programs with the same format.
  system: (v) => system(v),
  assistant: (v) => parts(v.message),
  user: (v) => parts(v.message),
  result: (v) => result(v),
  control_request: (v) => ['note', `asks: ${name(v.request?.tool_name) || word(v.request?.subtype)} ${input(v.request?.input)}`],
  control_response: () => ['note', 'is answered'],
  rate_limit_event: (v) => ['note', `rate limit: ${word(v.rate_limit_info?.status)}${until(v.rate_limit_info?.resetsAt)}`],
  stream_event: () => ['note', '…'],
  // Codex.
  'thread.started': (v) => ['note', `conversation ${word(v.thread_id)}`],
  'turn.started': () => ['note', 'turn begins'],
  'turn.completed': (v) => ['done', `turn ends${tokens(v.usage)}`],
  'turn.failed': (v) => ['bad', text(v.error?.message ?? v.error)],
  error: (v) => ['bad', text(v.message ?? v.error?.data?.message ?? v.error)],
  // Gemini and opencode.
  init: (v) => ['note', `begins${v.model ? ` with ${word(v.model)}` : ''}`],
  message: (v) => (v.content === undefined ? null : [v.role === 'user' ? 'note' : 'say', text(v.content)]),
  text: (v) => ['say', text(v.part?.text ?? v.text)],
  tool_use: (v) => ['tool', `${name(v.part?.tool ?? v.tool_name ?? v.name)} ${input(v.part?.state?.input ?? v.parameters ?? v.input)}`],
  tool_result: (v) => [v.status === 'error' ? 'bad' : 'note', text(v.output ?? v.content)],
  step_start: () => ['note', 'turn begins'],
  step_finish: (v) => ['note', `turn ends: ${word(v.part?.reason)}`],
};

function system(v) {
  switch (v.subtype) {
    case 'init': return ['note', `begins${v.model ? ` with ${word(v.model)}` : ''}`];
    case 'session_state_changed': return ['note', `is ${word(v.state).replace('_', ' ')}`];
    case 'api_retry': return ['bad', `tries again, ${word(v.attempt)} of ${word(v.max_retries)}: ${word(v.error)} ${word(v.error_status)}`];
    case 'compact_boundary': return ['note', 'makes its conversation shorter'];
  }
  return ['note', `${word(v.subtype).replaceAll('_', ' ')} ${text(v.description ?? v.message ?? '')}`];
}

// parts returns the readable parts of a message.
function parts(message) {
  const list = Array.isArray(message?.content) ? message.content : [{ type: 'text', text: message?.content }];
  const said = list.map(part).filter(Boolean);
  if (!said.length) return null;
  return [said[0][0], said.map(([, t]) => t).join('\n')];
}

function part(p) {
  switch (p?.type) {
    case 'text': return ['say', text(p.text)];
    case 'thinking': return ['think', text(p.thinking)];
    case 'tool_use': return ['tool', `${name(p.name)} ${input(p.input)}`];
    case 'tool_result': return [p.is_error ? 'bad' : 'note', text(p.content)];
  }
  return null;
}

function result(v) {
  if (v.is_error || v.status === 'error') return ['bad', text(v.result ?? v.error?.message ?? v.subtype ?? 'error')];
  const cost = typeof v.total_cost_usd === 'number' && v.total_cost_usd > 0 ? `, $${v.total_cost_usd.toFixed(4)}` : '';
  return ['done', `${text(v.result ?? v.status ?? 'done')}${tokens(v.usage)}${cost}`];
}

// item converts an item of Codex.
function item(v) {
  const i = v.item;
  if (!v.type.startsWith('item.') || !i || typeof i !== 'object') return null;
  switch (i.type) {
    case 'agent_message': return ['say', text(i.text)];
    case 'reasoning': return ['think', text(i.text)];
    case 'error': return ['bad', text(i.message)];
    case 'command_execution': return command(v.type, i);
    case 'file_change': return ['tool', `changes ${(Array.isArray(i.changes) ? i.changes : []).map((c) => word(c?.path)).join(', ')}`];
    case 'web_search': return ['tool', `searches ${word(i.query)}`];
    case 'mcp_tool_call': return ['tool', `${name(i.tool)} ${input(i.arguments)}`];
  }
  return ['note', `${word(i.type).replaceAll('_', ' ')} ${text(i.text ?? '')}`];
}

function command(event, i) {
  if (event === 'item.started') return ['tool', `$ ${bare(word(i.command))}`];
  const failed = typeof i.exit_code === 'number' && i.exit_code !== 0;
  return [failed ? 'bad' : 'note', `${failed ? `exit ${i.exit_code} ` : ''}${text(i.aggregated_output) || '(nothing printed)'}`];
}

/** A command line without the shell that runs it. @param {string} line */
const bare = (line) => line.match(/^(?:\/usr)?\/bin\/(?:ba|z)?sh -l?c '([\s\S]*)'$/)?.[1] ?? line;

const name = (v) => word(v);

/** The input of a tool: its most informative field, or all of it. */
function input(v) {
  if (!v || typeof v !== 'object') return word(v);
  const one = v.command ?? v.file_path ?? v.path ?? v.pattern ?? v.query ?? v.url ?? v.questions?.[0]?.question ?? v.description;
  return typeof one === 'string' ? one : Object.keys(v).length ? JSON.stringify(v) : '';
}

function tokens(u) {
  const n = (Number(u?.input_tokens) || 0) + (Number(u?.output_tokens) || 0);
  return n ? ` (${n.toLocaleString('en')} tokens)` : '';
}

function until(seconds) {
  const time = new Date(Number.isFinite(seconds) ? seconds * 1000 : NaN);
  return Number.isNaN(time.getTime()) ? '' : ` until ${time.toISOString()}`;
}

/** A value of any type as short text. */
const word = (v) => (v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));

/** A value that may be long, or consist of parts, as text. */
function text(v) {
  const whole = Array.isArray(v) ? v.map((p) => (p && typeof p === 'object' ? p.text ?? `[${word(p.type)}]` : word(p))).join('\n') : word(v);
  return whole.replace(/\s+$/, '');
}

const cut = (t) => (t.length > longest ? `${t.slice(0, longest)}… (${(t.length - longest).toLocaleString('en')} characters more)` : t);
