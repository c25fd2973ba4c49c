import { expect, test } from "vitest";
import { type Box, boxWidth, draw } from "./layout.ts";

const box = (id: string, ...to: string[]): Box => ({
  id, title: id, rows: [{ name: "title", kind: "string", to: [] }, ...to.map((target) => ({ name: target, kind: "n:1", to: [{ box: target, dashed: false }] }))],
});

const drawings: Record<string, Box[]> = {
  none: [],
  one: [box("a")],
  chain: [box("c"), box("a", "b"), box("b", "c")],
  circle: [box("a", "b"), box("b", "c"), box("c", "a")],
  self: [box("a", "a"), box("b", "a")],
  unknown: [box("a", "gone")],
  many: Array.from({ length: 40 }, (_, n) => box(`t${n}`, `t${(n * 7) % 40}`, `t${(n * 11 + 3) % 40}`)),
};

test.each(Object.entries(drawings))("%s: every box is placed, none over another, and every line is drawn", (_, boxes) => {
  const { boxes: placed, lines, width, height } = draw(boxes);
  expect(placed.map((one) => one.id).sort()).toEqual(boxes.map((one) => one.id).sort());
  for (const a of placed) {
    expect(a.x + boxWidth).toBeLessThanOrEqual(width);
    expect(a.y + a.height).toBeLessThanOrEqual(height);
    for (const b of placed) {
      if (a !== b && a.x === b.x) expect(a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
      else if (a !== b) expect(Math.abs(a.x - b.x)).toBeGreaterThanOrEqual(boxWidth);
    }
  }
  const known = new Set(boxes.map((one) => one.id));
  expect(lines.length).toBe(boxes.flatMap((one) => one.rows.flatMap((row) => row.to)).filter((to) => known.has(to.box)).length);
});

test("a box is to the right of what leads to it", () => {
  const { boxes } = draw(drawings.chain ?? []);
  const at = Object.fromEntries(boxes.map((one) => [one.id, one.x]));
  expect(at.a).toBeLessThan(at.b ?? 0);
  expect(at.b).toBeLessThan(at.c ?? 0);
});
