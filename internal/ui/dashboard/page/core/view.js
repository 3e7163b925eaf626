// The rendering library that all modules use.
import { h, Component } from 'preact';
import htm from 'htm';

// htm caches the static parts of a template. A cached part references the tree in which
// it was first used. If rows are never drawn again, all earlier trees stay in memory.
// So the cache is switched off: htm treats every part as changing.
export const html = htm.bind(function (type, props, ...children) {
  this[0] = 3;
  return h(type, props, ...children);
});
export { Fragment, render } from 'preact';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '@preact/signals';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/**
 * A component that is drawn again only when one of its props is a different value. Rows
 * of a table are replaced and never modified, so unchanged rows are not drawn again.
 * @template P
 * @param {(props: P) => any} draw
 */
export function memo(draw) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const now = this.props;
      for (const name in next) if (next[name] !== now[name]) return true;
      for (const name in now) if (!(name in next)) return true;
      return false;
    }
    render(props) { return draw(props); }
  };
}
