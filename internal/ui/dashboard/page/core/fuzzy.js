// Finds texts by some of their letters, as in the palette: "ckt api" finds checkout/api.

/**
 * How well a text fits the words of a query; 0 if it does not. Each word must be in the
 * text as it is, or with letters between its letters.
 * @param {string} text @param {string[]} words in lower case
 */
export function score(text, words) {
  const lower = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const one = whole(lower, word) || scattered(lower, word);
    if (!one) return 0;
    sum += one;
  }
  return sum / Math.max(1, words.length) - Math.min(20, lower.length / 20); // of two equal ones, the shorter
}

const boundary = /[\s/._:-]/;
const starts = (text, at) => at === 0 || boundary.test(text[at - 1]);

// A word that is in the text: best at its beginning, then at the beginning of a part.
function whole(text, word) {
  let best = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    best = Math.max(best, at === 0 ? 200 : starts(text, at) ? 160 : 120);
  }
  return best;
}

// The letters of a word in their order, not too far apart.
function scattered(text, word) {
  let from = 0;
  let sum = 0;
  for (const letter of word) {
    const at = text.indexOf(letter, from);
    if (at < 0 || (sum && at - from > 12)) return 0;
    sum += at === from ? 8 : starts(text, at) ? 6 : 2;
    from = at + 1;
  }
  return word.length > 1 ? 21 + Math.min(60, sum / word.length * 6) : 0;
}
