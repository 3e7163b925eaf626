// What every part of the page is written with.
import { h, Component } from 'preact';
import htm from 'htm';

// A part of a template in which nothing changes would be kept and used again, and
// would hold on to the tree that it was first a part of: with rows that are not
// drawn again, to every tree since. htm is told that all may change.
export const html = htm.bind(function (type, props, ...children) {
  this[0] = 3;
  return h(type, props, ...children);
});
export { Fragment, render } from 'preact';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '@preact/signals';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/**
 * A component that is drawn again only when one of its props is another one. Rows
 * of a table are replaced and never changed, so a row costs nothing while it is the same.
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
