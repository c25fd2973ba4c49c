import assert from "node:assert/strict";
import { test } from "node:test";
import { open, save } from "./bench.mjs";

const page = "api::page.page";
const group = (p, name) => p.getByRole("group", { name, exact: true });
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const image = (name) => ({ name, mimeType: "image/png", buffer: dot });

test("files are uploaded in place, ordered, described and removed", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const files = group(p, "Files");
    await files.locator("input[type=file]").setInputFiles([image("one.png"), image("two.png"), image("three.png")]);
    await files.getByText("three.png").waitFor();
    await files.getByRole("button", { name: "Move three.png up" }).click();
    await files.getByRole("button", { name: "Remove one.png" }).click();
    await files.getByLabel("Alternative text of two.png").fill("The second");
    await files.getByLabel("Alternative text of two.png").blur();
    const saved = await save(p);
    assert.deepEqual(
      saved.files.map((file) => [file.name, file.alternativeText]),
      [
        ["three.png", null],
        ["two.png", "The second"],
      ],
    );
  }));

test("a file of the library is chosen, and another takes its place", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const cover = group(p, "Cover");
    await cover.locator("input[type=file]").setInputFiles([image("chosen.png")]);
    await cover.getByText("chosen.png").waitFor();
    await cover.locator("input[type=file]").setInputFiles([image("other.png")]);
    await cover.getByText("other.png").waitFor();
    await cover.getByText("chosen.png").waitFor({ state: "detached" });
    await cover.getByRole("button", { name: "Choose a file" }).click();
    const library = p.getByRole("dialog", { name: "Media library" });
    await library.getByLabel("Search files").fill("chosen");
    await library.getByRole("button", { name: "other.png" }).waitFor({ state: "detached" });
    await library.getByRole("button", { name: "chosen.png" }).click();
    await library.waitFor({ state: "detached" });
    assert.equal((await save(p)).cover.name, "chosen.png");
    await cover.getByRole("button", { name: "Remove chosen.png" }).click();
    assert.equal((await save(p)).cover, null);
  }));

test("several files of the library are chosen by the keyboard", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    const files = group(p, "Files");
    await files.locator("input[type=file]").setInputFiles([image("first.png")]);
    await files.getByText("first.png").waitFor();
    await files.getByRole("button", { name: "Remove first.png" }).click();
    await files.getByRole("button", { name: "Choose files" }).press("Enter");
    const library = p.getByRole("dialog", { name: "Media library" });
    const choice = library.getByRole("button", { name: "first.png" }).first();
    await choice.press("Enter");
    assert.equal(await choice.getAttribute("aria-pressed"), "true");
    await library.getByRole("button", { name: "Use 1 files" }).press("Enter");
    assert.equal((await save(p)).files[0].name, "first.png");
  }));

test("a file of a type that is not allowed is not uploaded", () =>
  open(page, null, async (p) => {
    const cover = group(p, "Cover");
    await cover.getByText("Takes images.").waitFor();
    await cover
      .locator("input[type=file]")
      .setInputFiles([{ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") }]);
    await cover.getByText("Files of this type are not allowed here.").waitFor();
  }));

test("a dropped file is uploaded, with its progress", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    // The server answers only when the progress was seen.
    let answer;
    const seen = new Promise((resolve) => (answer = resolve));
    await p.route("**/api/upload", async (route) => {
      await seen;
      await route.continue();
    });
    const files = group(p, "Files");
    const data = await p.evaluateHandle(
      (bytes) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
        return transfer;
      },
      [...dot],
    );
    await files.locator(".files-drop").dispatchEvent("drop", { dataTransfer: data });
    await files.getByRole("progressbar", { name: "Uploading dropped.png" }).waitFor();
    answer();
    await files.getByRole("button", { name: "Remove dropped.png" }).waitFor();
    assert.equal((await save(p)).files[0].name, "dropped.png");
  }));
