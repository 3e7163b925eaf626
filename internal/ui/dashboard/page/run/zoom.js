import { html } from '../core/view.js';

/** Zoom buttons, for users without a wheel or keyboard. @param {{closer: () => void, farther: () => void, fit: () => void}} props */
export const Zoom = ({ closer, farther, fit }) => html`<div class="zoom-keys" role="group" aria-label="Zoom">
  <button onClick=${closer} aria-label="Closer" title="Closer (+)">+</button>
  <button onClick=${farther} aria-label="Farther" title="Farther (−)">−</button>
  <button onClick=${fit} title="All of it (0)">Fit</button></div>`;
