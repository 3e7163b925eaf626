// Lays graphs out beside the page, which stays quick meanwhile.
import { picture } from './layout.js';

onmessage = ({ data }) => {
  try {
    postMessage({ number: data.number, picture: picture(data.shape) });
  } catch (e) {
    postMessage({ number: data.number, error: String(e?.message ?? e) });
  }
};
