// Computes layouts in a worker, so that the page stays responsive.
import { picture } from './layout.js';

onmessage = ({ data }) => {
  try {
    postMessage({ number: data.number, picture: picture(data.shape) });
  } catch (e) {
    postMessage({ number: data.number, error: String(e?.message ?? e) });
  }
};
