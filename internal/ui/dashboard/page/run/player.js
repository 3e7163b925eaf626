// Steps through the moments of a replay, automatically or by the user.
import { useEffect, useRef, useState } from '../core/view.js';

const speeds = [2, 5, 20, 100, 500]; // moments per second

/** @param {number} last the number of moments @param {number} start */
export function usePlayer(last, start) {
  const within = (n) => Math.max(1, Math.min(last, Math.round(n) || 1));
  const [at, setAt] = useState(within(start));
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(() => speeds.find((s) => last / s < 40) ?? speeds.at(-1));
  const go = (n) => { setPlaying(false); setAt(within(n)); };
  const toggle = () => {
    if (!playing && at >= last) setAt(1);
    setPlaying(!playing);
  };
  usePlaying(playing, speed, (by) => setAt((n) => Math.min(last, n + by)));
  useEffect(() => { if (playing && at >= last) setPlaying(false); }, [playing, at, last]);
  const player = { at, playing, speed, speeds, setSpeed, go, toggle, first: () => go(1), last: () => go(last), next: () => go(at + 1), back: () => go(at - 1) };
  useKeys(player);
  return player;
}

// Advances by elapsed time, not by frames, so that the speed is the same on every screen.
function usePlaying(on, speed, advance) {
  const act = useRef(null);
  act.current = advance;
  useEffect(() => {
    if (!on) return undefined;
    let due = 0;
    let before = performance.now();
    let frame = requestAnimationFrame(function next(time) {
      due += (Math.max(0, Math.min(time - before, 1000)) * speed) / 1000;
      before = time;
      if (due >= 1) act.current(Math.floor(due));
      due %= 1;
      frame = requestAnimationFrame(next);
    });
    return () => cancelAnimationFrame(frame);
  }, [on, speed]);
}

function useKeys(player) {
  const now = useRef(null);
  now.current = player;
  useEffect(() => {
    const act = { ' ': 'toggle', ArrowLeft: 'back', ArrowRight: 'next', Home: 'first', End: 'last' };
    const key = (e) => {
      const slider = e.target.type === 'range';
      if (!act[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
      if (slider ? e.key !== ' ' : e.target.closest('input,select,textarea,button,a,dialog,[data-index]')) return;
      e.preventDefault();
      now.current[act[e.key]]();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
}
