import { splitBlock } from "prosemirror-commands";
import { type Command, EditorState, Selection, TextSelection } from "prosemirror-state";
import { expect, test } from "vitest";
import {
  blockKinds,
  insertImage,
  keys,
  liftItem,
  moveBlock,
  removeLink,
  setBlock,
  setLanguage,
  setLink,
  sinkItem,
  toggleList,
  toggleText,
} from "./commands.ts";
import { type Json, type JsonObject, toBlocks, toDocument } from "./mapper.ts";
import { file, randomBlocks, randomSource } from "./random.ts";
import { textMarks } from "./schema.ts";

const text = (t: string, more: JsonObject = {}) => ({ type: "text", text: t, ...more });
const paragraph = (t: string, more: JsonObject = {}) => ({ type: "paragraph", children: [text(t)], ...more });
const item = (t: string) => ({ type: "list-item", children: [text(t)] });
const list = (format: string, ...children: Json[]) => ({ type: "list", format, children });

// after returns a value after commands, with the first | in its texts as the cursor, or the first two as the selection.
function after(value: Json[], ...commands: Command[]): Json[] {
  let state = EditorState.create({ doc: toDocument(value) });
  const places: number[] = [];
  state.doc.descendants((node, at) => {
    for (let i = 0; node.isText && i < node.text!.length; i++) if (node.text![i] === "|") places.push(at + i);
  });
  const tr = state.tr;
  for (const at of [...places].reverse()) tr.delete(at, at + 1);
  const [from = 1, to = from] = places.map((at, i) => at - i);
  state = state.apply(tr.setSelection(TextSelection.create(tr.doc, from, to)));
  for (const command of commands) {
    expect(command(state, (t) => (state = state.apply(t)))).toBe(true);
    state.doc.check();
  }
  return toBlocks(state.doc);
}

test.each<[string, Json[], Command[], Json[]]>([
  [
    "a heading",
    [paragraph("a|b", { id: 7 })],
    [setBlock("heading3")],
    [{ id: 7, type: "heading", level: 3, children: [text("ab")] }],
  ],
  [
    "a quote of two",
    [paragraph("a|"), paragraph("b|")],
    [setBlock("quote")],
    [
      { type: "quote", children: [text("a")] },
      { type: "quote", children: [text("b")] },
    ],
  ],
  [
    "code with its line breaks",
    [paragraph("a\nb|")],
    [setBlock("code"), setLanguage("go")],
    [{ type: "code", language: "go", children: [text("a\nb")] }],
  ],
  [
    "a paragraph of code",
    [{ type: "code", language: "go", children: [text("a\nb|")] }],
    [setBlock("paragraph")],
    [paragraph("a\nb")],
  ],
  [
    "a list of two",
    [paragraph("a|"), paragraph("b|")],
    [toggleList("unordered")],
    [list("unordered", item("a"), item("b"))],
  ],
  ["the other format", [list("unordered", item("a|"))], [toggleList("ordered")], [list("ordered", item("a"))]],
  [
    "no list",
    [list("unordered", item("a"), item("b|"), item("c"))],
    [toggleList("unordered")],
    [list("unordered", item("a")), paragraph("b"), list("unordered", item("c"))],
  ],
  [
    "an item below another",
    [list("ordered", item("a"), item("b|"), item("c"))],
    [sinkItem],
    [list("ordered", item("a"), list("ordered", item("b")), item("c"))],
  ],
  [
    "an item to the list below another",
    [list("ordered", item("a"), list("unordered", item("b")), item("c|"))],
    [sinkItem],
    [list("ordered", item("a"), list("unordered", item("b"), item("c")))],
  ],
  [
    "an item out again",
    [list("ordered", item("a"), list("ordered", item("b|")))],
    [liftItem],
    [list("ordered", item("a"), item("b"))],
  ],
  [
    "sunk and lifted",
    [list("ordered", item("a"), item("b|"))],
    [sinkItem, liftItem],
    [list("ordered", item("a"), item("b"))],
  ],
  [
    "a heading of a nested item",
    [list("ordered", item("a"), list("ordered", item("b|")))],
    [setBlock("heading1")],
    [list("ordered", item("a")), { type: "heading", level: 1, children: [text("b")] }],
  ],
  [
    "bold",
    [paragraph("a|b|c")],
    [toggleText("bold")],
    [{ type: "paragraph", children: [text("a"), text("b", { bold: true }), text("c")] }],
  ],
  [
    "a link",
    [paragraph("a|b|c")],
    [setLink("https://example.org")],
    [
      {
        type: "paragraph",
        children: [text("a"), { type: "link", url: "https://example.org", children: [text("b")] }, text("c")],
      },
    ],
  ],
  [
    "a link without a selection",
    [paragraph("a|")],
    [setLink("/x")],
    [{ type: "paragraph", children: [text("a"), { type: "link", url: "/x", children: [text("/x")] }] }],
  ],
  [
    "another url",
    [{ type: "paragraph", children: [{ type: "link", url: "/x", rel: "y", children: [text("a|b")] }] }],
    [setLink("/z")],
    [{ type: "paragraph", children: [{ type: "link", url: "/z", rel: "y", children: [text("ab")] }] }],
  ],
  [
    "no link",
    [{ type: "paragraph", children: [{ type: "link", url: "/x", children: [text("a|b")] }] }],
    [removeLink],
    [paragraph("ab")],
  ],
  [
    "an image",
    [paragraph("a|"), paragraph("b")],
    [insertImage(file)],
    [paragraph("a"), { type: "image", image: file, children: [text("")] }, paragraph("b")],
  ],
  [
    "an image at the end",
    [paragraph("|")],
    [insertImage(file)],
    [{ type: "image", image: file, children: [text("")] }, paragraph("")],
  ],
  [
    "moved",
    [paragraph("a"), paragraph("b|"), paragraph("c")],
    [moveBlock(-1)],
    [paragraph("b"), paragraph("a"), paragraph("c")],
  ],
  ["split", [paragraph("a|b", { id: 7 })], [splitBlock], [paragraph("a", { id: 7 }), paragraph("b", { id: 7 })]],
])("%s", (_, before, commands, want) => expect(after(before, ...commands)).toEqual(want));

