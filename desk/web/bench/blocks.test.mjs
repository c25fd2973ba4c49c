import assert from "node:assert/strict";
import { test } from "node:test";
import { api, open, save } from "./bench.mjs";
import { p95, typing } from "./typing.mjs";

const page = "api::page.page";
const text = (t, more = {}) => ({ type: "text", text: t, ...more });
const paragraph = (t) => ({ type: "paragraph", children: [text(t)] });

// Each command of the toolbar and each key, and what the server then has.
const commands = [
  ...[1, 2, 3, 4, 5, 6].map((level) => [
    `heading ${level}`,
    (b) => b.kind(`Heading ${level}`),
    [{ type: "heading", level, children: [text("word")] }],
  ]),
  ["quote", (b) => b.kind("Quote"), [{ type: "quote", children: [text("word")] }]],
  ["code", (b) => b.kind("Code"), [{ type: "code", children: [text("word")] }]],
  [
    "code in a language",
    async (b) => {
      await b.kind("Code");
      await b.box.getByLabel("Language of the code").selectOption("go");
    },
    [{ type: "code", language: "go", children: [text("word")] }],
  ],
  [
    "paragraph again",
    async (b) => {
      await b.kind("Quote");
      await b.kind("Paragraph");
    },
    [paragraph("word")],
  ],
  [
    "bulleted list",
    (b) => b.kind("Bulleted list"),
    [{ type: "list", format: "unordered", children: [{ type: "list-item", children: [text("word")] }] }],
  ],
  [
    "numbered list",
    (b) => b.kind("Numbered list"),
    [{ type: "list", format: "ordered", children: [{ type: "list-item", children: [text("word")] }] }],
  ],
  [
    "nested list",
    async (b) => {
      await b.kind("Numbered list");
      await b.press("Enter");
      await b.type("two");
      await b.tool("Indent");
    },
    [
      {
        type: "list",
        format: "ordered",
        children: [
          { type: "list-item", children: [text("word")] },
          { type: "list", format: "ordered", children: [{ type: "list-item", children: [text("two")] }] },
        ],
      },
    ],
  ],
  [
    "list and out of it",
    async (b) => {
      await b.kind("Numbered list");
      await b.press("Enter", "Enter");
      await b.type("out");
    },
    [
      { type: "list", format: "ordered", children: [{ type: "list-item", children: [text("word")] }] },
      paragraph("out"),
    ],
  ],
  ...[
    ["Bold", "bold"],
    ["Italic", "italic"],
    ["Underlined", "underline"],
    ["Struck through", "strikethrough"],
    ["Code in a line", "code"],
  ].map(([label, mark]) => [
    label,
    async (b) => {
      await b.press("Control+a");
      await b.tool(label);
    },
    [{ type: "paragraph", children: [text("word", { [mark]: true })] }],
  ]),
  [
    "keys for marks",
    (b) => b.press("Control+a", "Control+b", "Control+i", "Control+u"),
    [{ type: "paragraph", children: [text("word", { bold: true, italic: true, underline: true })] }],
  ],
  [
    "link",
    async (b) => {
      await b.press("Control+a", "Control+k");
      await b.box.getByLabel("Address").fill("https://example.org/a?b=c");
      await b.box.getByRole("button", { name: "Set link" }).click();
    },
    [{ type: "paragraph", children: [{ type: "link", url: "https://example.org/a?b=c", children: [text("word")] }] }],
  ],
  [
    "link and none",
    async (b) => {
      await b.press("Control+a");
      await b.tool("Link");
      await b.box.getByLabel("Address").fill("/here");
      await b.box.getByLabel("Address").press("Enter");
      await b.tool("Link");
      await b.box.getByRole("button", { name: "Remove link" }).click();
    },
    [paragraph("word")],
  ],
  [
    "image",
    async (b) => {
      await b.tool("Image");
      await b.page.getByRole("dialog").getByRole("button", { name: "dot.png" }).first().click();
    },
    null,
  ],
  [
    "line break",
    async (b) => {
      await b.press("Shift+Enter");
      await b.type("two");
    },
    [paragraph("word\ntwo")],
  ],
  [
    "moved block",
    async (b) => {
      await b.press("Enter");
      await b.type("two");
      await b.tool("Move block up");
    },
    [paragraph("two"), paragraph("word")],
  ],
  [
    "undo",
    async (b) => {
      await b.kind("Quote");
      await b.press("Control+z");
    },
    [paragraph("word")],
  ],
  [
    "signs of Markdown",
    async (b) => {
      await b.press("Enter");
      await b.type("## two");
      await b.press("Enter");
      await b.type("- three");
      await b.press("Enter", "Enter");
      await b.type("> four");
    },
    [
      paragraph("word"),
      { type: "heading", level: 2, children: [text("two")] },
      { type: "list", format: "unordered", children: [{ type: "list-item", children: [text("three")] }] },
      { type: "quote", children: [text("four")] },
    ],
  ],
];

