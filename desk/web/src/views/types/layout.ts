// Where the boxes of a drawing of types go: columns, so that most lines lead to the right, and no two boxes overlap.

export interface Row {
  name: string;
  kind: string; // "string", or what a relation is: "n:1"
  to: { box: string; dashed: boolean }[]; // boxes to which a line leads
}

export interface Box {
  id: string;
  title: string;
  rows: Row[];
}

export interface Placed extends Box {
  x: number;
  y: number;
  height: number;
}

export interface Line {
  from: string;
  to: string;
  dashed: boolean;
  path: string; // of SVG
}

export interface Drawing {
  boxes: Placed[];
  lines: Line[];
  width: number;
  height: number;
}

export const boxWidth = 230;
export const headHeight = 30;
export const rowHeight = 20;
const gapX = 110;
const gapY = 30;
const margin = 16;

// draw places boxes and lines.
export function draw(boxes: Box[]): Drawing {
  const columns = columnsOf(boxes);
  const placed = new Map<string, Placed>();
  let height = 0;
  columns.forEach((column, index) => {
    let y = margin;
    for (const box of column) {
      const own = headHeight + box.rows.length * rowHeight + 6;
      placed.set(box.id, { ...box, x: margin + index * (boxWidth + gapX), y, height: own });
      y += own + gapY;
    }
    height = Math.max(height, y - gapY + margin);
  });
  const lines = boxes.flatMap((box) => box.rows.flatMap((row, index) => row.to.flatMap(({ box: id, dashed }) => {
    const from = placed.get(box.id);
    const to = placed.get(id);
    return from && to ? [{ from: box.id, to: id, dashed, path: pathOf(from, index, to) }] : [];
  })));
  const width = 2 * margin + columns.length * (boxWidth + gapX) - gapX + 40; // lines bend out of the last column
  return { boxes: [...placed.values()], lines, width: Math.max(width, 0), height };
}

// columnsOf returns the boxes by column: each box is to the right of those that lead to it, unless they lead to each other.
function columnsOf(boxes: Box[]): Box[][] {
  const byID = new Map(boxes.map((box) => [box.id, box]));
  const targets = (box: Box) => box.rows.flatMap((row) => row.to.map((to) => to.box)).filter((id) => id !== box.id && byID.has(id));
  const forward = new Map<string, string[]>(); // lines without those that close a circle
  const state = new Map<string, "open" | "done">();
  const visit = (box: Box) => {
    state.set(box.id, "open");
    const kept: string[] = [];
    for (const id of new Set(targets(box))) {
      if (state.get(id) === "open") continue;
      kept.push(id);
      const next = byID.get(id);
      if (next && !state.has(id)) visit(next);
    }
    forward.set(box.id, kept);
    state.set(box.id, "done");
    order.unshift(box.id);
  };
  const order: string[] = []; // sources first
  for (const box of boxes) if (!state.has(box.id)) visit(box);

  const column = new Map<string, number>();
  for (const id of order) {
    const own = column.get(id) ?? 0;
    column.set(id, own);
    for (const next of forward.get(id) ?? []) column.set(next, Math.max(column.get(next) ?? 0, own + 1));
  }
  const columns: Box[][] = [];
  for (const box of boxes) {
    const index = column.get(box.id) ?? 0;
    while (columns.length <= index) columns.push([]);
    columns[index]?.push(box);
  }
  for (let index = 1; index < columns.length; index++) columns[index] = inOrderOfSources(columns[index] ?? [], columns[index - 1] ?? [], targets);
  return columns;
}

// inOrderOfSources sorts a column by where the lines come from, so that fewer of them cross.
function inOrderOfSources(column: Box[], before: Box[], targets: (box: Box) => string[]): Box[] {
  const weight = (box: Box) => {
    const places = before.flatMap((source, place) => (targets(source).includes(box.id) ? [place] : []));
    return places.length === 0 ? before.length : places.reduce((sum, place) => sum + place, 0) / places.length;
  };
  return column.map((box, place) => ({ box, place, at: weight(box) })).sort((a, b) => a.at - b.at || a.place - b.place).map(({ box }) => box);
}

// pathOf returns a line from a row of a box to the head of another one.
function pathOf(from: Placed, row: number, to: Placed): string {
  const y1 = from.y + headHeight + row * rowHeight + rowHeight / 2;
  const y2 = to.y + headHeight / 2;
  const right = from.x + boxWidth;
  if (to.x > from.x) return `M${right},${y1} C${right + gapX / 2},${y1} ${to.x - gapX / 2},${y2} ${to.x},${y2}`;
  const end = to.x + boxWidth;
  if (to.x < from.x) return `M${from.x},${y1} C${from.x - gapX / 2},${y1} ${end + gapX / 2},${y2} ${end},${y2}`;
  return `M${right},${y1} C${right + gapX / 2},${y1} ${end + gapX / 2},${y2} ${end},${y2}`;
}
