// Converts a line of an agent's output to events: messages, calls of tools, results,
// questions. It knows the JSON of Claude Code, Codex (exec and app server), Gemini CLI and
// opencode. Pure functions, used by the worker.
import { own } from '../core/words.js';

/**
 * @typedef {{text: string, status: 'pending'|'in_progress'|'completed'|'cancelled'}} Todo
 * @typedef {{kind: 'say'|'think'|'user'|'call'|'result'|'ask'|'note'|'end'|'todos'|'thread', text?: string, id?: string, parent?: boolean, thread?: string} & Record<string, any>} Event
 * say: text of the agent. think: its thoughts. user: text of the user. call: a tool is
 * called; result: what it returned. ask: a question to the user. note: about the program.
 * end: the end of a turn. todos: the agent's list. parent: a sub-agent did it.
 */

/**
 * The events of a line. Null if it is not the JSON of an agent: then it is shown unchanged.
 * @param {string} line
 * @returns {Event[]|null}
 */
export function eventsOf(line) {
  if (line[0] !== '{') return null;
  try {
    return read(JSON.parse(line));
  } catch { // not JSON, or JSON of an unexpected form
    return null;
  }
}

/** The events of a line that was parsed. @param {any} v @returns {Event[]|null} */
export function read(v) {
  if (typeof v.type === 'string') {
    const events = own(byType, v.type)?.(v) ?? (v.type.startsWith('item.') && isObject(v.item) ? item(v.item, v.type === 'item.completed') : null);
    if (events) return events;
    return typeof v.session_id === 'string' || typeof v.sessionID === 'string' ? [] : null; // another line of a known program
  }
  if (typeof v.method === 'string' && isObject(v.params)) return notified(v);
  if (v.id !== undefined && isObject(v.result)) return isObject(v.result.thread) ? [{ kind: 'thread', id: word(v.result.thread.id) }] : [];
  if (v.id !== undefined && isObject(v.error)) return [{ kind: 'note', text: text(v.error.message), bad: true }];
  return null;
}

const byType = {
  // Claude Code and programs with the same format.
  system,
  assistant: (v) => parts(v).flatMap((p) => fromAgent(p, v)).map((e) => (v.parent_tool_use_id ? { ...e, parent: true } : e)),
  user: fromUser,
  result: ended,
  control_request: permission,
  control_response: () => [],
  control_cancel_request: () => [],
  rate_limit_event: (v) => (v.rate_limit_info?.status === 'rejected' ? [{ kind: 'note', text: `The rate limit is reached${until(v.rate_limit_info.resetsAt)}.`, bad: true }] : []),
  stream_event: () => [],
  // Codex.
  'thread.started': () => [],
  'turn.started': () => [],
  'turn.completed': (v) => [{ kind: 'end', text: '', tokens: tokensOf(v.usage) }],
  'turn.failed': (v) => [{ kind: 'end', text: text(v.error?.message ?? v.error), bad: true }],
  error: (v) => problem(v.message ?? v.error?.data?.message ?? v.error?.message ?? v.error?.name ?? v.error),
  // Gemini.
  init: () => [],
  message: (v) => (typeof v.role !== 'string' ? null : v.role === 'user' ? [{ kind: 'user', text: text(v.content), first: true }] : [{ kind: 'say', text: word(v.content), delta: true }]),
  tool_use: (v) => (isObject(v.part) ? opencodeTool(v.part) : typeof v.tool_name === 'string' ? [call(word(v.tool_id), v.tool_name, v.parameters)] : null),
  tool_result: (v) => (v.tool_id === undefined ? null : [{ kind: 'result', id: word(v.tool_id), text: text([v.output, v.error?.message].filter(Boolean)), bad: v.status !== 'success' }]),
  // opencode.
  text: (v) => (isObject(v.part) ? [{ kind: 'say', text: text(v.part.text) }] : null),
  reasoning: (v) => (isObject(v.part) ? [{ kind: 'think', text: text(v.part.text) }] : null),
  step_start: () => [],
  step_finish: (v) => (v.part?.reason === 'tool-calls' ? [] : [{ kind: 'end', text: '', tokens: tokensOf({ input_tokens: v.part?.tokens?.input, output_tokens: v.part?.tokens?.output }), usd: number(v.part?.cost) }]),
};