async function uploaded(base, token) {
  const dot = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const form = new FormData();
  form.append("files", new Blob([dot], { type: "image/png" }), "dot.png");
  const answer = await fetch(`${base}/api/upload`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: form,
  });
  assert.equal(answer.status, 201);
}

test("each command gives what the API accepts", async () => {
  const { base, token } = await import("./bench.mjs");
  await uploaded(base, token);
  const { documentId } = await api("POST", "pages?status=draft", { title: "x" });
  await open(page, documentId, async (p) => {
    const box = p.getByRole("group", { name: "Text", exact: true });
    const hands = {
      page: p,
      box,
      kind: (label) => box.getByLabel("Kind of block").selectOption({ label }),
      tool: (label) => box.getByRole("button", { name: label, exact: true }).click(),
      type: (typed) => p.keyboard.type(typed),
      press: async (...keys) => {
        for (const key of keys) await p.keyboard.press(key);
      },
    };
    for (const [name, run, want] of commands) {
      await api("PUT", `pages/${documentId}?status=draft`, { text: [paragraph("")] });
      await p.evaluate((id) => window.reread(id), documentId);
      await box.getByText("word").waitFor({ state: "detached" });
      await box.getByRole("textbox", { name: "Text" }).focus();
      // ProseMirror puts the cursor into the text a moment after the editor has the focus.
      await p.waitForFunction(() => getSelection().anchorNode?.nodeName === "P");
      await p.keyboard.type("word");
      await run(hands);
      const saved = await save(p);
      if (want) assert.deepEqual(saved.text, want, name);
      else assert.equal(saved.text.find((block) => block.type === "image")?.image.name, "dot.png", name);
    }
  });
});

test("what the editor does not know stays, and only what is edited changes", async () => {
  const value = [
    {
      type: "paragraph",
      id: 7,
      children: [text("a", { colour: "red" }), text("", { bold: true }), text("b", { bold: false })],
    },
    { type: "list", format: "ordered", indentLevel: 0, children: [{ type: "list-item", children: [text("one")] }] },
    paragraph("last"),
  ];
  const { documentId } = await api("POST", "pages?status=draft", { title: "x", text: value });
  await open(page, documentId, async (p) => {
    const editor = p.getByRole("textbox", { name: "Text" });
    await editor.getByText("last").click();
    await p.keyboard.press("End");
    await p.keyboard.type(" word");
    assert.deepEqual((await save(p)).text, [...value.slice(0, 2), paragraph("last word")]);
    assert.deepEqual(await p.evaluate(() => Object.keys(window.sent)), ["text"]);
  });
});

test("a text that is emptied is no value again", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    await p.getByRole("textbox", { name: "Text" }).click();
    await p.keyboard.type("a");
    await p.keyboard.press("Backspace");
    assert.equal((await save(p)).text, null);
  }));

test("typing in a text of 10,000 words", async (t) => {
  const words = Array.from({ length: 100 }, (_, i) => `word${i}`).join(" ");
  const value = Array.from({ length: 100 }, () => paragraph(words));
  const { documentId } = await api("POST", "pages?status=draft", {
    title: "x",
    text: value,
    body: `${words}\n\n`.repeat(100),
  });
  await open(page, documentId, async (p) => {
    const blocks = p.getByRole("textbox", { name: "Text", exact: true });
    const inBlocks = await typing(p, blocks.locator("p").nth(5), "the quick brown fox jumps over the lazy dog");
    t.diagnostic(`blocks: p95 ${p95(inBlocks).toFixed(1)} ms of work for a key`);
    const body = p.getByRole("textbox", { name: "Body" });
    const inMarkdown = await typing(p, body.locator(".cm-line").nth(2), "the quick brown fox jumps over the lazy dog");
    t.diagnostic(`Markdown: p95 ${p95(inMarkdown).toFixed(1)} ms of work for a key`);
    const saved = await save(p);
    assert.equal(saved.text.length, 100);
    assert.equal(saved.text.filter((block, i) => JSON.stringify(block) !== JSON.stringify(value[i])).length, 1);
  });
});
