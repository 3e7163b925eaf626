// Positions in the list of agents. Every part has a known place, so that only visible
// parts need to be in the page.

/** Heights in pixels. */
export const sizes = { row: 54, card: 180, head: 42, gap: 12, answer: 190, cardWidth: 320 };

/**
 * @typedef {{key: string, kind: 'head'|'agent'|'answer', top: number, height: number, left: number, width: number, group: any, row?: any, index: number}} Box
 * left and width are parts of the list's width, from 0 to 1; index is the position among the agents
 */

/**
 * @param {{groups: any[], cards: boolean, width: number, folded: Set<string>, answering: Set<string>, heights: Map<string, number>}} of
 * heights are the measured heights of answer forms
 * @returns {{boxes: Box[], height: number, shown: Box[]}} shown are the boxes of agents
 */
export function layout({ groups, cards, width, folded, answering, heights }) {
  const boxes = [];
  const shown = [];
  const columns = cards ? Math.max(1, Math.floor((width + sizes.gap) / (sizes.cardWidth + sizes.gap))) : 1;
  const height = cards ? sizes.card : sizes.row;
  let top = 0;
  for (const group of groups) {
    if (group.kind !== 'none') {
      boxes.push({ key: `head ${group.key}`, kind: 'head', top, height: sizes.head, left: 0, width: 1, group, index: -1 });
      top += sizes.head;
    }
    if (folded.has(group.key)) continue;
    for (let i = 0; i < group.rows.length; i += columns) {
      const rows = group.rows.slice(i, i + columns);
      rows.forEach((row, column) => {
        const box = { key: row.id, kind: 'agent', top, height, left: column / columns, width: 1 / columns, group, row, index: shown.length };
        boxes.push(box);
        shown.push(box);
      });
      top += height + (cards ? sizes.gap : 0);
      for (const row of rows) {
        if (!answering.has(row.id) || !row.question) continue;
        const tall = heights.get(row.id) ?? sizes.answer;
        boxes.push({ key: `answer ${row.id}`, kind: 'answer', top, height: tall, left: 0, width: 1, group, row, index: -1 });
        top += tall;
      }
    }
  }
  return { boxes, height: top, shown };
}

/**
 * The index of the agent to which a key moves, or -1 if the key does not move.
 * @param {Box[]} shown @param {number} from @param {string} key
 */
export function step(shown, from, key) {
  const last = shown.length - 1;
  const here = shown[from];
  if (!here) return -1;
  switch (key) {
    case 'Home': return 0;
    case 'End': return last;
    case 'ArrowRight': return here.width < 1 ? Math.min(last, from + 1) : -1;
    case 'ArrowLeft': return here.width < 1 ? Math.max(0, from - 1) : -1;
    case 'ArrowDown': return nearest(shown, from, 1, 1);
    case 'ArrowUp': return nearest(shown, from, -1, 1);
    case 'PageDown': return nearest(shown, from, 1, 10);
    case 'PageUp': return nearest(shown, from, -1, 10);
    default: return -1;
  }
}

// nearest returns the agent some lines below or above that is closest in the same column.
function nearest(shown, from, direction, lines) {
  const { left } = shown[from];
  let at = from;
  for (let line = 0; line < lines; line++) {
    let i = at;
    while (shown[i] && shown[i].top === shown[at].top) i += direction;
    if (!shown[i]) break;
    const { top } = shown[i];
    let best = i;
    for (; shown[i]?.top === top; i += direction) if (Math.abs(shown[i].left - left) < Math.abs(shown[best].left - left)) best = i;
    at = best;
  }
  return at;
}