function system(v) {
  switch (v.subtype) {
    case 'api_retry': return [{ kind: 'note', series: 'retry', text: `Tries again, ${word(v.attempt)} of ${word(v.max_retries)}: ${word(v.error)} ${word(v.error_status)}`.trim(), bad: true }];
    case 'compact_boundary': return [{ kind: 'note', text: 'The conversation was made shorter.' }];
    case 'permission_denied': return [{ kind: 'note', text: `Denied: ${word(v.tool_name)} ${text(v.message)}`, bad: true }];
  }
  return [];
}

// parts returns the parts of a message of Claude Code.
const parts = (v) => (Array.isArray(v.message?.content) ? v.message.content : [{ type: 'text', text: v.message?.content }]);

function fromAgent(p, v) {
  switch (p?.type) {
    case 'text': return !word(p.text).trim() ? [] : v.error ? [{ kind: 'note', text: text(p.text), bad: true }] : [{ kind: 'say', text: text(p.text) }];
    case 'thinking': return word(p.thinking).trim() ? [{ kind: 'think', text: text(p.thinking) }] : [];
    case 'tool_use': return [call(word(p.id), word(p.name), p.input)];
    case 'tool_result': return [result(p, v)];
  }
  return [];
}

const result = (p, v) => ({ kind: 'result', id: word(p.tool_use_id), text: text(p.content), bad: p.is_error === true, patch: isObject(v.tool_use_result) && Array.isArray(v.tool_use_result.structuredPatch) ? v.tool_use_result.structuredPatch : undefined });

function fromUser(v) {
  const whose = v.parent_tool_use_id ? { parent: true } : {};
  // A repeated message without a time was queued; one with a time was delivered.
  if (v.isReplay) return v.timestamp ? [{ kind: 'user', text: text(v.message?.content) }] : [];
  return parts(v).flatMap((p) => {
    if (p?.type === 'tool_result') return [{ ...result(p, v), ...whose }];
    const said = p?.type === 'text' ? text(p.text) : '';
    if (!said || v.parent_tool_use_id) return []; // the call of a sub-agent has its prompt
    if (said.startsWith('[Request interrupted')) return [{ kind: 'note', text: 'The user interrupted the agent.', bad: true }];
    return [v.isMeta || v.isSynthetic ? { kind: 'note', text: said } : { kind: 'user', text: said }];
  });
}

// ended converts the last line of Claude Code, of a turn, or of Gemini.
function ended(v) {
  const bad = v.is_error === true || v.status === 'error';
  const said = text(v.result ?? v.error?.message ?? (bad ? (Array.isArray(v.errors) && v.errors.length ? v.errors.map(word).join('\n') : word(v.subtype).replaceAll('_', ' ')) : ''));
  const stopped = String(v.terminal_reason ?? '').startsWith('aborted');
  return [{ kind: 'end', text: stopped ? '' : said, bad: bad && !stopped, stopped, tokens: tokensOf(v.usage ?? v.stats), usd: number(v.total_cost_usd) }];
}

function permission(v) {
  const r = v.request;
  if (r?.subtype !== 'can_use_tool') return [];
  return [asked(word(v.request_id), word(r.tool_name), r.input, word(r.tool_use_id))];
}

// asked returns the event of a question. Its text is what the stored question starts with.
function asked(id, tool, input, toolId) {
  const questions = Array.isArray(input?.questions) ? input.questions.map((q) => ({ text: text(q?.question), options: (Array.isArray(q?.options) ? q.options : []).map((o) => word(o?.label ?? o)) })) : [];
  if (questions.length) return { kind: 'ask', id, toolId, text: questions.map((q) => q.text).join('\n'), options: questions.length === 1 ? questions[0].options : [] };
  return { kind: 'ask', id, toolId, permission: true, text: `${tool}: ${mainInput(input)}`, options: ['allow', 'deny'] };
}

