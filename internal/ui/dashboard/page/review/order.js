// The order of files, in the tree and in the diff. Pure.

/** The order of the tree: in each folder, first the folders, then the files. @param {string} a @param {string} b */
export function treeOrder(a, b) {
  const [x, y] = [a.split('/'), b.split('/')];
  for (let i = 0; ; i++) {
    const [lastX, lastY] = [i === x.length - 1, i === y.length - 1];
    if (lastX !== lastY) return lastX ? 1 : -1;
    if (x[i] !== y[i]) return x[i] < y[i] ? -1 : 1;
    if (lastX) return 0;
  }
}

/**
 * The rows of the tree. A folder with one child shares a row with it.
 * @param {any[]} files in the order of the tree @param {Set<string>} closed folders
 * @returns {{key: string, name: string, depth: number, file?: any, closed?: boolean}[]}
 */
export function treeRows(files, closed) {
  const root = { name: '', path: '', children: new Map(), files: [] };
  for (const file of files) {
    const parts = file.path.split('/');
    let at = root;
    for (const part of parts.slice(0, -1)) {
      const path = `${at.path}${part}/`;
      if (!at.children.has(part)) at.children.set(part, { name: part, path, children: new Map(), files: [] });
      at = at.children.get(part);
    }
    at.files.push({ name: parts.at(-1), file });
  }
  const out = [];
  const walk = (node, depth) => {
    for (let child of node.children.values()) {
      let { name } = child;
      while (!child.files.length && child.children.size === 1) {
        [child] = child.children.values();
        name += `/${child.name}`;
      }
      const shut = closed.has(child.path);
      out.push({ key: child.path, name: `${name}/`, depth, closed: shut });
      if (!shut) walk(child, depth + 1);
    }
    for (const { name, file } of node.files) out.push({ key: file.path, name, depth, file });
  };
  walk(root, 0);
  return out;
}
