// Values that components provide while they are shown.
import { useLayoutEffect, useRef } from './view.js';

let made = 0;

/** @template V */
export class Mounted {
  /** @type {{order: number, value: V}[]} */
  #list = [];

  /** Provides a value while the calling component is shown; a hook. @param {V} value */
  use(value) {
    const ref = useRef(null);
    ref.current ??= { order: ++made, value }; // set when drawn first: an outer component is drawn before its inner ones
    ref.current.value = value;
    useLayoutEffect(() => {
      const mine = ref.current;
      this.#list = [...this.#list, mine].sort((a, b) => b.order - a.order);
      return () => { this.#list = this.#list.filter((one) => one !== mine); };
    }, []);
  }

  /** The values, those of inner components first. @returns {V[]} */
  all() { return this.#list.map((one) => one.value); }
}
