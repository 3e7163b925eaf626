// The user's preferences, stored in this browser.
import { signal, effect } from './view.js';

/** A signal whose value is stored in this browser. @param {string} name @param {string} otherwise the default */
export function kept(name, otherwise) {
  const value = signal(load(name) ?? otherwise);
  effect(() => { try { localStorage.setItem(`gaffer.${name}`, value.value); } catch { /* storage is disabled: the value is lost with the page */ } });
  return value;
}

function load(name) {
  try { return localStorage.getItem(`gaffer.${name}`); } catch { return null; }
}

/** auto, light or dark. */
export const theme = kept('theme', 'auto');
/** on or off. */
export const sound = kept('sound', 'off');

effect(() => {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  for (const meta of document.querySelectorAll('meta[name="theme-color"]')) { // the colour of a phone's status bar
    const kind = theme.value === 'auto' ? (meta.media.includes('dark') ? 'dark' : 'light') : theme.value;
    meta.content = kind === 'dark' ? '#1a1c20' : '#ffffff'; // as --panel in base.css
  }
});
