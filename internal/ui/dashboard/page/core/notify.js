// Notifications of the browser, while a page of the dashboard is open. The user turns
// them on; webhooks and other channels of gaffer work without a page.
import { kept } from './prefs.js';
import { go } from './route.js';

/** on or off. */
export const notifications = kept('notifications', 'off');

/** Why this browser cannot show notifications, or ''. */
export function whyNot() {
  if (!('Notification' in globalThis)) return isSecureContext ? 'not in this browser' : 'only with https';
  return Notification.permission === 'denied' ? 'blocked in the browser' : '';
}

/** Turns notifications on or off. Resolves to whether they are on. */
export async function toggleNotifications() {
  if (notifications.value === 'on') notifications.value = 'off';
  else if (await Notification.requestPermission() === 'granted') notifications.value = 'on';
  return notifications.value === 'on';
}

/**
 * Shows a notification, unless the user looks at the page. Several tabs show one
 * notification for one event.
 * @param {import('./notifyevents.js').Happening} what
 */
export async function notify({ id, title, body, href }) {
  if (notifications.value !== 'on' || whyNot() || Notification.permission !== 'granted' || document.hasFocus()) return;
  const how = { tag: id, body: body.slice(0, 300), icon: '/assets/icon-192.png', data: { href } };
  try {
    const shown = new Notification(title, how);
    shown.onclick = () => { window.focus(); go(href); shown.close(); };
  } catch { // on phones, only a service worker can show notifications
    const worker = await navigator.serviceWorker?.register('/assets/core/notify-worker.js');
    await worker?.showNotification(title, how);
  }
}

// A click on a notification of the service worker.
globalThis.navigator?.serviceWorker?.addEventListener('message', ({ data }) => { if (typeof data?.href === 'string') go(data.href); });