/** @param {string} id @param {string} tool @param {any} input @returns {Event} */
function call(id, tool, input) {
  const what = typeof input?.pattern === 'string' ? [input.pattern, word(input.path)].filter(Boolean).join(' in ') : mainInput(input);
  const e = { kind: 'call', id, tool: tool || 'tool', what, input };
  if (Array.isArray(input?.todos)) e.todos = input.todos.map(todo);
  else if (tool === 'TaskCreate') e.create = { text: text(input?.subject), status: 'pending' };
  else if (tool === 'TaskUpdate') Object.assign(e, { what: `#${word(input?.taskId)} ${word(input?.status)}`.trim() }).update = { id: word(input?.taskId), status: input?.status === undefined ? undefined : word(input.status), text: input?.subject === undefined ? undefined : text(input.subject) };
  if (Array.isArray(input?.questions) && input.questions.length && /^AskUserQuestion$/.test(tool)) e.ask = asked(id, tool, input, id);
  else if (/(^|_)person_ask$/.test(tool) && input?.question) e.ask = { kind: 'ask', id, toolId: id, text: text(input.question), options: (Array.isArray(input.options) ? input.options : []).map(word) };
  return e;
}

// opencode reports a tool when it has ended.
function opencodeTool(p) {
  const id = word(p.callID);
  const bad = Boolean(p.state?.error) || (number(p.state?.metadata?.exit) ?? 0) !== 0;
  return [call(id, word(p.tool), p.state?.input), { kind: 'result', id, text: text(p.state?.error || p.state?.output), bad, diff: typeof p.state?.metadata?.diff === 'string' ? p.state.metadata.diff : undefined }];
}

// item converts an item of Codex. It is reported when it starts and when it is done, or
// only when it is done.
function item(i, done) {
  const id = word(i.id);
  const both = (c, r) => (done ? [c, { kind: 'result', id, ...r }] : [c]);
  switch (i.type) {
    case 'agent_message': case 'plan': return done && word(i.text).trim() ? [{ kind: 'say', text: text(i.text) }] : [];
    case 'reasoning': return done && word(i.text).trim() ? [{ kind: 'think', text: text(i.text) }] : [];
    case 'error': return done ? [{ kind: 'note', text: text(i.message) }] : [];
    case 'command_execution': {
      const line = bare(word(i.command));
      const exit = number(i.exit_code);
      return both({ kind: 'call', id, tool: 'shell', what: line, input: { command: line } }, { text: text(i.aggregated_output), exit, bad: (exit ?? 0) !== 0 || i.status === 'failed' || i.status === 'declined', declined: i.status === 'declined' });
    }
    case 'file_change': {
      const changes = Array.isArray(i.changes) ? i.changes : [];
      return both({ kind: 'call', id, tool: 'edit', what: changes.map((c) => word(c?.path)).join(', '), changes }, { text: '', bad: i.status === 'failed' || i.status === 'declined', declined: i.status === 'declined' });
    }
    case 'web_search': return both({ kind: 'call', id, tool: 'search', what: word(i.query) }, { text: '', bad: false });
    case 'mcp_tool_call': return both(call(id, [word(i.server), word(i.tool)].filter(Boolean).join(': '), i.arguments), { text: text(i.error?.message ?? i.result?.content), bad: Boolean(i.error) || i.status === 'failed' });
    case 'todo_list': return [{ kind: 'todos', items: (Array.isArray(i.items) ? i.items : []).map(todo) }];
  }
  return done ? [{ kind: 'note', text: `${word(i.type).replaceAll('_', ' ')} ${text(i.text ?? '')}`.trim() }] : [];
}

// notified converts a notification or a request of Codex's app server.
function notified(v) {
  const p = v.params;
  const events = fromServer(v, p);
  return typeof p.threadId === 'string' ? events.map((e) => ({ ...e, thread: p.threadId })) : events;
}

