// Finds the stored questions and messages of a task in its conversation. The log has only
// their texts, so they are compared from the last one back. Pure functions.

/** @typedef {{index: number, kind: string, text: string, attempt: number, first: boolean}} Mark */

const squashed = (text) => String(text ?? '').replace(/\s+/g, ' ').trim();
const compared = 120; // characters of a question

/**
 * @param {Mark[]} marks @param {any[]} questions the oldest first
 * @returns {{by: Map<number, any>, left: any[]}} by: the questions by their block; left: those without one
 */
export function matchQuestions(marks, questions) {
  const by = new Map();
  const left = [...questions];
  for (const mark of marks.filter((m) => m.kind === 'ask').reverse()) {
    const text = squashed(mark.text).slice(0, compared);
    const i = left.findLastIndex((q) => squashed(q.text).includes(text));
    if (i < 0) continue;
    by.set(mark.index, left[i]);
    left.splice(i, 1);
  }
  return { by, left };
}

/**
 * @param {Mark[]} marks @param {any[]} messages the oldest first @param {any[]} attempts
 * @returns {{by: Map<number, any>, left: any[]}} left: delivered messages that are not in the log
 */
export function matchMessages(marks, messages, attempts) {
  const by = new Map();
  const left = messages.filter((m) => m.delivered);
  const number = new Map(attempts.map((a) => [a.id, a.number]));
  for (const mark of marks.filter((m) => m.kind === 'user').reverse()) {
    const text = squashed(mark.text);
    const i = left.findLastIndex((m) => {
      if (m.attempt && number.get(m.attempt) !== mark.attempt) return false;
      return squashed(m.text).slice(0, 3900) === text.slice(0, 3900) || (mark.first && text.includes(squashed(m.text)));
    });
    if (i < 0) continue;
    by.set(mark.index, left[i]);
    left.splice(i, 1);
  }
  return { by, left };
}
