// The screen of a terminal, drawn by xterm.js. tmux has interpreted what the agent printed
// and sends only its own drawing. Whatever could act outside the screen is switched off all
// the same: titles, the clipboard, links, colours of the palette, replies that nobody asked for.
import { Terminal } from '../lib/xterm.js';
import { strictDocument } from './strictdocument.js';

const preferred = 13; // pixels
const smallest = 7; // a smaller text is not readable: the rest is scrolled to

// Operating system commands that xterm.js knows: titles, colours, links.
const commands = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];
// Modes in which the mouse is reported to the program.
const mouse = new Set([9, 1000, 1002, 1003, 1005, 1006, 1015, 1016]);
const focus = 1004; // the mode in which the focus is reported
// Requests that xterm.js replies to: what the terminal is and can do, its state, its modes, its
// window. A reply that arrives late would be taken for keys that the user has typed.
const requests = [{ final: 'c' }, { prefix: '>', final: 'c' }, { final: 'n' }, { prefix: '?', final: 'n' }, { intermediates: '$', final: 'p' }, { prefix: '?', intermediates: '$', final: 'p' }, { final: 't' }];

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
const colours = [...names, ...names.map((n) => `bright${n[0].toUpperCase()}${n.slice(1)}`)];

export class Screen {
  /**
   * @param {HTMLElement} host the element that the screen fills
   * @param {{keys: (keys: Uint8Array) => void, chord: (e: KeyboardEvent) => boolean}} user chord returns true for a key that the page uses itself
   */
  constructor(host, user) {
    this.host = host;
    this.typing = false;
    const style = getComputedStyle(host);
    const term = this.term = new Terminal({
      documentOverride: strictDocument(), screenReaderMode: true, disableStdin: true, scrollback: 0, minimumContrastRatio: 4.5,
      fontFamily: style.fontFamily, fontSize: preferred, theme: this.theme(), linkHandler: { activate() {} }, cursorInactiveStyle: 'none',
    });
    for (const id of commands) term.parser.registerOscHandler(id, () => true);
    for (const id of requests) term.parser.registerCsiHandler(id, () => true);
    term.parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true);
    // A page that only watches selects text with the mouse instead of reporting it.
    term.parser.registerCsiHandler({ prefix: '?', final: 'h' }, (params) => params.every((p) => p === focus || !this.typing && mouse.has(p)));
    term.attachCustomKeyEventHandler((e) => (user.chord(e) ? false : this.typing));
    term.attachCustomWheelEventHandler(() => this.typing);
    const bytes = new TextEncoder();
    term.onData((text) => user.keys(bytes.encode(text)));
    term.onBinary((text) => user.keys(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    term.open(host);
  }

  /** @param {Uint8Array} data @param {() => void} shown called when it is drawn */
  write(data, shown) { this.term.write(data, shown); }

  /** Begins with an empty screen, after the output so far. */
  reset() { this.term.write('\x1bc'); }

  /** Hides the cursor. */
  freeze() { this.term.write('\x1b[?25l'); }

  /** @param {boolean} on whether keys reach the terminal */
  type(on) {
    if (this.typing === on) return;
    this.typing = on;
    this.term.options.disableStdin = !on;
    this.term.options.cursorBlink = on;
    if (on) this.term.focus();
    else this.term.blur();
  }

  /** The size in characters that fills the host in the preferred size of text. */
  fitting() {
    const [cell, room] = [this.cell(), this.room()];
    return { columns: Math.floor(room.width / (cell.width * preferred)), rows: Math.floor(room.height / (cell.height * preferred)) };
  }

  /** The size of the host without its padding, in pixels. */
  room() {
    const { paddingLeft, paddingRight, paddingTop, paddingBottom } = getComputedStyle(this.host);
    return { width: this.host.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), height: this.host.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom) };
  }

  /** The size of a character, as a part of the size of text. */
  cell() {
    const drawn = this.host.querySelector('.xterm-screen');
    const size = this.term.options.fontSize;
    return { width: drawn.offsetWidth / this.term.cols / size || 0.6, height: drawn.offsetHeight / this.term.rows / size || 1.2 };
  }

  /** Shows so many characters, smaller if the host has no room for them. @param {{columns: number, rows: number}} size */
  resize({ columns, rows }) {
    const [cell, room] = [this.cell(), this.room()];
    const most = Math.min(room.width / (columns * cell.width), room.height / (rows * cell.height));
    const size = most > preferred * 0.98 ? preferred : Math.max(smallest, Math.floor(most * 4) / 4); // widths are rounded
    if (this.term.options.fontSize !== size) this.term.options.fontSize = size;
    if (this.term.cols !== columns || this.term.rows !== rows) this.term.resize(columns, rows);
  }

  /** The colours of the page. */
  theme() {
    const probe = document.createElement('span');
    this.host.append(probe);
    const colour = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
    const theme = { background: colour('panel'), foreground: colour('ink'), cursor: colour('accent'), cursorAccent: colour('panel'), selectionBackground: colour('accent-ground') };
    colours.forEach((name, i) => { theme[name] = colour(`a${i}`); });
    probe.remove();
    return theme;
  }

  /** Follows a change between light and dark. */
  repaint() { this.term.options.theme = this.theme(); }

  end() { this.term.dispose(); }
}
