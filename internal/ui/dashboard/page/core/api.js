// Requests to the server that served this page, with the cookie of the logged-in user.
import { signal } from './view.js';

/** The reason why the server refuses this browser, or empty. */
export const refused = signal('');

/** An error that the server has answered with. */
export class Problem extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) { super(message); this.status = status; this.code = code; }
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Response>} a response with a success status; otherwise it throws a Problem
 */
export async function ask(path, init) {
  let res;
  try {
    res = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Problem(0, 'away', 'The server does not answer.');
  }
  if (res.ok) {
    refused.value = '';
    return res;
  }
  const body = await res.json().catch(() => ({}));
  const problem = new Problem(res.status, body.error?.code ?? '', body.error?.message ?? `The server answered ${res.status}.`);
  if (res.status === 401) refused.value = problem.message;
  throw problem;
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = async (path, signal) => (await ask(path, { signal })).json();

/** @param {string} path @param {unknown} body @param {string} [method] @param {AbortSignal} [signal] */
export const send = async (path, body, method = 'POST', signal = undefined) =>
  (await ask(path, { method, signal, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body ?? {}) })).json();

/** A random id for a request. After a lost answer the request is repeated with the same id. */
export const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');

/** Tag of templates for URL paths; it escapes the values: path`/v1/runs/${id}`. */
export const path = (parts, ...values) => String.raw({ raw: parts }, ...values.map((v) => encodeURIComponent(v)));
