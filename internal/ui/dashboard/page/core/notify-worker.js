// The service worker that shows notifications on phones. It handles no requests, so pages
// and data always come from the server.
self.addEventListener('notificationclick', (e) => {
  e.notification.close();
  const { href } = e.notification.data;
  e.waitUntil((async () => {
    const [page] = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    if (!page) return self.clients.openWindow(`/${href}`);
    page.postMessage({ href });
    return page.focus();
  })());
});
