// The visible part of the graph. Moving and zooming only changes a transform; nothing is
// drawn again.

const closest = 2;
const farthest = 0.02;

export class Camera {
  /** @param {SVGSVGElement} svg @param {SVGGElement} scene */
  constructor(svg, scene) {
    Object.assign(this, { svg, scene, x: 0, y: 0, k: 1, size: { width: 1, height: 1 } });
  }

  apply() {
    this.scene.setAttribute('transform', `translate(${this.x} ${this.y}) scale(${this.k})`);
    this.svg.classList.toggle('far', this.k < 0.45);
  }

  /** The size of the viewport in pixels. */
  sight() { const { width, height } = this.svg.getBoundingClientRect(); return { width, height }; }

  /** The zoom factor at which the whole graph is visible. */
  whole() {
    const { width, height } = this.sight();
    return Math.max(farthest, Math.min(1, (width - 24) / this.size.width, (height - 24) / this.size.height));
  }

  fit() {
    const { width, height } = this.sight();
    this.k = this.whole();
    this.x = (width - this.size.width * this.k) / 2;
    this.y = (height - this.size.height * this.k) / 2;
    this.apply();
  }

  /** Shows the whole graph. If that would be too small to read, shows its left part, centred on y. @param {number} y */
  begin(y) {
    this.fit();
    if (this.k >= 0.55) return;
    const { height } = this.sight();
    this.k = Math.max(0.7, Math.min(1, (height - 24) / this.size.height));
    this.x = 12;
    this.y = Math.min(12, Math.max(height - this.size.height * this.k - 12, height / 2 - y * this.k));
    this.apply();
  }

  /** @param {number} factor @param {{x: number, y: number}} [around] in pixels of the viewport */
  zoom(factor, around) {
    const { width, height } = this.sight();
    const { x, y } = around ?? { x: width / 2, y: height / 2 };
    const k = Math.max(Math.min(this.whole(), farthest * 4), Math.min(closest, this.k * factor));
    this.x = x - ((x - this.x) * k) / this.k;
    this.y = y - ((y - this.y) * k) / this.k;
    this.k = k;
    this.apply();
  }

  /** @param {number} dx @param {number} dy in pixels */
  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.apply();
  }

  /** Moves a box to the middle, near enough to be read. */
  centre({ x, y }, { width, height }) {
    const sight = this.sight();
    this.k = Math.max(this.k, 0.7);
    this.x = sight.width / 2 - (x + width / 2) * this.k;
    this.y = sight.height / 2 - (y + height / 2) * this.k;
    this.apply();
  }

  /** Moves as little as possible to make a box visible. */
  show({ x, y }, { width, height }) {
    const sight = this.sight();
    const by = (from, size, room) => (from < 16 ? 16 - from : from + size > room - 16 ? room - 16 - from - size : 0);
    this.move(by(x * this.k + this.x, width * this.k, sight.width), by(y * this.k + this.y, height * this.k, sight.height));
  }
}

/** Lets the pointer move and zoom. Returns a function that undoes this. @param {Camera} camera */
export function steer(camera) {
  const { svg } = camera;
  let held = null;
  let moved = false;
  const wheel = (e) => {
    e.preventDefault();
    const { left, top } = svg.getBoundingClientRect();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) camera.move(-(e.deltaX || e.deltaY), 0);
    else camera.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), { x: e.clientX - left, y: e.clientY - top });
  };
  const down = (e) => { if (e.button === 0) { held = { x: e.clientX, y: e.clientY, id: e.pointerId }; moved = false; } };
  const move = (e) => {
    if (!held || held.id !== e.pointerId) return;
    if (!moved && Math.hypot(e.clientX - held.x, e.clientY - held.y) < 5) return;
    if (!moved) svg.setPointerCapture(e.pointerId);
    moved = true;
    camera.move(e.clientX - held.x, e.clientY - held.y);
    held = { ...held, x: e.clientX, y: e.clientY };
  };
  const up = () => { held = null; };
  const click = (e) => { if (moved) { e.preventDefault(); e.stopPropagation(); moved = false; } };
  const drag = (e) => e.preventDefault(); // boxes are links, which browsers would drag
  const all = { wheel, pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, dragstart: drag };
  for (const [name, f] of Object.entries(all)) svg.addEventListener(name, f, { passive: false });
  svg.addEventListener('click', click, true);
  return () => {
    for (const [name, f] of Object.entries(all)) svg.removeEventListener(name, f);
    svg.removeEventListener('click', click, true);
  };
}
