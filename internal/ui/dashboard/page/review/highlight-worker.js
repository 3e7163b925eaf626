// Finds the syntax of a file's text. It runs in a worker, because hostile text can take
// very long. The page then terminates the worker.
import hljs from '../lib/highlight.js';

const names = self.name.split(' '); // the class names; a run contains the index of its class

onmessage = ({ data: { id, language, texts } }) => {
  const known = hljs.getLanguage(language);
  postMessage({ id, lines: known ? texts.map((text) => runsOf(text, language)) : null });
};

/** The syntax of each line: alternating lengths and class indexes; nothing for plain lines. */
function runsOf(text, language) {
  const tree = hljs.highlight(text, { language, ignoreIllegals: true })._emitter.rootNode;
  const lines = [];
  let runs = [];
  const put = (part, kind) => {
    let from = 0;
    for (;;) {
      const end = part.indexOf('\n', from);
      const length = (end < 0 ? part.length : end) - from;
      if (length > 0) runs.push(length, kind);
      if (end < 0) return;
      lines.push(runs.some((value, i) => i % 2 && value) ? runs : 0);
      runs = [];
      from = end + 1;
    }
  };
  const walk = (node, kind) => {
    for (const child of node.children) {
      if (typeof child === 'string') put(child, kind);
      else walk(child, child.scope ? Math.max(0, names.indexOf(child.scope.split('.')[0])) || kind : kind);
    }
  };
  walk(tree, 0);
  lines.push(runs);
  return lines;
}

postMessage({ ready: true });
