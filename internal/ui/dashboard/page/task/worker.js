// The worker for the log of a task. Loading, decoding and searching a hundred megabytes
// must not block the page.
import { Store } from './store.js';

let store;

const tasks = {
  open({ url }) {
    store = new Store(url, (news) => postMessage(news));
    return store.open();
  },
  async piece({ piece, from, round }) { postMessage({ kind: 'piece', round, ...await store.shown(piece, from) }); },
  search({ text, raw }) { store.search(text, raw); },
  find({ at, step, too }) { return store.query?.find(at, step, too); },
  follow() { return store.follow(); },
  pause() { store.stop(); },
};

onmessage = async ({ data }) => {
  try {
    await tasks[data.do](data);
  } catch (e) {
    postMessage({ kind: 'wrong', about: data, message: e.message });
  }
};
