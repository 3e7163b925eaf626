// Computes the positions of a graph's tasks. It runs in a worker, so it must not use the
// page's DOM.
import { Graph, layout } from '../lib/dagre.js';
import { box } from './layout-size.js';

const gap = { x: 72, y: 16, inner: 14, head: 34, pad: 14 };

/**
 * @typedef {{layers: number[], edges: [number, number][], compact?: boolean}} Shape compact: place the boxes close together, as in a folded graph
 * @typedef {{nodes: {x: number, y: number}[], edges: {from: number, to: number, d: string}[], bands: {layer: number, x: number, width: number, count: number}[], width: number, height: number}} Picture
 */

/** Lays out a graph from left to right, with one column per layer. @param {Shape} shape @returns {Picture} */
export const picture = (shape) => (shape.edges.length && !shape.compact ? drawn(shape) : columns(shape));

// Lays out a graph without edges, or a folded one. Each layer is a block of several
// columns, because one column of hundreds of tasks would be too high.
function columns({ layers, edges }) {
  const members = byLayer(layers);
  if (edges.length) sortByDependencies(members, edges);
  const most = Math.max(...members.map((m) => m.length));
  const rows = Math.max(8, Math.min(25, Math.ceil(Math.sqrt(most * 1.6))));
  const nodes = new Array(layers.length);
  const bands = [];
  let x = 0;
  for (const [k, list] of members.entries()) {
    const wide = Math.ceil(list.length / rows);
    const width = wide * (box.width + gap.inner) - gap.inner + 2 * gap.pad;
    list.forEach((i, n) => { nodes[i] = { x: x + gap.pad + Math.floor(n / rows) * (box.width + gap.inner), y: gap.head + (n % rows) * (box.height + gap.y) }; });
    bands.push({ layer: k + 1, x, width, count: list.length });
    x += width + gap.x - 2 * gap.pad;
  }
  const height = gap.head + Math.min(rows, most) * (box.height + gap.y) - gap.y + gap.pad;
  const lines = edges.map(([from, to]) => ({ from, to, d: curve(nodes[from], [], nodes[to]) }));
  return { nodes, edges: lines, bands, width: x - gap.x + 2 * gap.pad, height };
}

// Sorts the boxes of each layer by the mean place of what they depend on, so that fewer
// lines cross.
function sortByDependencies(members, edges) {
  const needs = new Map();
  for (const [from, to] of edges) needs.get(to)?.push(from) ?? needs.set(to, [from]);
  const place = new Map();
  for (const list of members) {
    const mean = new Map(list.map((i, n) => {
      const known = (needs.get(i) ?? []).filter((j) => place.has(j));
      return [i, known.length ? known.reduce((sum, j) => sum + place.get(j), 0) / known.length : n];
    }));
    list.sort((a, b) => mean.get(a) - mean.get(b));
    list.forEach((i, n) => place.set(i, n));
  }
}

function byLayer(layers) {
  const members = Array.from({ length: layers.reduce((most, l) => Math.max(most, l), 0) }, () => []);
  layers.forEach((l, i) => members[l - 1].push(i));
  return members.filter((m) => m.length);
}

function drawn({ layers, edges }) {
  const g = new Graph();
  g.setGraph({ rankdir: 'LR', nodesep: gap.y, ranksep: gap.x, edgesep: 10, ranker: ranked(layers) });
  g.setDefaultEdgeLabel(() => ({}));
  layers.forEach((_, i) => g.setNode(String(i), { width: box.width, height: box.height }));
  for (const [from, to] of edges) if (layers[from] < layers[to]) g.setEdge(String(from), String(to));
  layout(g);
  return placed(g, layers, edges);
}

// Sets the rank of each task from its layer. Otherwise the library would choose ranks
// with the shortest edges. The library uses every second rank for edge labels.
const ranked = (layers) => (g) => {
  for (const v of g.nodes()) {
    const layer = layers[v];
    g.node(v).rank = layer === undefined ? 0 : 2 * layer;
  }
};

function placed(g, layers, edges) {
  const nodes = layers.map((_, i) => g.node(String(i)));
  const left = Math.min(...nodes.map((n) => n.x)) - box.width / 2 - gap.pad;
  const top = Math.min(...nodes.map((n) => n.y)) - box.height / 2 - gap.head;
  const at = nodes.map((n) => ({ x: n.x - box.width / 2 - left, y: n.y - box.height / 2 - top }));
  const lines = edges.map(([from, to]) => {
    const between = layers[to] - layers[from] > 1 ? g.edge(String(from), String(to))?.points?.slice(1, -1) ?? [] : [];
    return { from, to, d: curve(at[from], between.map((p) => ({ x: p.x - left, y: p.y - top })), at[to]) };
  });
  const bands = byLayer(layers).map((list) => ({ layer: layers[list[0]], x: at[list[0]].x - gap.pad, width: box.width + 2 * gap.pad, count: list.length }));
  const width = Math.max(...bands.map((b) => b.x + b.width));
  return { nodes: at, edges: lines, bands, width, height: Math.max(...at.map((p) => p.y)) + box.height + gap.pad };
}

// An SVG path from the right side of one box to the left side of another, horizontal at
// both ends.
function curve(from, between, to) {
  const points = [{ x: from.x + box.width, y: from.y + box.height / 2 }, ...between, { x: to.x - 5, y: to.y + box.height / 2 }];
  let d = `M${round(points[0].x)} ${round(points[0].y)}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const half = (b.x - a.x) / 2;
    d += `C${round(a.x + half)} ${round(a.y)} ${round(b.x - half)} ${round(b.y)} ${round(b.x)} ${round(b.y)}`;
  }
  return d;
}

const round = (n) => Math.round(n * 10) / 10;
