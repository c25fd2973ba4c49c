import { readdirSync, readFileSync } from "node:fs";
import { EditorState } from "prosemirror-state";
import { expect, test } from "vitest";
import { type Json, type JsonObject, toBlocks, toDocument } from "./mapper.ts";
import { randomBlocks, randomSource } from "./random.ts";

// opened returns what a value is after it was opened and saved without an edit, beside what the server would send.
function opened(value: Json): Json {
  return toBlocks(toDocument(structuredClone(value)));
}

test("1,000 random trees are equal after they were opened and saved", () => {
  for (let seed = 1; seed <= 1000; seed++) {
    const value = randomBlocks(randomSource(seed));
    expect(opened(value), `seed ${seed}`).toEqual(value);
    toDocument(value).check();
  }
});

// blocksIn adds every value of the suites that looks like a list of blocks.
function blocksIn(value: Json, found: Json[][]): Json[][] {
  if (Array.isArray(value)) {
    if (value.some((v) => v !== null && typeof v === "object" && "type" in v)) found.push(value);
    value.forEach((v) => blocksIn(v, found));
  } else if (value !== null && typeof value === "object") {
    Object.values(value).forEach((v) => blocksIn(v, found));
  }
  return found;
}

test("the trees of the recorded suites are equal after they were opened and saved", () => {
  const suites = new URL("../../../../testdata/conformance/suites/", import.meta.url);
  const found: Json[][] = [];
  for (const name of readdirSync(suites)) blocksIn(JSON.parse(readFileSync(new URL(name, suites), "utf8")), found);
  expect(found.length).toBeGreaterThan(100);
  for (const value of found) expect(opened(value)).toEqual(value);
});

test("an edit changes its block alone, and an undone edit nothing", () => {
  let edits = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = randomSource(seed);
    const value = randomBlocks(random);
    const state = EditorState.create({ doc: toDocument(value) });
    const places: number[] = [];
    state.doc.descendants((node, at) => void (node.isTextblock && places.push(at + 1)));
    if (places.length === 0) continue;
    edits++;
    const at = places[random(places.length)]!;
    const tr = state.tr.insertText("typed ", at);
    const edited = toBlocks(tr.doc);
    const index = state.doc.resolve(at).index(0);
    value.forEach((block, i) => {
      if (i !== index) expect(edited[i], `seed ${seed}, block ${i}`).toEqual(block);
    });
    expect(JSON.stringify(edited[index])).toContain("typed ");
    const undone = tr.delete(at, at + "typed ".length).doc;
    expect(toBlocks(undone), `seed ${seed}, undone`).toEqual(value);
  }
  expect(edits).toBeGreaterThan(200);
});

// plain writes a value in one form: without sources, so that everything is written anew, and read again.
function rewritten(value: Json[]): Json[] {
  const copy = toDocument(value);
  const types: string[] = [];
  copy.descendants((node) => void (node.isTextblock && types.push(node.type.name)));
  const state = EditorState.create({ doc: copy });
  const tr = state.tr;
  // A character in each text block makes the mapper write all of them.
  const places: number[] = [];
  state.doc.descendants((node, at) => void (node.isTextblock && places.push(at + node.nodeSize - 1)));
  for (const at of places.reverse()) tr.insertText("☃", at);
  return toBlocks(tr.doc);
}

test("blocks that are written anew keep their unknown properties, texts and nodes", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const value = randomBlocks(randomSource(seed));
    const before = summary(value);
    const after = summary(rewritten(value));
    expect(after, `seed ${seed}`).toEqual(before);
  }
});

// summary returns each character and inline node of a value with all properties that apply to it, which must not depend
// on how texts are cut.
function summary(value: Json[]): Json[] {
  const out: Json[] = [];
  const visit = (json: Json, above: Json) => {
    const node = json as JsonObject;
    if (node === null || typeof node !== "object" || !Array.isArray(node.children) || node.type === "image") {
      const text = node?.type === "text" && typeof node.text === "string" ? node.text : null;
      if (text === null) return void out.push({ json, above });
      const props = Object.fromEntries(Object.entries(node).filter(([key]) => key !== "text"));
      for (const c of text.replaceAll("☃", "")) out.push({ c, props: { ...props }, above });
      if (text === "" && Object.keys(props).some((key) => key === "x-unknown")) out.push({ empty: props, above });
      return;
    }
    const { children, ...props } = node;
    if (node.type !== "link") out.push({ begin: props });
    children.forEach((child) => visit(child, node.type === "link" ? props : null));
  };
  value.forEach((block) => visit(block, null));
  return out;
}

test("values that are no list of blocks", () => {
  expect(toBlocks(toDocument(null))).toEqual([]);
  expect(toBlocks(toDocument([]))).toEqual([]);
  expect(opened([null, 5, "x", [], {}])).toEqual([null, 5, "x", [], {}]);
});
