// Random values of blocks attributes for tests: what the API takes, and what it does not but a store may hold.
import type { Json, JsonObject } from "./mapper.ts";

// A Random returns a whole number from 0 up to, but without, its argument.
export type Random = (below: number) => number;

// randomSource returns a Random that gives the same numbers for the same seed.
export function randomSource(seed: number): Random {
  let state = seed * 2654435761;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const words = ["", "a", "bread", "Größe", "two\nlines", "\n", " ", "日本", "🙂", "<b>&amp;", "\t"];

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)]!;
}

function many<T>(random: Random, least: number, make: () => T): T[] {
  return Array.from({ length: least + random(4) }, make);
}

// odd adds, now and then, a property that the format does not have.
function odd(random: Random, node: JsonObject): JsonObject {
  if (random(6) === 0) node["x-unknown"] = pick<Json>(random, [1, "v", null, { deep: [1, { x: true }] }]);
  return node;
}

function text(random: Random): JsonObject {
  const node: JsonObject = { type: "text", text: pick(random, words) };
  for (const mark of ["bold", "italic", "underline", "strikethrough", "code"]) {
    if (random(5) === 0) node[mark] = random(5) !== 0;
  }
  return odd(random, node);
}

function unknown(random: Random): Json {
  return pick<Json>(random, [
    { type: "mention", user: { id: 7 }, children: [{ type: "text", text: "@ada" }] },
    { type: "text", text: 5 },
    { type: "paragraph" },
    { type: "link", url: 5, children: [] },
    { type: "table", rows: [[1, 2], [3]] },
    null,
    "bare",
  ]);
}

function inline(random: Random): Json {
  const n = random(12);
  if (n === 0) return unknown(random);
  if (n > 2) return text(random);
  const url = pick(random, ["https://example.org/a?b=c#d", "/here", "mailto:ada@example.org"]);
  return odd(random, { type: "link", url, children: Array.from({ length: random(4) }, () => text(random)) });
}

function list(random: Random, depth: number): JsonObject {
  const children = many(random, 1, (): Json => {
    const n = random(10);
    if (n === 0) return unknown(random);
    if (n < 4 && depth > 0) return list(random, depth - 1);
    return odd(random, { type: "list-item", children: many(random, 0, () => inline(random)) });
  });
  return odd(random, { type: "list", format: pick(random, ["ordered", "unordered"]), children });
}

export const file: JsonObject = {
  name: "roof.png",
  url: "/uploads/roof.png",
  width: 1,
  height: 1,
  hash: "roof",
  ext: ".png",
  mime: "image/png",
  size: 0.1,
  provider: "local",
  createdAt: "2024-01-01T00:00:00.000Z",
  updatedAt: "2024-01-01T00:00:00.000Z",
};

function block(random: Random): Json {
  switch (random(8)) {
    case 0:
      return odd(random, { type: "heading", level: 1 + random(7), children: many(random, 0, () => inline(random)) });
    case 1:
      return odd(random, { type: "quote", children: many(random, 1, () => inline(random)) });
    case 2: {
      const node: JsonObject = { type: "code", children: many(random, 1, () => text(random)) };
      if (random(2) === 0) node.language = pick<Json>(random, ["go", "plaintext", null]);
      return odd(random, node);
    }
    case 3:
      return list(random, 3);
    case 4:
      return odd(random, { type: "image", image: odd(random, { ...file }), children: [text(random)] });
    case 5:
      return unknown(random);
  }
  return odd(random, { type: "paragraph", children: many(random, 0, () => inline(random)) });
}

// randomBlocks returns a value of a blocks attribute.
export function randomBlocks(random: Random): Json[] {
  return Array.from({ length: random(9) }, () => block(random));
}
