// Finds the syntax of a file's text. It runs in a worker because hostile text can keep it
// busy for a long time: the page ends the worker then.
import hljs from '../lib/highlight.js';

const names = self.name.split(' '); // of the classes; a run has the index of its class

onmessage = ({ data: { id, language, texts } }) => {
  const known = hljs.getLanguage(language);
  postMessage({ id, lines: known ? texts.map((text) => runsOf(text, language)) : null });
};

/** The runs of each line: lengths and classes, in turns. Plain lines have none. */
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