test("a link takes only what the API takes", () => {
  const state = EditorState.create({ doc: toDocument([paragraph("a")]) });
  for (const url of ["", "#a", "javascript:alert(1)", "word", "http://", "data:text/html,x"]) {
    expect(setLink(url)(state), url).toBe(false);
  }
});

// accepted reports whether the API takes a block or a part of it: the rules of documents/values/blocks.go.
function accepted(json: Json, allowed: string[]): boolean {
  if (json === null || typeof json !== "object") return false;
  const node = json as JsonObject;
  const children = (node.children ?? []) as Json[];
  if (!Array.isArray(node.children) && node.type !== "text") return false;
  const all = (...types: string[]) => children.every((child) => accepted(child, types));
  if (!allowed.includes(node.type as string)) return false;
  switch (node.type) {
    case "text":
      return typeof node.text === "string";
    case "link":
      return all("text");
    case "list":
      return (
        children.length > 0 && ["ordered", "unordered"].includes(node.format as string) && all("list-item", "list")
      );
    case "list-item":
    case "image":
      return all("text", "link");
    case "code":
      return children.length > 0 && all("text");
    case "heading":
      return children.length > 0 && all("text", "link") && Number(node.level) >= 1 && Number(node.level) <= 6;
  }
  return children.length > 0 && all("text", "link");
}

const blockTypes = ["paragraph", "heading", "quote", "list", "code", "image"];

test("random commands on random blocks give what the API accepts", () => {
  const commands: Command[] = [
    ...blockKinds.map(setBlock),
    ...textMarks.map(toggleText),
    toggleList("ordered"),
    toggleList("unordered"),
    sinkItem,
    liftItem,
    moveBlock(1),
    moveBlock(-1),
    setLink("/x"),
    removeLink,
    insertImage(file),
    setLanguage("go"),
    ...Object.values(keys(() => {})).filter((command) => command !== keys(() => {})["ArrowDown"]),
  ];
  let done = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const random = randomSource(seed);
    const value = randomBlocks(random).filter((block) => accepted(block, blockTypes));
    if (value.length === 0) continue;
    let state = EditorState.create({ doc: toDocument(value) });
    for (let i = 0; i < 30; i++) {
      const at = () => state.doc.resolve(random(state.doc.content.size + 1));
      const from = Selection.near(at());
      const selection = random(3) === 0 ? TextSelection.between(from.$from, at()) : from;
      state = state.apply(state.tr.setSelection(selection));
      const n = random(commands.length + 3);
      if (n >= commands.length) state = state.apply(state.tr.insertText("w "));
      else if (commands[n]!(state, (tr) => (state = state.apply(tr)))) done++;
      state.doc.check();
      const written = toBlocks(state.doc);
      for (const block of written) {
        expect(accepted(block, blockTypes), `seed ${seed}, step ${i}, ${commands[n]}: ${JSON.stringify(block)}`).toBe(
          true,
        );
      }
      expect(toBlocks(toDocument(structuredClone(written)))).toEqual(written);
    }
  }
  expect(done).toBeGreaterThan(1000);
});
