// A layered layout, as a worker: layers by the longest path, or by hop where there are many nodes; order by barycentre.
const STEP_X = 232, STEP_Y = 58, MANY = 300, DEADLINE = 400;

function layers(nodes, edges) {
  const below = new Map(nodes.map((n) => [n.id, []]));
  for (const e of edges) below.get(e.a)?.push(e.b);
  const state = new Map(), order = [];
  const kept = [];
  // depth first without recursion; an edge back into the path is of a cycle and does not count
  for (const root of nodes) {
    if (state.has(root.id)) continue;
    const path = [[root.id, 0]];
    state.set(root.id, 1);
    while (path.length) {
      const top = path.at(-1), next = below.get(top[0])[top[1]++];
      if (next === undefined) { state.set(top[0], 2); order.push(top[0]); path.pop(); continue; }
      if (state.get(next) === 1) continue;
      kept.push([top[0], next]);
      if (!state.has(next)) { state.set(next, 1); path.push([next, 0]); }
    }
  }
  const layer = new Map(nodes.map((n) => [n.id, 0])), forward = new Map();
  for (const [a, b] of kept) forward.set(a, [...(forward.get(a) ?? []), b]);
  for (const id of order.reverse()) for (const b of forward.get(id) ?? []) layer.set(b, Math.max(layer.get(b), layer.get(id) + 1));
  // sources stand beside what they feed, not at the far left
  for (const id of order.slice().reverse()) {
    const feeds = forward.get(id) ?? [];
    if (feeds.length) layer.set(id, Math.max(layer.get(id), Math.min(...feeds.map((b) => layer.get(b))) - 1));
  }
  return layer;
}

export function place(nodes, edges, began = performance.now()) {
  const isLate = () => performance.now() - began > DEADLINE;
  const layer = nodes.length > MANY ? new Map(nodes.map((n) => [n.id, n.hop])) : layers(nodes, edges);
  const columns = new Map(), near = new Map(nodes.map((n) => [n.id, []]));
  for (const n of nodes) columns.set(layer.get(n.id), [...(columns.get(layer.get(n.id)) ?? []), n.id]);
  for (const e of edges) { near.get(e.a)?.push(e.b); near.get(e.b)?.push(e.a); }
  const keys = [...columns.keys()].sort((a, b) => a - b), y = new Map();
  const settle = (list) => list.forEach((id, i) => y.set(id, (i - (list.length - 1) / 2) * STEP_Y));
  for (const key of keys) settle(columns.get(key));
  for (let sweep = 0; sweep < 12 && !isLate(); sweep++) {
    const way = sweep % 2 ? keys.slice().reverse() : keys, back = sweep % 2 ? 1 : -1;
    for (const key of way) {
      const list = columns.get(key);
      const want = new Map(list.map((id) => { const of = near.get(id).filter((o) => (layer.get(o) - key) * back > 0); return [id, of.length ? of.reduce((t, o) => t + y.get(o), 0) / of.length : y.get(id)]; }));
      list.sort((a, b) => want.get(a) - want.get(b));
      // as near to what they want as the distance between them lets them
      let last = -Infinity;
      const at = list.map((id) => (last = Math.max(want.get(id), last + STEP_Y)));
      const shift = list.reduce((t, id, i) => t + want.get(id) - at[i], 0) / list.length;
      list.forEach((id, i) => y.set(id, at[i] + shift));
    }
  }
  return nodes.map((n) => ({ id: n.id, x: layer.get(n.id) * STEP_X, y: y.get(n.id) }));
}

if (typeof WorkerGlobalScope !== "undefined") onmessage = (e) => postMessage({ ticket: e.data.ticket, places: place(e.data.nodes, e.data.edges) });
