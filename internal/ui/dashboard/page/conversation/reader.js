// Splits the bytes of a log into lines for an index. A line may arrive in several parts.

const longest = 4 << 20; // bytes of a line that is understood
const kept = 64 << 10; // bytes that are kept of a longer line

const decoder = new TextDecoder(); // replaces invalid UTF-8 by a replacement character

/** The text of a line, without its end. A program may have overwritten it with carriage returns. @param {Uint8Array} bytes */
export function textOf(bytes) {
  let end = bytes.length;
  if (bytes[end - 1] === 10) end--;
  if (bytes[end - 1] === 13) end--;
  const text = decoder.decode(bytes.subarray(0, end));
  return text[0] === '{' ? text : text.slice(text.lastIndexOf('\r') + 1);
}

export class Reader {
  /**
   * @param {number} at the offset of the first byte
   * @param {number} number the number of lines before it, or NaN if it is unknown
   * @param {import('./index.js').Index} index
   */
  constructor(at, number, index) {
    Object.assign(this, { at, number, index, opened: 0, parts: [], length: 0, size: 0 });
  }

  /** @param {Uint8Array} bytes the bytes at this.at @param {[attempt: number, offset: number][]} starts the starts of attempts */
  feed(bytes, starts) {
    for (let from = 0; from < bytes.length;) {
      const start = starts.find(([n, offset]) => n > this.opened && offset >= this.at);
      if (start?.[1] === this.at) {
        this.finish();
        this.opened = start[0];
        this.index.begin(start[0], this.at, this.number + 1);
        continue;
      }
      const limit = start ? Math.min(bytes.length, from + start[1] - this.at) : bytes.length;
      const end = bytes.indexOf(10, from);
      const whole = end >= 0 && end < limit;
      const to = whole ? end + 1 : limit;
      this.add(bytes.subarray(from, to), whole);
      this.at += to - from;
      from = to;
      if (whole) this.finish();
    }
  }

  add(bytes, whole) {
    this.length += bytes.length;
    if (this.length > longest && this.size > kept) return;
    this.parts.push(whole && !this.parts.length ? bytes : bytes.slice());
    this.size += bytes.length;
  }

  /** Completes the current line. At the end of a log it may have no line end. */
  finish() {
    if (!this.length) return;
    const { length } = this;
    let bytes = this.parts[0];
    if (this.parts.length > 1) {
      bytes = new Uint8Array(this.size);
      this.parts.reduce((at, p) => { bytes.set(p, at); return at + p.length; }, 0);
    }
    if (length > longest) bytes = bytes.subarray(0, kept);
    Object.assign(this, { parts: [], length: 0, size: 0 });
    this.number++;
    this.index.line(textOf(bytes), this.at - length, length, this.number);
  }
}
