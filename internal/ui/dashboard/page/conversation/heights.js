// The heights of all blocks, known or estimated, with fast sums: a binary indexed tree.

export class Heights {
  constructor() {
    this.count = 0;
    this.own = new Float64Array(1024);
    this.tree = new Float64Array(1025);
  }

  /** Appends blocks. @param {ArrayLike<number>} list */
  append(list) {
    const before = this.count;
    this.count += list.length;
    if (this.count > this.own.length) this.enlarge();
    for (let i = 0; i < list.length; i++) this.own[before + i] = list[i];
    for (let i = before + 1; i <= this.count; i++) { // each node is the sum of its children, which come before it
      let sum = this.own[i - 1];
      for (let k = 1; k < (i & -i); k <<= 1) sum += this.tree[i - k];
      this.tree[i] = sum;
    }
  }

  enlarge() {
    const room = 2 ** Math.ceil(Math.log2(this.count + 1));
    const own = new Float64Array(room);
    own.set(this.own);
    const tree = new Float64Array(room + 1);
    tree.set(this.tree);
    Object.assign(this, { own, tree });
  }

  /** @param {number} i @param {number} height */
  set(i, height) {
    const by = height - this.own[i];
    if (!by) return;
    this.own[i] = height;
    for (let k = i + 1; k <= this.count; k += k & -k) this.tree[k] += by;
  }

  /** The sum of the heights before a block. @param {number} i */
  before(i) {
    let sum = 0;
    for (let k = Math.min(i, this.count); k > 0; k -= k & -k) sum += this.tree[k];
    return sum;
  }

  get total() { return this.before(this.count); }

  /** The block at a position. @param {number} y */
  at(y) {
    let at = 0;
    for (let step = 2 ** Math.floor(Math.log2(Math.max(1, this.count))); step > 0; step >>= 1) {
      if (at + step <= this.count && this.tree[at + step] <= y) {
        at += step;
        y -= this.tree[at];
      }
    }
    return Math.min(at, Math.max(0, this.count - 1));
  }
}