function fromServer(v, p) {
  switch (v.method) {
    case 'item/started': case 'item/completed': return isObject(p.item) ? serverItem(p.item, v.method === 'item/completed') : [];
    case 'turn/plan/updated': return [{ kind: 'todos', items: (Array.isArray(p.plan) ? p.plan : []).map(todo) }];
    case 'turn/completed': return [{ kind: 'end', text: text(p.turn?.error?.message), bad: Boolean(p.turn?.error), stopped: p.turn?.status === 'interrupted' }];
    case 'error': return problem([p.error?.message, p.error?.additionalDetails].filter(Boolean).map(word).join(': '), p.willRetry === true);
    case 'warning': return [{ kind: 'note', text: text(p.message) }];
    case 'item/tool/requestUserInput': return [asked(word(v.id), '', p, word(p.itemId))];
    case 'item/commandExecution/requestApproval': return [{ ...asked(word(v.id), 'shell', { command: bare(word(p.command)) }, word(p.itemId)), reason: text(p.reason) }];
    case 'item/fileChange/requestApproval': return [{ ...asked(word(v.id), 'edit', {}, word(p.itemId)), reason: text(p.reason) }];
    case 'item/permissions/requestApproval': return [{ ...asked(word(v.id), 'more permissions', {}, ''), reason: text(p.reason) }];
    case 'mcpServer/elicitation/request': return [{ kind: 'ask', id: word(v.id), toolId: '', permission: true, text: text(p.message), options: ['allow', 'deny'] }];
  }
  return [];
}

const snake = (name) => word(name).replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

// serverItem converts an item of the app server, which spells some names differently.
function serverItem(i, done) {
  if (i.type === 'userMessage') return done ? [{ kind: 'user', text: text(i.content), first: !i.clientId }] : [];
  if (i.type === 'contextCompaction') return done ? [{ kind: 'note', text: 'The conversation was made shorter.' }] : [];
  if (i.type === 'reasoning') return item({ ...i, text: [...list(i.summary), ...list(i.content)].map(word).join('\n\n') }, done);
  return item({ ...i, type: snake(i.type), aggregated_output: i.aggregatedOutput, exit_code: i.exitCode }, done);
}

const problem = (message, retry = false) => [{ kind: 'note', text: text(message), bad: true, series: retry || word(message).startsWith('Reconnecting') ? 'retry' : undefined }];

const states = { inProgress: 'in_progress', in_progress: 'in_progress', completed: 'completed', done: 'completed', cancelled: 'cancelled', deleted: 'cancelled' };

/** An entry of an agent's list, in any of the formats. @returns {Todo} */
function todo(t) {
  const status = t?.completed === true ? 'completed' : own(states, word(t?.status)) ?? 'pending';
  return { text: text(t?.content ?? t?.text ?? t?.step ?? t?.description ?? t?.title), status };
}

/** The status of a task of Claude Code as that of a todo. @param {string} status */
export const todoStatus = (status) => own(states, status) ?? 'pending';

/** A command line without the shell that runs it. @param {string} line */
const bare = (line) => line.match(/^(?:\/(?:usr\/(?:local\/)?)?bin\/)?(?:ba|da|k|z)?sh -l?c (?:'([^']*)'|"([^"\\$`!]*)")$/)?.slice(1).find((m) => m !== undefined) ?? line;

/** The most informative member of a tool's input, in the order in which questions name it. */
function mainInput(v) {
  if (!isObject(v)) return word(v);
  const one = v.command ?? v.file_path ?? v.filePath ?? v.notebook_path ?? v.path ?? v.pattern ?? v.query ?? v.url ?? v.questions?.[0]?.question ?? v.question ?? v.subject ?? v.description ?? v.taskId;
  if (Array.isArray(one)) return one.map(word).join(' ');
  if (one !== undefined) return word(one);
  return Array.isArray(v.todos) ? `${v.todos.length} entries` : Object.keys(v).length ? JSON.stringify(v) : '';
}

const tokensOf = (u) => (number(u?.input_tokens) ?? 0) + (number(u?.output_tokens) ?? 0);

const number = (v) => (typeof v === 'number' && Number.isFinite(v) ? v : undefined);
const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const list = (v) => (Array.isArray(v) ? v : []);

function until(seconds) {
  const time = new Date(Number.isFinite(seconds) ? seconds * 1000 : NaN);
  return Number.isNaN(time.getTime()) ? '' : ` until ${time.toISOString()}`;
}

/** A value of any type as text. */
const word = (v) => (v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v));

/** A value that may be long, or consist of parts, as text. */
function text(v) {
  const whole = Array.isArray(v) ? v.map((p) => (isObject(p) ? word(p.text ?? `[${word(p.type)}]`) : word(p))).join('\n') : word(v);
  return whole.trimEnd();
}
