import { html } from '../core/view.js';
import { Empty } from '../parts/status.js';

export function Page() { return html`<${Empty} title="This page is not there yet." />`; }
